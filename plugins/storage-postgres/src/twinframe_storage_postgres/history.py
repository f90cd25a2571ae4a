"""The reads of the events from which earlier states of a graph are built, by their indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from twinframe.storage.base import ChangeKind, EntityKey, GraphSession, OutboxEvent
from twinframe_storage_postgres.statements import Row, StatementRunner

_COLUMNS: Final = "position, subject, body, kind, relationship, moment, target"
EVENT: Final = f"SELECT {_COLUMNS} FROM @event"  # noqa: S608  (constants of this module)
"""The columns of `build_event`."""

_MOMENT: Final = "SELECT position, moment FROM @event WHERE position >= %s ORDER BY 1 LIMIT 1"
# NOTE: the first condition on the kind is always that of the index.
_OF_ENTITY: Final = "subject = %s AND relationship = %s AND kind BETWEEN 1 AND 6"
_FIRST_CHANGE: Final = f"{EVENT} WHERE {_OF_ENTITY} AND position > %s ORDER BY position LIMIT 1"
_OF_EACH: Final = (
    "e.subject = x.subject AND e.relationship = x.relationship AND e.kind BETWEEN 1 AND 6"
)
_FIRST_CHANGES: Final = (
    f"SELECT f.* FROM unnest(%b::text[], %b::text[]) x (subject, relationship) "  # noqa: S608
    f"CROSS JOIN LATERAL (SELECT {_COLUMNS} FROM @event e WHERE {_OF_EACH} "
    "AND e.position > %s ORDER BY e.position LIMIT 1) f"
)
_WAYS_BACK: Final = (
    "SELECT f.* FROM unnest(%b::text[], %b::text[], %b::bigint[]) "  # noqa: S608
    "WITH ORDINALITY x (subject, relationship, after, place) "
    "CROSS JOIN LATERAL (SELECT position, subject, CASE WHEN length(body) <= %s THEN body "
    "ELSE ''::bytea END, kind, relationship, moment, target "
    f"FROM @event e WHERE {_OF_EACH} AND e.position > x.after ORDER BY e.position LIMIT %s) f "
    "ORDER BY x.place, f.position"
)
_LARGEST_AT_ONCE: Final = 4096
_ENTITY: Final = (
    f"{EVENT} WHERE {_OF_ENTITY} AND position > %s AND position < %s "
    "ORDER BY position {} LIMIT %s"
)
_ENTITY_OLDEST: Final = _ENTITY.format("")
_ENTITY_NEWEST: Final = _ENTITY.format("DESC")
_LAST: Final = 2**63 - 1
_DELETED_TWINS: Final = (
    "SELECT subject FROM @event WHERE kind = 3 AND position > %s ORDER BY position"
)
_DELETED_RELATIONSHIPS: Final = (
    "SELECT subject, relationship FROM @event WHERE kind = 6 AND position > %s ORDER BY position"
)
_DELETED_OF_SOURCES: Final = (
    "SELECT e.subject, e.relationship FROM unnest(%b::text[]) x (id) "
    "JOIN @event e ON e.subject = x.id AND e.kind = 6 AND e.position > %s"
)
_DELETED_OF_TARGETS: Final = (
    "SELECT e.subject, e.relationship FROM unnest(%b::text[]) x (id) "
    "JOIN @event e ON e.target = x.id AND e.kind = 6 AND e.position > %s"
)
_MODEL_CHANGES: Final = f"{EVENT} WHERE kind IN (7, 8, 9) AND position > %s ORDER BY position"
_KINDS: Final = tuple(ChangeKind)


class HistoryReads(StatementRunner, GraphSession):
    """The part of a session that finds the events of entities, of deletions and of moments."""

    keeps_history: ClassVar[bool] = True

    def read_moment(self, position: int) -> tuple[int, int] | None:
        """Position and moment of the first kept event from a position on."""
        found: tuple[int, int] | None = self.read_one(_MOMENT, (position,))
        return found

    def read_first_changes(
        self, keys: Sequence[EntityKey], *, after: int
    ) -> Mapping[EntityKey, tuple[int, OutboxEvent]]:
        """The first change of each entity; one seek in the index for each."""
        if len(keys) == 1:  # PERF: 3 us less than with a list
            rows = self.read_all(_FIRST_CHANGE, (*keys[0], after))
        else:
            sources, names = split_keys(keys)
            rows = self.read_all(_FIRST_CHANGES, (sources, names, after))
        found = map(build_event, rows)
        return {(event.subject, event.relationship_id): (at, event) for at, event in found}

    def read_ways_back(
        self, starts: Mapping[EntityKey, int], *, limit: int
    ) -> Mapping[EntityKey, Sequence[tuple[int, OutboxEvent]]]:
        """The next changes of each entity, by one statement; without large bodies."""
        if len(starts) == 1:
            return super().read_ways_back(starts, limit=limit)
        sources, names = split_keys([*starts])
        found: dict[EntityKey, list[tuple[int, OutboxEvent]]] = {}
        bindings = (sources, names, [*starts.values()], _LARGEST_AT_ONCE, limit)
        for row in self.read_all(_WAYS_BACK, bindings):
            at, event = build_event(row)
            found.setdefault((event.subject, event.relationship_id), []).append((at, event))
        return found

    def read_entity_changes(
        self, key: EntityKey, *, after: int, before: int | None, limit: int, newest_first: bool
    ) -> Sequence[tuple[int, OutboxEvent]]:
        """The changes of an entity, along the index."""
        bindings = (*key, after, _LAST if before is None else before, limit)
        rows = self.read_all(_ENTITY_NEWEST if newest_first else _ENTITY_OLDEST, bindings)
        return [*map(build_event, rows)]

    def find_deleted_twins(self, *, after: int) -> Iterator[str]:
        """The deleted twins, oldest first."""
        rows = self.iterate(_DELETED_TWINS, (after,))
        return (twin_id for (twin_id,) in rows)

    def find_deleted_relationships(
        self,
        *,
        after: int,
        sources: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
    ) -> Iterator[EntityKey]:
        """The deleted relationships, by an index of their sources or targets if these are given."""
        if targets is None:
            if sources is None:
                yield from self.iterate(_DELETED_RELATIONSHIPS, (after,))
            else:
                yield from self.iterate(_DELETED_OF_SOURCES, ([*sources], after))
        else:
            found = self.iterate(_DELETED_OF_TARGETS, ([*targets], after))
            among = None if sources is None else frozenset(sources)
            yield from ((s, r) for s, r in found if among is None or s in among)

    def read_model_changes(self, *, after: int) -> Iterator[tuple[int, OutboxEvent]]:
        """The changes of models, oldest first."""
        return map(build_event, self.iterate(_MODEL_CHANGES, (after,)))


def split_keys(keys: Sequence[EntityKey]) -> tuple[list[str], list[str]]:
    """Split keys into the arrays of their first and second parts."""
    return [first for first, _ in keys], [second for _, second in keys]


def build_event(row: Row) -> tuple[int, OutboxEvent]:
    """Build an event and its position from the columns of `EVENT`."""
    position, subject, body, kind, relationship_id, moment, target = row
    kind = None if kind is None else _KINDS[kind]
    return position, OutboxEvent(subject, body, kind, relationship_id, moment, target or "")
