"""Renders events as CloudEvents 1.0 in the vendor's format, for the outbox.

The text of an event in the outbox is one or two lines of JSON. The first is the envelope as it is
sent to subscribers. The optional second is for filters and data history alone: `model`, the model
of the twin where the envelope does not name it; `old`, the old value of each operation of the patch
(`changes.Changes`); `target`, that of a changed relationship.

SPEC: CloudEvents 1.0.2, structured mode; types, subjects and data as the vendor documents them.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import orjson

from twinframe.model.etags import build_guid
from twinframe.model.patches import PatchOperation
from twinframe.model.values import JsonValue

JSON: Final = "application/json"


class EventType(enum.Enum):
    """The types of events; the values are the `type` on the wire.

    SPEC: the vendor has no events of models; ours are named after its others.
    """

    TWIN_CREATE = "Microsoft.DigitalTwins.Twin.Create"
    TWIN_UPDATE = "Microsoft.DigitalTwins.Twin.Update"
    TWIN_DELETE = "Microsoft.DigitalTwins.Twin.Delete"
    RELATIONSHIP_CREATE = "Microsoft.DigitalTwins.Relationship.Create"
    RELATIONSHIP_UPDATE = "Microsoft.DigitalTwins.Relationship.Update"
    RELATIONSHIP_DELETE = "Microsoft.DigitalTwins.Relationship.Delete"
    TELEMETRY = "microsoft.iot.telemetry"
    MODEL_CREATE = "Twinframe.Model.Create"
    MODEL_DECOMMISSION = "Twinframe.Model.Decommission"
    MODEL_DELETE = "Twinframe.Model.Delete"


_HEADS: Final = {
    kind: b'","type":%b,"source":' % orjson.dumps(kind.value) for kind in EventType
}  # PERF: the constant parts are built once


def render_event(
    kind: EventType,
    source: bytes,
    subject: str,
    time: str,
    data: bytes,
    notes: dict[str, Any] | None = None,
    guid: str = "",
    trace: str = "",
) -> bytes:
    """Render the outbox text of an event with the id `guid`, or with a new one.

    `source` is a JSON string, `data` a JSON value; `subject` is as documented for the type. `trace`
    is the `traceparent` of the request that caused it, if that had one (SPEC: the distributed
    tracing extension of CloudEvents).
    """
    wire = b'{"specversion":"1.0","id":"%b%b%b,"subject":%b,"time":"%b",%b%b%b}' % (
        (guid or build_guid()).encode("ascii"),
        _HEADS[kind],
        source,
        orjson.dumps(subject),
        time.encode("ascii"),
        b'"traceparent":"%b",' % trace.encode("ascii") if trace else b"",
        b'"datacontenttype":"application/json","data":',
        data,
    )
    return wire if notes is None else add_notes(wire, render_notes(notes))


def render_notes(notes: dict[str, Any]) -> bytes:
    """Render the line that is for filters alone, for `add_notes`."""
    return orjson.dumps(notes)


def add_notes(wire: bytes, notes: bytes) -> bytes:
    """Return the outbox text of an event that was rendered without notes."""
    return b"%b\n%b" % (wire, notes)


def render_telemetry(
    source: str,
    twin_id: str,
    component: str | None,
    schema: str | None,
    message_id: str,
    time: str,
    payload: JsonValue,
    trace: str = "",
) -> bytes:
    """Render the outbox text of a twin's message, whose own id is that of the event.

    SPEC: `source` names the twin, `subject` the component, and is left out without one: CloudEvents
    has no empty subject. `dataschema` is the model of the sender, the component's if it was one; it
    is left out if unknown (None).
    """
    envelope: dict[str, Any] = {
        "specversion": "1.0",
        "id": message_id,
        "type": EventType.TELEMETRY.value,
        "source": f"{source}/digitaltwins/{quote(twin_id, safe='')}",
        **({} if component is None else {"subject": component}),
        "time": time,
        **({"traceparent": trace} if trace else {}),
        **({} if schema is None else {"dataschema": schema}),
        "datacontenttype": JSON,
        "data": payload,
    }
    return orjson.dumps(envelope)


def render_changes(model_id: str, patch: Sequence[dict[str, Any]]) -> bytes:
    """The data of an update: the model and the patch."""
    return orjson.dumps({"modelId": model_id, "patch": patch})


def build_rows(operations: Sequence[PatchOperation]) -> list[dict[str, Any]]:
    """Build the rows of a patch as it is sent, its paths as JSON pointers."""
    return [
        {"path": operation.pointer, "op": operation.verb}
        if operation.verb == "remove"
        else {"value": operation.value, "path": operation.pointer, "op": operation.verb}
        for operation in operations
    ]
