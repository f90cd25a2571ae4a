"""The reads of the events from which earlier states of a graph are built, by their indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

import orjson

from twinframe.storage.base import ChangeKind, ChangeRow, EntityKey, GraphSession, OutboxEvent
from twinframe_storage_sqlite.statements import Row, StatementRunner

_COLUMNS: Final = "position, subject, body, kind, relationship, moment, target"
EVENT: Final = f"SELECT {_COLUMNS} FROM event"  # noqa: S608  (constants of this module)
"""The columns of `build_event`."""

_MOMENT: Final = "SELECT position, moment FROM event WHERE position >= ? ORDER BY position LIMIT 1"
# NOTE: the first condition on the kind is always that of the index.
_FIRST_CHANGE: Final = (
    f"{EVENT} INDEXED BY event_entity WHERE subject = ? AND relationship = ? "
    "AND kind BETWEEN 1 AND 6 AND position > ? ORDER BY position LIMIT 1"
)
_FIRST_CHANGES: Final = (
    f"SELECT {_COLUMNS} FROM json_each(?1) x CROSS JOIN event ON position = ("  # noqa: S608
    "SELECT e.position FROM event e INDEXED BY event_entity WHERE e.subject = x.value ->> 0 "
    "AND e.relationship = x.value ->> 1 AND e.kind BETWEEN 1 AND 6 AND e.position > ?2 "
    "ORDER BY e.position LIMIT 1)"
)
_WAYS_BACK: Final = (
    "SELECT position, subject, CASE WHEN length(body) <= ?4 THEN body ELSE x'' END, kind, "
    "relationship, moment, target FROM json_each(?1) x CROSS JOIN event INDEXED BY event_entity "
    "ON subject = x.value ->> 0 AND relationship = x.value ->> 1 AND kind BETWEEN 1 AND 6 "
    "AND position > x.value ->> 2 AND position <= coalesce(("
    "SELECT e.position FROM event e INDEXED BY event_entity WHERE e.subject = x.value ->> 0 "
    "AND e.relationship = x.value ->> 1 AND e.kind BETWEEN 1 AND 6 AND e.position > x.value ->> 2 "
    "ORDER BY e.position LIMIT 1 OFFSET ?2), ?3) ORDER BY x.id, position"
)
_LARGEST_AT_ONCE: Final = 4096
_ENTITY: Final = (
    f"{EVENT} INDEXED BY event_entity WHERE subject = ? AND relationship = ? "
    "AND kind BETWEEN 1 AND 6 AND position > ? AND position < ? ORDER BY position {} LIMIT ?"
)
_CHANGE_ROWS: Final = _ENTITY.format("").replace(_COLUMNS, "position, moment, kind, body")
_ENTITY_OLDEST: Final = _ENTITY.format("")
_ENTITY_NEWEST: Final = _ENTITY.format("DESC")
_LAST: Final = 2**63 - 1
_RARE: Final = "FROM event INDEXED BY event_rare WHERE kind IN (3, 6, 7, 8, 9)"
_DELETED_TWINS: Final = f"SELECT subject {_RARE} AND kind = 3 AND position > ? ORDER BY position"
_DELETED_RELATIONSHIPS: Final = (
    f"SELECT subject, relationship {_RARE} AND kind = 6 AND position > ? ORDER BY position"
)
_DELETED_OF_SOURCES: Final = (
    "SELECT e.subject, e.relationship FROM json_each(?1) x CROSS JOIN event e "
    "INDEXED BY event_deleted_source "
    "ON e.subject = x.value AND e.kind = 6 AND e.position > ?2"
)
_DELETED_OF_TARGETS: Final = (
    "SELECT e.subject, e.relationship FROM json_each(?1) x CROSS JOIN event e "
    "INDEXED BY event_deleted_target "
    "ON e.target = x.value AND e.kind = 6 AND e.position > ?2"
)
_MODEL_CHANGES: Final = (
    f"SELECT {_COLUMNS} {_RARE} AND kind IN (7, 8, 9) AND position > ? ORDER BY position"
)
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
            rows = self.read_all(_FIRST_CHANGES, (orjson.dumps(keys).decode(), after))
        found = map(build_event, rows)
        return {(event.subject, event.relationship_id): (at, event) for at, event in found}

    def read_ways_back(
        self, starts: Mapping[EntityKey, int], *, limit: int
    ) -> Mapping[EntityKey, Sequence[tuple[int, OutboxEvent]]]:
        """The next changes of each entity, by one statement; without large bodies."""
        if len(starts) == 1:
            return super().read_ways_back(starts, limit=limit)
        wanted = orjson.dumps([(*key, after) for key, after in starts.items()]).decode()
        found: dict[EntityKey, list[tuple[int, OutboxEvent]]] = {}
        bindings = (wanted, limit - 1, _LAST, _LARGEST_AT_ONCE)
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

    def read_change_rows(
        self, key: EntityKey, *, after: int, before: int, limit: int
    ) -> Sequence[ChangeRow]:
        """PERF: 1 us a row, an eighth of `read_entity_changes`."""
        return self.read_all(_CHANGE_ROWS, (*key, after, before, limit))

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
        if sources is None and targets is None:
            yield from self.iterate(_DELETED_RELATIONSHIPS, (after,))
        elif targets is None:
            wanted = orjson.dumps(sources).decode()
            yield from self.iterate(_DELETED_OF_SOURCES, (wanted, after))
        else:
            found = self.iterate(_DELETED_OF_TARGETS, (orjson.dumps(targets).decode(), after))
            among = None if sources is None else frozenset(sources)
            yield from ((s, r) for s, r in found if among is None or s in among)

    def read_model_changes(self, *, after: int) -> Iterator[tuple[int, OutboxEvent]]:
        """The changes of models, oldest first."""
        return map(build_event, self.iterate(_MODEL_CHANGES, (after,)))


def build_event(row: Row) -> tuple[int, OutboxEvent]:
    """Build an event and its position from the columns of `EVENT`."""
    position, subject, body, kind, relationship_id, moment, target = row
    kind = None if kind is None else _KINDS[kind]
    return position, OutboxEvent(subject, body, kind, relationship_id, moment, target or "")
