"""Renders and parses rows of the outbox, which hold what the stored documents cannot give later.

The text of a row has up to four lines:

1. the head, a JSON array: id and time of the event, its source, the `traceparent`, a digest, and
   who caused the change if that is known;
2. the `data` of the event as it is sent;
3. the notes for filters and data history, see `envelope`;
4. the difference to the document that the write replaced, see `differences`; of a deleted model
   what was stored of it, see `render_record`.

The data of a new twin or relationship is its document. The row holds only a digest of it: whoever
reads the row takes the document from the graph, or builds it from the rows of later changes. The
data of a deletion is the deleted document. A row without an id is a change of which no event is
sent.

A row that begins with a brace is the text of an event as a whole: telemetry, and all events that
were stored before rows had this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from typing import Final, NamedTuple

import orjson

from twinframe.graph.events.envelope import EventType, add_notes, render_event
from twinframe.storage.base import ChangeKind, ModelRecord, OutboxEvent

EVENT_TYPES: Final[Mapping[ChangeKind | None, EventType]] = {
    ChangeKind.TWIN_CREATED: EventType.TWIN_CREATE,
    ChangeKind.TWIN_UPDATED: EventType.TWIN_UPDATE,
    ChangeKind.TWIN_DELETED: EventType.TWIN_DELETE,
    ChangeKind.RELATIONSHIP_CREATED: EventType.RELATIONSHIP_CREATE,
    ChangeKind.RELATIONSHIP_UPDATED: EventType.RELATIONSHIP_UPDATE,
    ChangeKind.RELATIONSHIP_DELETED: EventType.RELATIONSHIP_DELETE,
    ChangeKind.MODEL_CREATED: EventType.MODEL_CREATE,
    ChangeKind.MODEL_DECOMMISSIONED: EventType.MODEL_DECOMMISSION,
    ChangeKind.MODEL_DELETED: EventType.MODEL_DELETE,
}
DELETIONS: Final = frozenset({ChangeKind.TWIN_DELETED, ChangeKind.RELATIONSHIP_DELETED})


_HEAD: Final = 5
_NO_TEXTS: Final = (b"", b"", b"")
_TEXTS: Final = ("document", "display_name", "description")


Head = tuple[str, str, bytes, str, str, bytes]
"""As in `Row`: id, time, source as a JSON string, trace, digest; `render_who` or nothing."""


class Row(NamedTuple):
    """A parsed row; texts that it does not have are empty."""

    id: str
    time: str
    source: str
    trace: str
    digest: str
    data: bytes = b""
    notes: bytes = b""
    difference: bytes = b""
    who: str = ""


def build_digest(document: bytes) -> str:
    """Build the digest by which a document is recognized. PERF: 1 us."""
    return blake2b(document, digest_size=8).hexdigest()


def render_who(who: str) -> bytes:
    """Render the end of a head; empty if nobody is named."""
    return b"," + orjson.dumps(who) if who else b""


def render_row(
    head: Head,
    data: bytes = b"",
    notes: bytes = b"",
    difference: bytes = b"",
) -> bytes:
    """Render a row."""
    guid, time, source, trace, digest, who = head
    first = b'["%b","%b",%b,"%b","%b"%b]' % (
        guid.encode("ascii"),
        time.encode("ascii"),
        source,
        trace.encode("ascii"),
        digest.encode("ascii"),
        who,
    )
    if difference:
        return b"%b\n%b\n%b\n%b" % (first, data, notes, difference)
    if notes:
        return b"%b\n%b\n%b" % (first, data, notes)
    return b"%b\n%b" % (first, data) if data else first


def parse_row(body: bytes) -> Row | None:
    """Parse a row; None for the text of a whole event."""
    if body.startswith(b"{"):
        return None
    head, *texts = body.split(b"\n")
    values = orjson.loads(head)
    row = Row(*values[:_HEAD], *texts)
    return row._replace(who=values[_HEAD]) if len(values) > _HEAD else row


def split_row(body: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return data, notes and difference of a row; None for the text of a whole event.

    PERF: without the head, a quarter of the time of `parse_row`.
    """
    if body.startswith(b"{"):
        return None
    _, *texts = body.split(b"\n")
    data, notes, difference = (*texts, *_NO_TEXTS)[:3]
    return data, notes, difference


def render_whole(event: OutboxEvent, row: Row, data: bytes) -> bytes:
    """Render the text of an event as `event.Event` takes it; `data` is that of the row, or the
    document of a new twin or relationship.
    """
    subject = event.subject
    if event.relationship_id:
        subject = f"{subject}/relationships/{event.relationship_id}"
    source = orjson.dumps(row.source)
    wire = render_event(
        EVENT_TYPES[event.kind], source, subject, row.time, data, None, row.id, row.trace
    )
    return add_notes(wire, row.notes) if row.notes else wire


def render_record(record: ModelRecord) -> bytes:
    """Render what was stored of a model that is deleted."""
    values = asdict(record)
    for name in _TEXTS:
        values[name] = orjson.Fragment(values[name])
    return orjson.dumps(values)


def parse_record(text: bytes) -> ModelRecord:
    """Parse the last line of the row of a deleted model."""
    values = orjson.loads(text)
    for name in _TEXTS:
        values[name] = orjson.dumps(values[name])
    for name in ("extends", "components"):
        values[name] = tuple(values[name])
    return ModelRecord(**values)
