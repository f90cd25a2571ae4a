"""The write side of the storage interface, inside a transaction that its caller begins and ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

import apsw

from twinframe.errors import (
    RelationshipNotFound,
    RelationshipsNotDeleted,
    TargetTwinNotFound,
    TwinNotFound,
)
from twinframe.storage.base import (
    ENTITY_CHANGES,
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    TwinRecord,
)
from twinframe_storage_sqlite import interfaces
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.statements import RowsStatement, SqlValue

_PAGES_IN_USE: Final = """
SELECT p.page_count - f.freelist_count FROM pragma_page_count p, pragma_freelist_count f"""
_OUTBOX_BYTES: Final = """
SELECT coalesce((SELECT total FROM event ORDER BY position DESC LIMIT 1), 0)
  - coalesce((SELECT total - length(body) FROM event ORDER BY position LIMIT 1), 0)"""
# SEC: documents are bound as bytes and cast: `jsonb` could mistake some JSON texts given as a blob
# for its own binary form.
_PUT_TWIN: Final = """
INSERT INTO twin (dt_id, model, etag, document)
VALUES (?, (SELECT id FROM interface WHERE dtmi = ?), ?, jsonb(CAST(? AS TEXT)))
ON CONFLICT (dt_id) DO UPDATE SET
  model = excluded.model, etag = excluded.etag, document = excluded.document"""
# NOTE: without a WHERE, SQLite parses the ON of the conflict as that of a join.
_PUT_TWINS: Final = RowsStatement(
    "WITH put (dt_id, dtmi, etag, document) AS (VALUES ",
    4,
    """)
INSERT INTO twin (dt_id, model, etag, document)
SELECT p.dt_id, (SELECT id FROM interface WHERE dtmi = p.dtmi), p.etag,
  jsonb(CAST(p.document AS TEXT))
FROM put p WHERE true
ON CONFLICT (dt_id) DO UPDATE SET
  model = excluded.model, etag = excluded.etag, document = excluded.document""",
)
_HAS_INTERFACE: Final = "SELECT 1 FROM interface WHERE dtmi = ?"
_DELETE_TWIN: Final = """
DELETE FROM twin WHERE dt_id = ?
RETURNING (SELECT position FROM interface i WHERE i.id = model) IS NULL"""
_HAS_RELATIONSHIPS: Final = """
SELECT 1 FROM twin t WHERE t.dt_id = ?
  AND (EXISTS (SELECT 1 FROM relationship r WHERE r.source = t.id)
    OR EXISTS (SELECT 1 FROM relationship r WHERE r.target = t.id))"""
_PUT_RELATIONSHIP: Final = """
INSERT INTO relationship (source, relationship_id, name, target, etag, document)
SELECT s.id, ?, ?, t.id, ?, jsonb(CAST(? AS TEXT))
FROM twin s CROSS JOIN twin t WHERE s.dt_id = ? AND t.dt_id = ?
ON CONFLICT (source, relationship_id) DO UPDATE SET
  name = excluded.name, target = excluded.target, etag = excluded.etag,
  document = excluded.document
RETURNING 1"""
_PUT_RELATIONSHIPS: Final = RowsStatement(
    "WITH put (id, name, etag, document, source, target) AS (VALUES ",
    6,
    """)
INSERT INTO relationship (source, relationship_id, name, target, etag, document)
SELECT s.id, p.id, p.name, t.id, p.etag, jsonb(CAST(p.document AS TEXT))
FROM put p CROSS JOIN twin s CROSS JOIN twin t WHERE s.dt_id = p.source AND t.dt_id = p.target
ON CONFLICT (source, relationship_id) DO UPDATE SET
  name = excluded.name, target = excluded.target, etag = excluded.etag,
  document = excluded.document""",
)
_DELETE_RELATIONSHIP: Final = """
DELETE FROM relationship
WHERE source = (SELECT id FROM twin WHERE dt_id = ?) AND relationship_id = ? RETURNING 1"""

_PUT_ENTRY: Final = """
INSERT INTO entry (kind, key, body) VALUES (?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body"""
_DELETE_ENTRY: Final = "DELETE FROM entry WHERE kind = ? AND key = ? RETURNING 1"
# PERF: the sum is 0.5 us of an append, and gives the size of the outbox without a scan.
_APPEND_EVENT: Final = """
INSERT INTO event (subject, body, kind, relationship, target, moment, total)
SELECT ?1, ?2, ?3, ?4, ?5, max(?6, coalesce(l.moment, 0)), ?7 + coalesce(l.total, 0)
FROM (SELECT 1) LEFT JOIN (
  SELECT moment, total FROM event ORDER BY position DESC LIMIT 1) l"""
_APPEND_EVENTS: Final = RowsStatement(
    "INSERT INTO event (subject, body, kind, relationship, target, moment, total) VALUES ", 7
)
_LAST_EVENT: Final = "SELECT moment, total FROM event ORDER BY position DESC LIMIT 1"
_FEW_EVENTS: Final = 5
_ROW_BYTES: Final = 32
_INDEX_BYTES: Final = 16
_DELETE_EVENTS: Final = """
DELETE FROM event WHERE position IN (
  SELECT position FROM event WHERE position <= ? ORDER BY position LIMIT ?)"""


class SqliteTransaction(SqliteSession, GraphTransaction):
    """The write view over the store's writing connection; valid while its write function runs."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self._depth = 1  # a snapshot inside is the transaction itself
        self._page_bytes: int = self.read_one("PRAGMA page_size")

    @property
    def is_for_engines(self) -> bool:
        """Always: statements of the connection see its changes."""
        return True

    def measure_content(self) -> int:
        """The bytes of the pages in use in this transaction, but those of outbox and log.

        PERF: 5 us; SQLite keeps the numbers.
        """
        pages: int = self.read_one(_PAGES_IN_USE)
        outbox: int = self.read_one(_OUTBOX_BYTES)
        return max(pages * self._page_bytes - outbox, 0)

    def put_twin(self, record: TwinRecord) -> None:
        """Create or replace a twin."""
        bindings = (record.twin_id, record.model_id, record.etag, record.body)
        try:
            self._cursor.execute(_PUT_TWIN, bindings)
        except apsw.ConstraintError:
            # The only constraint that can fail: no interface of that id. Its row is inserted now.
            interfaces.write_name(self, record.model_id)
            self.read_one(_PUT_TWIN, bindings)
        except EngineError as error:
            self._fail(error)

    def put_twins(self, records: Sequence[TwinRecord]) -> None:
        """Create or replace twins, in statements of many rows."""
        for model_id in dict.fromkeys(record.model_id for record in records):
            if self.read_one(_HAS_INTERFACE, (model_id,)) is None:
                interfaces.write_name(self, model_id)
        bindings = [(each.twin_id, each.model_id, each.etag, each.body) for each in records]
        try:
            _PUT_TWINS.run(self._cursor, bindings)
        except EngineError as error:
            self._fail(error)

    def delete_twin(self, twin_id: str) -> None:
        """Delete a twin without relationships."""
        try:
            of_deleted_model = self._cursor.execute(_DELETE_TWIN, (twin_id,)).get
        except apsw.ConstraintError as error:
            raise RelationshipsNotDeleted(
                f"Twin {twin_id} has active relationships. Delete them before the twin."
            ) from error
        except EngineError as error:
            self._fail(error)
        if of_deleted_model is None:
            raise TwinNotFound(twin_id)
        if of_deleted_model:
            interfaces.delete_unnamed(self)

    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship starts or ends at the twin."""
        return self.read_one(_HAS_RELATIONSHIPS, (twin_id,)) is not None

    def put_relationship(self, record: RelationshipRecord) -> None:
        """Create or replace a relationship between two twins that exist."""
        if self.read_one(_PUT_RELATIONSHIP, _bind_relationship(record)) is None:
            self._refuse_ends(record)

    def put_relationships(self, records: Sequence[RelationshipRecord]) -> None:
        """Create or replace relationships, in statements of many rows."""
        try:
            count = _PUT_RELATIONSHIPS.run(self._cursor, [*map(_bind_relationship, records)])
        except EngineError as error:
            self._fail(error)
        if count < len(records):
            for record in records:
                self._refuse_ends(record)

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        if self.read_one(_DELETE_RELATIONSHIP, (source_id, relationship_id)) is None:
            raise RelationshipNotFound(source_id, relationship_id)

    def put_models(self, records: Sequence[ModelRecord]) -> None:
        """Store new models."""
        interfaces.write_models(self, records)

    def set_decommissioned(self, model_id: str, decommissioned: bool) -> None:
        """Set the flag."""
        interfaces.write_decommissioned(self, model_id, decommissioned)

    def delete_models(self, model_ids: Sequence[str]) -> None:
        """Delete models together."""
        interfaces.delete_models(self, model_ids)

    def put_entry(self, kind: str, key: str, body: bytes) -> None:
        """Create or replace an entry."""
        self.read_one(_PUT_ENTRY, (kind, key, body))

    def delete_entry(self, kind: str, key: str) -> bool:
        """Delete an entry."""
        return self.read_one(_DELETE_ENTRY, (kind, key)) is not None

    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Append events after the others."""
        try:
            # PERF: a write of one twin has one event, which needs no total to be read first.
            if len(events) < _FEW_EVENTS:
                for event in events:
                    size = self._measure_row(event)
                    self._cursor.execute(_APPEND_EVENT, _bind_event(event, event.moment, size))
            else:
                moment, total = self._cursor.execute(_LAST_EVENT).get or (0, 0)
                rows = []
                for event in events:
                    total += self._measure_row(event)
                    moment = max(moment, event.moment)
                    rows.append(_bind_event(event, moment, total))
                _APPEND_EVENTS.run(self._cursor, rows)
        except EngineError as error:
            self._fail(error)

    def _measure_row(self, event: OutboxEvent) -> int:
        """The space of an event in the file: a large one has its own pages."""
        key = len(event.subject) + len(event.relationship_id)
        size = key + len(event.body) + _ROW_BYTES
        if size >= self._page_bytes:
            size = -(-size // self._page_bytes) * self._page_bytes
        return size + key + _INDEX_BYTES if event.kind in ENTITY_CHANGES else size

    def delete_events(self, *, up_to: int, limit: int) -> int:
        """Delete the oldest events."""
        self.read_one(_DELETE_EVENTS, (up_to, limit))
        return self.connection.changes()

    def _refuse_ends(self, record: RelationshipRecord) -> None:
        if not self.has_twin(record.source_id):
            raise TwinNotFound(record.source_id)
        if not self.has_twin(record.target_id):
            raise TargetTwinNotFound(record.target_id)

    def _fail(self, error: BaseException) -> NoReturn:
        raise build_error(error, self.connection.filename) from error


def _bind_event(event: OutboxEvent, moment: int, total: int) -> tuple[SqlValue, ...]:
    target = event.target_id or None
    return event.subject, event.body, event.kind, event.relationship_id, target, moment, total


def _bind_relationship(record: RelationshipRecord) -> tuple[SqlValue, ...]:
    return (
        record.relationship_id,
        record.name,
        record.etag,
        record.body,
        record.source_id,
        record.target_id,
    )
