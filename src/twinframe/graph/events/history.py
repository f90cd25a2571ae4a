"""Renders events in the data-history form: flat rows for time-series tables.

SPEC: the vendor's data history writes three tables (property updates, twin lifecycle, relationship
lifecycle); each row here is a CloudEvent of its own whose data has the columns of its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from twinframe.graph.events.envelope import EventType
from twinframe.graph.events.event import ABSENT, Event

PROPERTY: Final = "Property.Event"
TWIN: Final = "Twin.Lifecycle"
RELATIONSHIP: Final = "Relationship.Lifecycle"

_UPDATES: Final = (EventType.TWIN_UPDATE.value, EventType.RELATIONSHIP_UPDATE.value)
_TWINS: Final = {EventType.TWIN_CREATE.value: "Create", EventType.TWIN_DELETE.value: "Delete"}
_RELATIONSHIPS: Final = {
    EventType.RELATIONSHIP_CREATE.value: "Create",
    EventType.RELATIONSHIP_DELETE.value: "Delete",
}


def render_history(event: Event) -> list[bytes]:
    """Render the rows of an event, each a CloudEvent; none for models and telemetry.

    An update has a row for each property it changed, a creation one for the twin and one for each
    property it had.
    """
    return [
        _render_row(event, number, kind, row)
        for number, (kind, row) in enumerate(_build_rows(event))
    ]


def _build_rows(event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
    if event.type in _TWINS:
        yield TWIN, _build_twin_row(event)
        if event.type == EventType.TWIN_CREATE.value:
            yield from _build_first_rows(event)
    elif event.type in _RELATIONSHIPS:
        yield RELATIONSHIP, _build_relationship_row(event)
    elif event.type in _UPDATES:
        yield from _build_property_rows(event)


def _build_twin_row(event: Event) -> dict[str, Any]:
    return {
        "twinId": event.data["$dtId"],
        "action": _TWINS[event.type],
        "timeStamp": event.document["time"],
        "serviceId": event.document["source"],
        "modelId": event.model_id,
    }


def _build_relationship_row(event: Event) -> dict[str, Any]:
    return {
        "relationshipId": event.data["$relationshipId"],
        "name": event.data["$relationshipName"],
        "source": event.data["$sourceId"],
        "target": event.data["$targetId"],
        "action": _RELATIONSHIPS[event.type],
        "timeStamp": event.document["time"],
        "serviceId": event.document["source"],
    }


def _build_property_rows(event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
    relationship_id = ""
    if event.type == EventType.RELATIONSHIP_UPDATE.value:
        relationship_id = event.document["subject"].removeprefix(f"{event.key}/relationships/")
    for change in event.changes:
        if change.path[0].startswith("$"):
            continue
        key = "_".join(change.path)
        action = "Delete" if change.new is ABSENT else "Update"
        value = None if change.new is ABSENT else change.new
        yield PROPERTY, _build_property_row(event, key, value, action, relationship_id)


def _build_first_rows(event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in event.data.items():
        if name.startswith("$"):
            continue
        if isinstance(value, dict) and "$metadata" in value:
            for inner, item in value.items():
                if inner != "$metadata":
                    key = f"{name}_{inner}"
                    yield PROPERTY, _build_property_row(event, key, item, "Create", "")
        else:
            yield PROPERTY, _build_property_row(event, name, value, "Create", "")


def _build_property_row(
    event: Event, key: str, value: Any, action: str, relationship_id: str
) -> dict[str, Any]:
    return {
        "timeStamp": event.document["time"],
        "serviceId": event.document["source"],
        "id": event.key,
        "modelId": event.model_id,
        "key": key,
        "value": value,
        "relationshipTarget": event.target_id if relationship_id else "",
        "relationshipId": relationship_id,
        "action": action,
    }


def _render_row(event: Event, number: int, kind: str, row: dict[str, Any]) -> bytes:
    envelope = event.document
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": f"{envelope['id']}-{number}",
            "type": f"Microsoft.DigitalTwins.{kind}",
            "source": envelope["source"],
            "subject": envelope["subject"],
            "time": envelope["time"],
            **({"traceparent": envelope["traceparent"]} if "traceparent" in envelope else {}),
            "datacontenttype": "application/json",
            "data": row,
        }
    )
