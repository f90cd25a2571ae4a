"""Reads events from the outbox and makes them whole, with documents as they were at each event.

An event of a new twin or relationship needs its document. That is the stored one as long as nothing
replaced it. Otherwise the rows of the later changes lead back to it: each has the difference from
the document after it to the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from twinframe.graph.events.differences import is_whole, read_difference
from twinframe.graph.events.rows import (
    DELETIONS,
    Row,
    build_digest,
    parse_row,
    render_whole,
)
from twinframe.storage.base import (
    ChangeKind,
    EntityKey,
    GraphSession,
    OutboxEvent,
    StoredDocument,
)

_ROWS_AT_ONCE: Final = 32
_Documents = Mapping[EntityKey, StoredDocument]


class ReadEvent(NamedTuple):
    """An event as it was read: the entity within which order counts, and the text for `Event`.

    The text is empty if the row is a change of which no event is sent. It is None if the rows that
    lead to its document are no longer kept.
    """

    key: str
    text: bytes | None

    @property
    def size(self) -> int:
        """The bytes of the text."""
        return len(self.text or b"")


def read_events(
    session: GraphSession, *, after: int, limit: int
) -> Sequence[tuple[int, ReadEvent]]:
    """Return at most `limit` events with their positions, in order, after `after`.

    All rows count for the limit.
    """
    rows = [
        (position, event, parse_row(event.body))
        for position, event in session.read_events(after=after, limit=limit)
    ]
    documents = _read_documents(session, rows)
    return [
        (position, ReadEvent(event.subject, _render(session, position, event, row, documents)))
        for position, event, row in rows
    ]


def read_document_after(session: GraphSession, key: EntityKey, position: int) -> bytes | None:
    """Return the document of an entity as it was after the event at `position`.

    None if there was none, or if the rows after the position are no longer kept.
    """
    differences: list[Row] = []
    with session.snapshot():
        document = _read_base(session, key, position, differences)
    for row in reversed(differences):
        if is_whole(row.difference):
            document = read_difference(row.difference)
        elif document is not None:
            document = read_difference(row.difference, _respell(document), row.notes)
    return None if document is None else _respell(document)


def _read_base(
    session: GraphSession, key: EntityKey, position: int, differences: list[Row]
) -> bytes | None:
    """Return the nearest document that is stored as a whole; add the differences up to it."""
    while True:
        rows = session.read_replacements(*key, after=position, limit=_ROWS_AT_ONCE)
        for _, event in rows:
            row = parse_row(event.body)
            if row is None:
                return None
            if event.kind in DELETIONS:
                return row.data
            differences.append(row)
            if is_whole(row.difference):
                return None
        if len(rows) < _ROWS_AT_ONCE:
            break
        position = rows[-1][0]
    stored = session.read_relationship(*key) if key[1] else session.read_twin(key[0])
    return None if stored is None else stored.body


def _read_documents(
    session: GraphSession, rows: Iterable[tuple[int, OutboxEvent, Row | None]]
) -> _Documents:
    """Return the stored documents of the twins and relationships that were created."""
    twins: dict[str, None] = {}
    relationships: dict[EntityKey, None] = {}
    for _, event, row in rows:
        if row is None or not row.id:
            continue
        if event.kind == ChangeKind.TWIN_CREATED:
            twins[event.subject] = None
        elif event.kind == ChangeKind.RELATIONSHIP_CREATED:
            relationships[event.subject, event.relationship_id] = None
    found: dict[EntityKey, StoredDocument] = {}
    if twins:
        stored = session.read_twin_documents([*twins])
        found.update(((twin_id, ""), document) for twin_id, document in stored.items())
    if relationships:
        found.update(session.read_relationship_documents([*relationships]))
    return found


def _render(
    session: GraphSession,
    position: int,
    event: OutboxEvent,
    row: Row | None,
    documents: _Documents,
) -> bytes | None:
    if row is None:
        return event.body
    if not row.id:
        return b""
    if not row.digest:
        return render_whole(event, row, row.data)
    key = event.subject, event.relationship_id
    stored = documents.get(key)
    document = None if stored is None else _find_same(stored.body, row.digest)
    if document is None:
        document = read_document_after(session, key, position)
        if document is None or build_digest(document) != row.digest:
            return None
    return render_whole(event, row, document)


def _find_same(document: bytes, digest: str) -> bytes | None:
    """Return the document in the spelling of which this is the digest; None if it is another."""
    if build_digest(document) == digest:
        return document
    spelled = _respell(document)
    return spelled if spelled != document and build_digest(spelled) == digest else None


def _respell(document: bytes) -> bytes:
    """Return the document as it was put: stores keep its meaning, but not its spelling."""
    return orjson.dumps(orjson.loads(document))
