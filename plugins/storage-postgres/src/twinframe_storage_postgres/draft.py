"""The changes of a batch of writes that are not sent yet, and the statements that send them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from twinframe.storage.base import OutboxEvent, RelationshipRecord, TwinRecord
from twinframe_storage_postgres.facts import Facts
from twinframe_storage_postgres.spelling import has_odd_text, render_members
from twinframe_storage_postgres.statements import CopiedRows, Row, Statement

_PUT_TWINS: Final = """
WITH put AS (
  SELECT * FROM unnest(%b::text[], %b::bigint[], %b::text[], %b::text[], %b::text[])
    p (dt_id, model, etag, document, members)),
old AS (
  SELECT count(*) AS twins, coalesce(sum(octet_length(t.document)), 0) AS size
  FROM put JOIN @twin t ON t.dt_id = put.dt_id),
done AS (
  INSERT INTO @twin (dt_id, model, etag, document, members)
  SELECT dt_id, model, etag, document, coalesce(members, document)::jsonb FROM put
  ON CONFLICT (dt_id) DO UPDATE SET
    model = excluded.model, etag = excluded.etag, document = excluded.document,
    members = excluded.members)
UPDATE @graph SET twins = graph.twins + %s - old.twins, content = content + %s - old.size,
  odd_texts = odd_texts OR %s
FROM old RETURNING graph.twins, content"""
# PERF: «LATERAL (… OFFSET 0)» is one look into the index for each row. As a join it may be planned
# when there are no relationships yet, as a walk over all of them for each row.
_PUT_RELATIONSHIPS: Final = """
WITH put AS (
  SELECT s.id AS source, p.id, p.name, t.id AS target, p.etag, p.document, p.members
  FROM unnest(%b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[])
    p (source, id, name, target, etag, document, members)
  JOIN @twin s ON s.dt_id = p.source JOIN @twin t ON t.dt_id = p.target),
old AS (
  SELECT coalesce(sum(octet_length(r.document)), 0) AS size
  FROM put CROSS JOIN LATERAL (
    SELECT document FROM @relationship r
    WHERE r.source = put.source AND r.relationship_id = put.id OFFSET 0) r),
done AS (
  INSERT INTO @relationship (source, relationship_id, name, target, etag, document, members)
  SELECT source, id, name, target, etag, document, coalesce(members, document)::jsonb FROM put
  ON CONFLICT (source, relationship_id) DO UPDATE SET
    name = excluded.name, target = excluded.target, etag = excluded.etag,
    document = excluded.document, members = excluded.members)
UPDATE @graph SET content = content + %s - old.size, odd_texts = odd_texts OR %s
FROM old RETURNING twins, content"""
_PUT_ENTRIES: Final = """
INSERT INTO @entry (kind, key, body)
SELECT * FROM unnest(%b::text[], %b::text[], %b::bytea[])
ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body"""
_DELETE_ENTRIES: Final = """
DELETE FROM @entry e USING unnest(%b::text[], %b::text[]) d (kind, key)
WHERE e.kind = d.kind AND e.key = d.key"""
_APPEND: Final = """
WITH done AS (
  INSERT INTO @event (position, subject, body, kind, relationship, moment, target)
  SELECT %s + place, subject, body, nullif(kind, -1), relationship, moment, nullif(target, '')
  FROM unnest(%b::text[], %b::bytea[], %b::bigint[], %b::text[], %b::bigint[], %b::text[])
    WITH ORDINALITY e (subject, body, kind, relationship, moment, target, place))
UPDATE @graph SET last_position = %s, last_moment = %s"""
_COPY_TWINS: Final = "COPY @twin (dt_id, model, etag, document, members) FROM STDIN"
_COPY_RELATIONSHIPS: Final = (
    "COPY @relationship (source, relationship_id, name, target, etag, document, members) FROM STDIN"
)
_COPY_EVENTS: Final = (
    "COPY @event (position, subject, body, kind, relationship, moment, target) "
    "FROM STDIN (FORMAT binary)"
)
_EVENT_TYPES: Final = "int8", "text", "bytea", "int2", "text", "int8", "text"
_NOTE_COPIED: Final = """
UPDATE @graph SET twins = twins + %s, content = content + %s, odd_texts = odd_texts OR %s,
  last_position = greatest(last_position, %s), last_moment = greatest(last_moment, %s)
RETURNING twins, content"""

_ROWS: Final = 250
"""Rows of a statement."""
_COPIED: Final = 200
"""New rows that are copied, if there are so many.

PERF: each COPY is a trip of its own. A batch of single writes has fewer, and one trip.
"""
T = TypeVar("T")


class Known(Protocol):
    """What a batch knows of the rows on the server, which nobody else writes meanwhile."""

    @property
    def ids(self) -> Mapping[str, int]:
        """The rows of twins."""

    def is_new_twin(self, record: TwinRecord) -> bool:
        """Whether the server has no such twin for certain."""

    def is_new_relationship(self, record: RelationshipRecord) -> bool:
        """Whether it has no such relationship for certain, and the rows of both ends are known."""


Mark = tuple[int, int, int, int, int, bool]


class Draft:
    """What a batch puts, the newest of each; `undo` takes back what came after a `mark`.

    `added` and `grown` are by how many twins and bytes it makes the graph larger, if `is_counted`.
    """

    def __init__(self) -> None:
        self.twins: dict[str, TwinRecord] = {}
        self.relationships: dict[tuple[str, str], RelationshipRecord] = {}
        self.entries: dict[tuple[str, str], bytes | None] = {}
        self.events: list[OutboxEvent] = []
        self._before: list[tuple[dict[Any, Any], Any, Any, bool]] = []
        self.clear()

    def clear(self) -> None:
        """Forget all of it."""
        for each in (self.twins, self.relationships, self.entries, self.events, self._before):
            each.clear()
        self.size = self.added = self.grown = 0
        self.is_counted = True

    def is_empty(self) -> bool:
        """Whether nothing is to be sent."""
        return not (self.twins or self.relationships or self.entries or self.events)

    def mark(self) -> Mark:
        """Return what `undo` needs."""
        counts = self.size, self.added, self.grown, self.is_counted
        return len(self._before), len(self.events), *counts

    def put(self, among: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an item of one of the maps of this batch so that it can be taken back."""
        self._before.append((among, key, among.get(key), key in among))
        among[key] = value

    def undo(self, mark: Mark) -> None:
        """Take back all that was put after the mark."""
        count, events, self.size, self.added, self.grown, self.is_counted = mark
        while len(self._before) > count:
            among, key, value, was_there = self._before.pop()
            if was_there:
                among[key] = value
            else:
                del among[key]
        del self.events[events:]

    def build_statements(
        self, facts: Facts, rows: dict[str, int], known: Known
    ) -> Iterator[Statement]:
        """Build the statements that make the changes; `rows` are those of the interfaces.

        PERF: each has some rows, and its values are built when it is sent: the server works on the
        one before meanwhile.
        """
        copied = _Copied()
        new_twins, twins = _divide(self.twins.values(), known.is_new_twin)
        new_edges, edges = _divide(self.relationships.values(), known.is_new_relationship)
        if new_twins:
            yield _COPY_TWINS, CopiedRows(partial(copied.build_twins, new_twins, rows))
        if new_edges:
            built = partial(copied.build_relationships, new_edges, known.ids)
            yield _COPY_RELATIONSHIPS, CopiedRows(built)
        if len(self.events) >= _COPIED:
            built = partial(copied.build_events, self.events, facts)
            yield _COPY_EVENTS, CopiedRows(built, _EVENT_TYPES)
        if new_twins or new_edges or len(self.events) >= _COPIED:
            yield _NOTE_COPIED, copied.bind
        for some in _split(twins):
            yield _PUT_TWINS, partial(_bind_twins, some, rows)
        for each in _split(edges):
            yield _PUT_RELATIONSHIPS, partial(_bind_relationships, each)
        kept = [(*key, body) for key, body in self.entries.items() if body is not None]
        if kept:
            yield _PUT_ENTRIES, [*map(list, zip(*kept, strict=True))]
        gone = [key for key, body in self.entries.items() if body is None]
        if gone:
            yield _DELETE_ENTRIES, [*map(list, zip(*gone, strict=True))]
        if len(self.events) >= _COPIED:
            return
        position, moment = facts.last_position, facts.last_moment
        for events in _split(self.events):
            moments = [moment := max(moment, event.moment) for event in events]
            yield _APPEND, partial(_bind_events, events, position, moments)
            position += len(events)


def _divide(records: Collection[T], is_new: Callable[[T], bool]) -> tuple[Sequence[T], Sequence[T]]:
    """Divide records into those to copy and those to put."""
    if len(records) < _COPIED:
        return (), [*records]
    found: tuple[list[T], list[T]] = [], []
    for each in records:
        found[not is_new(each)].append(each)
    return found if len(found[0]) >= _COPIED else ((), [*records])


class _Copied:
    """Builds rows of `COPY`, and counts them for the row of facts."""

    def __init__(self) -> None:
        self._twins = self._content = self._position = self._moment = 0
        self._is_odd = False

    def bind(self) -> list[Any]:
        """Bind what was copied, once it is sent."""
        return [self._twins, self._content, self._is_odd, self._position, self._moment]

    def build_twins(self, twins: Sequence[TwinRecord], rows: dict[str, int]) -> Iterator[Row]:
        """Yield the rows of new twins."""
        self._twins += len(twins)
        for each in twins:
            yield each.twin_id, rows[each.model_id], each.etag, *self._render(each.body)

    def build_relationships(
        self, relationships: Sequence[RelationshipRecord], ids: Mapping[str, int]
    ) -> Iterator[Row]:
        """Yield the rows of new relationships; `ids` are the rows of their ends."""
        for each in relationships:
            source, target = ids[each.source_id], ids[each.target_id]
            key = source, each.relationship_id, each.name, target
            yield *key, each.etag, *self._render(each.body)

    def build_events(self, events: Sequence[OutboxEvent], facts: Facts) -> Iterator[Row]:
        """Yield the rows of events that follow those of the facts."""
        self._position, moment = facts.last_position, facts.last_moment
        for each in events:
            self._position, moment = self._position + 1, max(moment, each.moment)
            key = self._position, each.subject, each.body
            kind = None if each.kind is None else int(each.kind)
            yield *key, kind, each.relationship_id, moment, each.target_id or None
        self._moment = moment

    def _render(self, body: bytes) -> tuple[str, str]:
        """Render the columns of a document."""
        text = body.decode()
        self._content += len(body)
        self._is_odd = self._is_odd or has_odd_text(text)
        return text, render_members(text)


def _split(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _ROWS):
        yield items[start : start + _ROWS]


def _bind_twins(twins: Sequence[TwinRecord], rows: dict[str, int]) -> list[Any]:
    return [
        [each.twin_id for each in twins],
        [rows[each.model_id] for each in twins],
        [each.etag for each in twins],
        *(documents := _build_documents(twins))[:2],
        len(twins),
        *documents[2:],
    ]


def _bind_relationships(relationships: Sequence[RelationshipRecord]) -> list[Any]:
    return [
        [each.source_id for each in relationships],
        [each.relationship_id for each in relationships],
        [each.name for each in relationships],
        [each.target_id for each in relationships],
        [each.etag for each in relationships],
        *_build_documents(relationships),
    ]


def _build_documents(records: Sequence[TwinRecord | RelationshipRecord]) -> tuple[Any, ...]:
    """Build the columns of documents; their bytes; and whether there are odd texts.

    PERF: members are sent only where they are spelled differently.
    """
    texts = [each.body.decode() for each in records]
    members = [None if (spelled := render_members(text)) is text else spelled for text in texts]
    odd = any(map(has_odd_text, texts))
    return texts, members, sum(len(each.body) for each in records), odd


def _bind_events(events: Sequence[OutboxEvent], position: int, moments: list[int]) -> list[Any]:
    """Bind the events that follow `position`."""
    return [
        position,
        [each.subject for each in events],
        [each.body for each in events],
        [-1 if each.kind is None else int(each.kind) for each in events],
        [each.relationship_id for each in events],
        moments,
        [each.target_id for each in events],
        position + len(events),
        moments[-1],
    ]
