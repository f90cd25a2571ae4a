"""The write side of the storage interface: one transaction of the server for a batch of writes.

What is put is kept in a draft, and sent with the commit; reads of single things look there first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import psycopg
from psycopg import errors as pg

from twinframe.errors import (
    QueryTimeout,
    RelationshipNotFound,
    RelationshipsNotDeleted,
    StorageError,
    StorageMoved,
    TargetTwinNotFound,
    TwinNotFound,
)
from twinframe.storage.base import (
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
    WriteFunction,
)
from twinframe_storage_postgres import interfaces
from twinframe_storage_postgres.connections import (
    DURABLE,
    WARNED,
    Connection,
    watching_standbys,
)
from twinframe_storage_postgres.draft import Draft, Mark
from twinframe_storage_postgres.errors import LATE, build_error, is_worn
from twinframe_storage_postgres.facts import Facts, InterfaceNames
from twinframe_storage_postgres.history import split_keys
from twinframe_storage_postgres.homes import Home
from twinframe_storage_postgres.opening import check_least
from twinframe_storage_postgres.session import PostgresSession, build_stored
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.statements import (
    FREE_LIMITED,
    GUARD,
    UNGUARD,
    Bindings,
    Row,
    Statement,
    Translate,
    qualify,
)

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# PERF: one statement less than by itself. Rows are locked last, so the settings hold for that.
_PREPARE: Final = (
    "WITH prepared AS MATERIALIZED (SELECT set_config('lock_timeout', %s, true), "  # noqa: S608
    "set_config(%s, %s, true), "
    "set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), "
    "set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true), "
    f"{WARNED}, "
    f"CASE WHEN %s THEN set_config('synchronous_commit', 'off', true) ELSE {DURABLE} END) "
    "SELECT model_version, last_position, last_moment, twins, content, least "
    "FROM prepared, @graph FOR UPDATE OF graph"
)
_BIND: Final = (
    "SELECT set_config('search_path', 'pg_catalog', true), "
    "set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), "
    "set_config('enable_mergejoin', 'off', true)"
)
_UNLIMIT: Final = "SET LOCAL statement_timeout TO DEFAULT"
"""With `_BIND` what is set for writes again, after a statement of the compiler."""
_TIMEOUT: Final = "transaction_timeout"
_IDLE_TIMEOUT: Final = "idle_in_transaction_session_timeout"
_NOTE_BATCH: Final = (
    "INSERT INTO @writer (id, batch) VALUES (%s, %s) "
    "ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, moment = now()"
)
_FORGET_WRITERS: Final = "DELETE FROM @writer WHERE moment < now() - interval '7 days'"
_TWIN: Final = "SELECT dt_id, etag, document, model, id FROM @twin WHERE dt_id = %s"
_TWIN_MODELS: Final = "SELECT dt_id, model, id FROM @twin WHERE dt_id = ANY(%b::text[])"
_TWINS: Final = "SELECT dt_id, etag, document, model, id FROM @twin WHERE dt_id = ANY(%b::text[])"
_RELATIONSHIPS: Final = (
    "SELECT s.dt_id, r.relationship_id, r.etag, r.document "
    "FROM unnest(%b::text[], %b::text[]) x (source, id) JOIN @twin s ON s.dt_id = x.source "
    "CROSS JOIN LATERAL (SELECT * FROM @relationship r "
    "WHERE r.source = s.id AND r.relationship_id = x.id OFFSET 0) r"
)
_RELATIONSHIP: Final = (
    "SELECT r.etag, r.document FROM @twin s JOIN @relationship r ON r.source = s.id "
    "WHERE s.dt_id = %s AND r.relationship_id = %s"
)
_ENTRY: Final = "SELECT body FROM @entry WHERE kind = %s AND key = %s"
_INTERFACES: Final = "SELECT dtmi, id FROM @interface"
_DELETE_TWIN: Final = """
WITH found AS (
  SELECT id, model, octet_length(document) AS size FROM @twin WHERE dt_id = %s),
used AS (
  SELECT EXISTS (SELECT 1 FROM found t JOIN @relationship r ON r.source = t.id)
    OR EXISTS (SELECT 1 FROM found t JOIN @relationship r ON r.target = t.id) AS used),
gone AS (
  DELETE FROM @twin t USING found f, used u WHERE t.id = f.id AND NOT u.used RETURNING t.id),
facts AS (
  UPDATE @graph SET twins = twins - 1, content = content - f.size FROM found f, gone)
SELECT u.used, f.size, (SELECT position IS NULL FROM @interface i WHERE i.id = f.model)
FROM found f, used u"""
_HAS_RELATIONSHIPS: Final = """
SELECT 1 FROM @twin t WHERE t.dt_id = %s
  AND (EXISTS (SELECT 1 FROM @relationship r WHERE r.source = t.id)
    OR EXISTS (SELECT 1 FROM @relationship r WHERE r.target = t.id))"""
_DELETE_RELATIONSHIP: Final = """
WITH gone AS (
  DELETE FROM @relationship
  WHERE source = (SELECT id FROM @twin WHERE dt_id = %s) AND relationship_id = %s
  RETURNING octet_length(document) AS size)
UPDATE @graph SET content = content - gone.size FROM gone RETURNING gone.size"""
_DELETE_EVENTS: Final = """
WITH gone AS (
  DELETE FROM @event WHERE position IN (
    SELECT position FROM @event WHERE position <= %s ORDER BY position LIMIT %s)
  RETURNING position)
SELECT count(*) FROM gone"""
_FORGET_MOMENT: Final = "UPDATE @graph SET last_moment = 0"
_LARGE_DRAFT: Final = 4 * 1024 * 1024
_UNKNOWN: Final = object()


class _Missing(BaseException):
    """Ends a write function that is run only to find out what it reads first."""


@dataclass(slots=True)
class _Wanted:
    """What write functions read first."""

    twins: dict[str, None]
    relationships: dict[tuple[str, str], None]


class PostgresTransaction(PostgresSession, GraphTransaction):
    """The write view of a batch; begins with its first read, which also takes the row of facts.

    `failure` is the error of a statement, after which the server takes no more of them. `sent`
    counts the changes that the server has. `appends` says whether it has events.
    """

    def __init__(
        self,
        home: Home,
        settings: PostgresSettings,
        names: InterfaceNames | None,
    ) -> None:
        super().__init__(home, standbys=False)
        self._depth = 1  # a snapshot inside is the transaction itself
        self._settings = settings
        self._facts: Facts | None = None
        self.known_names = names
        self._draft = Draft()
        self._flushed = 0
        self._twins: dict[str, StoredDocument | None] = {}
        self._models: dict[str, int | None] = {}
        self._relationships: dict[tuple[str, str], StoredDocument | None] = {}
        self.ids: dict[str, int] = {}
        self._wanted: _Wanted | None = None
        self._read_until: float | None = None
        self.failure: BaseException | None = None
        self.sent = 0
        self.appends = False

    # --- the transaction ------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        """The facts as this transaction has left them."""
        if self._facts is None:
            self._run([])
        assert self._facts is not None  # noqa: S101  # `_note_opening` sets it
        return self._facts

    @property
    def names(self) -> InterfaceNames:
        """The interfaces, read again when the models have changed."""
        version = self.facts.model_version
        if self.known_names is None or self.known_names.version != version:
            rows: dict[str, int] = dict(self._run([(qualify(_INTERFACES, self.schema), ())])[-1])
            back = {row: dtmi for dtmi, row in rows.items()}
            self.known_names = InterfaceNames(version, rows, back)
        return self.known_names

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """The transaction is its own snapshot: reads inside see its writes.

        The deadline is that of statements of the compiler.
        """
        outer = self._read_until
        if deadline is not None:
            self._read_until = deadline if outer is None else min(deadline, outer)
        try:
            yield
        finally:
            self._read_until = outer

    def read_ahead(self, functions: Sequence[WriteFunction[object]]) -> None:
        """Begin, and read in one trip what these functions read first.

        PERF: each is run up to its first read, which for all writes of one twin or relationship is
        that twin or relationship, and again later. A trip for each costs more: 16 patches took
        twice as long.
        """
        self._wanted = wanted = _Wanted({}, {})
        try:
            for function in functions:
                mark = self._draft.mark()
                with suppress(_Missing, Exception):
                    function(self)
                self._draft.undo(mark)
        finally:
            self._wanted = None
        statements: list[Statement] = []
        if wanted.twins:
            statements.append((qualify(_TWINS, self.schema), ([*wanted.twins],)))
        if wanted.relationships:
            keys = split_keys([*wanted.relationships])
            statements.append((qualify(_RELATIONSHIPS, self.schema), keys))
        found = iter(self._run(statements))
        if wanted.twins:
            self._note_twins(wanted.twins, next(found))
        if wanted.relationships:
            self._note_relationships(wanted.relationships, next(found))

    def _note_twins(self, twin_ids: Iterable[str], rows: Sequence[Row]) -> None:
        """Keep what the rows of `_TWINS` say of these twins."""
        self._twins.update(dict.fromkeys(twin_ids))
        self._models.update(dict.fromkeys(twin_ids))
        for twin_id, etag, text, model, row in rows:
            self._twins[twin_id], self._models[twin_id] = build_stored(etag, text), model
            self.ids[twin_id] = row

    def _note_relationships(self, keys: Iterable[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Keep what the rows of `_RELATIONSHIPS` say of these relationships."""
        self._relationships.update(dict.fromkeys(keys))
        for source_id, relationship_id, etag, text in rows:
            self._relationships[source_id, relationship_id] = build_stored(etag, text)

    @property
    def is_large(self) -> bool:
        """Whether so much is put that it should be committed before others put more."""
        return self._flushed + self._draft.size > _LARGE_DRAFT

    def mark(self) -> Mark:
        """Return what `undo` needs, as long as nothing is `sent` meanwhile."""
        return self._draft.mark()

    def undo(self, mark: Mark) -> None:
        """Take back what was changed after the mark."""
        self._draft.undo(mark)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Take back all changes that are made inside, on the server too, if they raise."""
        self.flush()
        before = replace(self.facts)
        self.change("SAVEPOINT guarded")
        try:
            yield
        except BaseException:
            if self.failure is None:
                self._draft.clear()
                self._forget_reads()
                self._facts = before
                self._run([("ROLLBACK TO SAVEPOINT guarded", ())])
            raise
        self.flush()
        self._run([("RELEASE SAVEPOINT guarded", ())])

    def flush(self) -> None:
        """Send the draft."""
        if self._draft.is_empty():
            return
        statements = self._build_statements()
        counted = bool(self._draft.twins or self._draft.relationships)
        found = self._run(statements)
        self.sent += 1
        self._flushed += self._draft.size
        facts, events = self.facts, self._draft.events
        if counted:
            facts.twins, facts.content = [rows for rows in found if rows][-1][0]
        if events:
            facts.last_position += len(events)
            facts.last_moment = max(facts.last_moment, *(each.moment for each in events))
        self._draft.clear()
        self._forget_reads()

    def commit(self, writer: str, batch: int) -> None:
        """Send the rest of the draft and commit, in one trip; do nothing where nothing changed.

        Raises `psycopg.Error`; if that is of a lost connection, it may have taken effect.
        """
        if self._draft.is_empty() and not self.sent:
            return
        statements = [
            *self._build_statements(),
            *([] if batch > 1 else [(qualify(_FORGET_WRITERS, self.schema), ())]),
            (qualify(_NOTE_BATCH, self.schema), (writer, batch)),
            ("COMMIT", ()),
        ]
        assert self._connection is not None  # noqa: S101  # `facts` took it
        with watching_standbys(self._connection):
            self._send(statements, once=False)

    def close(self) -> None:
        """End the transaction, which takes back what is not committed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if is_worn(self.failure):
                connection.close()  # and with it the others, which will be no better
                self._source.give(connection)
            else:
                self._source.end(connection)

    def change(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a statement that changes something, after what is in the draft."""
        self.flush()
        self.sent += 1
        return self._run([(qualify(sql, self.schema), bindings)])[-1]

    def _build_statements(self) -> list[Statement]:
        rows = self.names.rows if self._draft.twins else {}
        built = self._draft.build_statements(self.facts, rows, self)
        return [(qualify(sql, self.schema), bindings) for sql, bindings in built]

    def is_new_twin(self, record: TwinRecord) -> bool:
        """Whether it was looked for, and not found."""
        return self._twins.get(record.twin_id, _UNKNOWN) is None

    def is_new_relationship(self, record: RelationshipRecord) -> bool:
        """Whether it was looked for and not found, and both its ends were."""
        key = record.source_id, record.relationship_id
        is_new = self._relationships.get(key, _UNKNOWN) is None
        return is_new and record.source_id in self.ids and record.target_id in self.ids

    def _forget_reads(self) -> None:
        self._twins.clear()
        self._models.clear()
        self._relationships.clear()
        self.ids.clear()

    def _open_statements(self, connection: Connection) -> list[Statement]:
        settings = self._settings
        timeout = _TIMEOUT if _has_timeout(connection) else _IDLE_TIMEOUT
        waits = (
            str(int(settings.turn_timeout * 1000)),
            timeout,
            str(int(settings.idle_timeout * 1000)),
        )
        relaxed = settings.durability == "relaxed"
        return [
            (_BEGIN, ()),
            (qualify(_PREPARE, self.schema), (*waits, relaxed)),
        ]

    def _note_opening(self, connection: Connection, found: list[list[Row]]) -> None:
        if not found[-1]:
            raise StorageError("The graph has lost its row of facts.")
        *facts, least = found[-1][0]
        check_least(self.schema, least)
        self._facts = Facts(*facts)
        if not _has_timeout(connection):
            # NOTE: a pipeline of psycopg ends with a Flush, which switches the server's timer of
            # idle transactions off. The next command switches it on.
            connection.execute("SELECT 1")

    def _fail(self, error: BaseException) -> NoReturn:
        self.failure = error
        super()._fail(error)

    def _run(self, statements: Sequence[Statement], *, once: bool = False) -> list[list[Row]]:
        if self._wanted is not None:
            raise _Missing
        return super()._run(statements, once=once)

    def _send(
        self, statements: Sequence[Statement], *, once: bool, binary: bool = True
    ) -> list[list[Row]]:
        try:
            return super()._send(statements, once=once, binary=binary)
        except StorageMoved as moved:
            self.failure = moved
            raise

    def _free(self) -> list[Statement]:
        return []  # a write has few rows to read, by their keys

    # --- statements of the compiler -------------------------------------------------------------

    @property
    def is_for_engines(self) -> bool:
        """Always: what is in the draft is sent before each read."""
        return True

    def _select(
        self, wanted: Sequence[Statement], translate: Translate | None, *, once: bool
    ) -> list[Row]:
        """Plan statements of the compiler as the server finds best; what a cursor yields is so."""
        if translate is None:
            return super()._select(wanted, None, once=once)
        if self._wanted is not None:
            raise _Missing
        self.flush()
        if self._facts is None:
            self._run([])  # NOTE: an error below must not take back the begin of the transaction
        limits = self._measure_time(), f'"{self.schema}"'
        begin = [(GUARD, ()), (qualify(FREE_LIMITED, self.schema), limits)]
        end = [(_BIND, ()), (_UNLIMIT, ()), (UNGUARD, ())]
        try:
            found = self._send([*begin, *wanted, *end], once=once, binary=False)
        except psycopg.Error as error:
            known = translate(error)
            if known is None and isinstance(error, pg.QueryCanceled):
                known = build_error(error)
            if known is None:
                self._fail(error)
            self._take_back()
            raise known from error
        self._note_free(found[1:2])
        return found[len(begin) + len(wanted) - 1]

    def _measure_time(self) -> str:
        """Return the milliseconds that a statement may take, 0 for any number."""
        if self._read_until is None:
            return "0"
        left = self._read_until - time.monotonic()
        if left <= 0:
            raise QueryTimeout(LATE)
        return str(max(int(left * 1000), 1))

    # --- reads ----------------------------------------------------------------------------------

    def read_all(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows, those of the draft included."""
        self.flush()
        return super().read_all(sql, bindings)

    def iterate(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Yield the rows, those of the draft included."""
        self.flush()
        yield from super().iterate(sql, bindings)

    def read_schema_version(self) -> int:
        """The number of the last change of models, this transaction's included."""
        return self.facts.model_version

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        if (put := self._draft.twins.get(twin_id)) is not None:
            return StoredDocument(put.etag, put.body)
        if twin_id not in self._twins:
            if self._wanted is not None:
                self._wanted.twins[twin_id] = None
            self._note_twins((twin_id,), self._find(_TWIN, (twin_id,)))
        return self._twins[twin_id]

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists."""
        return self._find_models([twin_id])[twin_id] is not None

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        return self.read_twin_models([twin_id]).get(twin_id)

    def read_twin_models(self, twin_ids: Sequence[str]) -> Mapping[str, str]:
        """The models of those twins that exist."""
        found, names = self._find_models(twin_ids), self.names.names
        return {x: names[row] for x in twin_ids if (row := found[x]) is not None}

    def read_twin_documents(self, twin_ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The documents of those twins that exist."""
        put = self._draft.twins
        missing = [x for x in dict.fromkeys(twin_ids) if x not in put and x not in self._twins]
        if missing:
            if self._wanted is not None:
                self._wanted.twins.update(dict.fromkeys(missing))
            self._note_twins(missing, self._find(_TWINS, (missing,)))
        found = ((twin_id, self.read_twin(twin_id)) for twin_id in twin_ids)
        return {twin_id: stored for twin_id, stored in found if stored is not None}

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        key = source_id, relationship_id
        if (put := self._draft.relationships.get(key)) is not None:
            return StoredDocument(put.etag, put.body)
        if key not in self._relationships:
            if self._wanted is not None:
                self._wanted.relationships[key] = None
            rows = self._find(_RELATIONSHIP, key)
            self._relationships[key] = build_stored(*rows[0]) if rows else None
        return self._relationships[key]

    def read_relationship_documents(
        self, keys: Sequence[tuple[str, str]]
    ) -> Mapping[tuple[str, str], StoredDocument]:
        """The documents of those relationships that exist."""
        put, known = self._draft.relationships, self._relationships
        missing = [key for key in dict.fromkeys(keys) if key not in put and key not in known]
        if missing:
            if self._wanted is not None:
                self._wanted.relationships.update(dict.fromkeys(missing))
            rows = self._find(_RELATIONSHIPS, split_keys(missing))
            self._note_relationships(missing, rows)
        found = ((key, self.read_relationship(*key)) for key in keys)
        return {key: stored for key, stored in found if stored is not None}

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """The entry's body."""
        if (kind, key) in self._draft.entries:
            return self._draft.entries[kind, key]
        rows = self._find(_ENTRY, (kind, key))
        return rows[0][0] if rows else None

    def count_twins(self) -> int:
        """How many twins there are."""
        self._count_draft()
        return self.facts.twins + self._draft.added

    def measure_content(self) -> int:
        """The bytes of the documents of twins and relationships."""
        self._count_draft()
        return self.facts.content + self._draft.grown

    def _count_draft(self) -> None:
        if not self._draft.is_counted:
            self.flush()

    def _find(self, sql: str, bindings: Bindings) -> list[Row]:
        """Rows that the draft has nothing of."""
        return self._run([(qualify(sql, self.schema), bindings)])[-1]

    def _find_models(self, twin_ids: Sequence[str]) -> dict[str, int | None]:
        """The rows of the models of these twins, None for those that do not exist."""
        missing = [twin_id for twin_id in twin_ids if twin_id not in self._models]
        if missing:
            rows = self._find(_TWIN_MODELS, (missing,))
            self._models.update(dict.fromkeys(missing))
            for twin_id, model, row in rows:
                self._models[twin_id], self.ids[twin_id] = model, row
        return self._models

    # --- twins ----------------------------------------------------------------------------------

    def put_twin(self, record: TwinRecord) -> None:
        """Create or replace a twin; the name of its interface becomes known."""
        if record.model_id not in self.names.rows:
            interfaces.write_name(self, record.model_id)
        row = self.names.rows[record.model_id]
        self._count_twin(record)
        self._draft.put(self._draft.twins, record.twin_id, record)
        self._draft.put(self._models, record.twin_id, row)
        self._keep_small()

    def put_twins(self, records: Sequence[TwinRecord]) -> None:
        """Create or replace twins, in statements of many rows."""
        for record in records:
            self.put_twin(record)

    def _count_twin(self, record: TwinRecord) -> None:
        draft = self._draft
        before: Any = draft.twins.get(record.twin_id)
        if before is None:
            before = self._twins.get(record.twin_id, _UNKNOWN)
        self._count(before, len(record.body))
        if before is None:
            draft.added += 1

    def _count(self, before: Any, size: int) -> None:
        self._draft.size += size
        if before is _UNKNOWN:
            self._draft.is_counted = False
        else:
            self._draft.grown += size - (len(before.body) if before is not None else 0)

    def _keep_small(self) -> None:
        """Send the draft when it is large, so that the memory of a batch is bounded."""
        if self._draft.size > _LARGE_DRAFT:
            self.flush()

    def delete_twin(self, twin_id: str) -> None:
        """Delete a twin without relationships."""
        rows = self.change(_DELETE_TWIN, (twin_id,))
        if not rows:
            raise TwinNotFound(twin_id)
        used, size, of_deleted_model = rows[0]
        if used:
            raise RelationshipsNotDeleted(
                f"Twin {twin_id} has active relationships. Delete them before the twin."
            )
        self.facts.twins -= 1
        self.facts.content -= size
        self._twins[twin_id] = self._models[twin_id] = None
        self.ids.pop(twin_id, None)
        if of_deleted_model:
            interfaces.delete_unnamed(self)

    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship starts or ends at the twin."""
        return self.read_one(_HAS_RELATIONSHIPS, (twin_id,)) is not None

    # --- relationships --------------------------------------------------------------------------

    def put_relationship(self, record: RelationshipRecord) -> None:
        """Create or replace a relationship between two twins that exist."""
        self.put_relationships([record])

    def put_relationships(self, records: Sequence[RelationshipRecord]) -> None:
        """Create or replace relationships, in statements of many rows."""
        ends = dict.fromkeys(x for each in records for x in (each.source_id, each.target_id))
        found = self._find_models([*ends])
        for record in records:
            if found[record.source_id] is None:
                raise TwinNotFound(record.source_id)
            if found[record.target_id] is None:
                raise TargetTwinNotFound(record.target_id)
        draft = self._draft
        for record in records:
            key = record.source_id, record.relationship_id
            before: Any = draft.relationships.get(key)
            if before is None:
                before = self._relationships.get(key, _UNKNOWN)
            self._count(before, len(record.body))
            draft.put(draft.relationships, key, record)
            self._keep_small()

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        rows = self.change(_DELETE_RELATIONSHIP, (source_id, relationship_id))
        if not rows:
            raise RelationshipNotFound(source_id, relationship_id)
        self.facts.content -= rows[0][0]
        self._relationships[source_id, relationship_id] = None

    # --- models ---------------------------------------------------------------------------------

    def put_models(self, records: Sequence[ModelRecord]) -> None:
        """Store new models."""
        interfaces.write_models(self, records)

    def set_decommissioned(self, model_id: str, decommissioned: bool) -> None:
        """Set the flag."""
        interfaces.write_decommissioned(self, model_id, decommissioned)

    def delete_models(self, model_ids: Sequence[str]) -> None:
        """Delete models together."""
        interfaces.delete_models(self, model_ids)

    # --- the service's own ----------------------------------------------------------------------

    def put_entry(self, kind: str, key: str, body: bytes) -> None:
        """Create or replace an entry."""
        self._draft.size += len(body)
        self._draft.put(self._draft.entries, (kind, key), body)
        self._keep_small()

    def delete_entry(self, kind: str, key: str) -> bool:
        """Delete an entry."""
        if self.read_entry(kind, key) is None:
            return False
        self._draft.put(self._draft.entries, (kind, key), None)
        return True

    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Append events after the others."""
        self.appends = True
        self._draft.events += events
        self._draft.size += sum(len(each.body) for each in events)
        self._keep_small()

    def delete_events(self, *, up_to: int, limit: int) -> int:
        """Delete the oldest events."""
        count: int = self.change(_DELETE_EVENTS, (up_to, limit))[0][0]
        is_empty = count < limit and up_to >= self.facts.last_position
        if is_empty and self.facts.last_moment:
            # NOTE: what comes next may be the history of another graph, from before.
            self.change(_FORGET_MOMENT)
            self.facts.last_moment = 0
        return count


def _has_timeout(connection: Connection) -> bool:
    """Whether the server can bound the time of a transaction: from PostgreSQL 17."""
    return connection.info.server_version >= 170000
