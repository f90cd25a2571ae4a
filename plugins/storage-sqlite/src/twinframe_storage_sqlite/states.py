"""Writes copies of earlier states, with the tables of the graph, and opens them for statements."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import apsw

from twinframe.errors import StorageError
from twinframe.storage.base import GraphSession, RelationshipRecord, TwinRecord
from twinframe.storage.cpu_scheduler import CpuScheduler
from twinframe.storage.states import EarlierState, StateCopies
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.index_notes import IndexNotes
from twinframe_storage_sqlite.indexing.statistics import put_statistics
from twinframe_storage_sqlite.interfaces import write_extended
from twinframe_storage_sqlite.migrations import apply_migrations, load_migrations
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.statements import Row
from twinframe_storage_sqlite.transaction import SqliteTransaction

T = TypeVar("T")

_AT_ONCE: Final = 500
_MODELS_AT_ONCE: Final = 100
_STEPS_PER_CHECK: Final = 50_000
_PRAGMAS: Final = ("journal_mode = MEMORY", "synchronous = OFF", "cache_size = -8192")
_COUNT: Final = (
    "SELECT (SELECT coalesce(sum(twins), 0) FROM twin_count) "
    "+ (SELECT coalesce(sum(relationships), 0) FROM relationship_count)"
)
_DROPPED: Final = (
    "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL AND (type = 'trigger' "
    "OR type = 'index' AND tbl_name IN ('twin', 'relationship'))"
)
_INDEXES: Final = (
    "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL "
    "AND tbl_name IN ('twin', 'relationship')"
)
_INTERFACES: Final = "SELECT id, dtmi FROM interface"
# PERF: in the order of the rows, which is also that of queries without ORDER BY.
_TWINS: Final = "SELECT id, dt_id, model, etag, document FROM twin ORDER BY id"
_PUT_ROW: Final = "INSERT INTO twin (id, dt_id, model, etag, document) VALUES (?, ?, ?, ?, ?)"
_PUT_TWIN: Final = (
    "INSERT INTO twin (id, dt_id, model, etag, document) "
    "SELECT ?, ?, i.id, ?, jsonb(CAST(? AS TEXT)) FROM interface i WHERE i.dtmi = ?"
)
_EDGES: Final = (
    "SELECT r.id, r.source, r.relationship_id, r.name, r.target, r.etag, r.document, s.dt_id "
    "FROM relationship r CROSS JOIN twin s ON s.id = r.source ORDER BY r.id"
)
_PUT_EDGE_ROW: Final = (
    "INSERT INTO relationship (id, source, relationship_id, name, target, etag, document) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_PUT_EDGE: Final = (
    "INSERT INTO relationship (id, source, relationship_id, name, target, etag, document) "
    "SELECT ?, s.id, ?, ?, t.id, ?, jsonb(CAST(? AS TEXT)) "
    "FROM twin s CROSS JOIN twin t WHERE s.dt_id = ? AND t.dt_id = ?"
)
_COUNTS: Final = (
    "INSERT INTO twin_count (model, twins) SELECT model, count(*) FROM twin GROUP BY model",
    """INSERT INTO relationship_count (name, source_model, target_model, relationships)
    SELECT r.name, s.model, t.model, count(*) FROM relationship r
    JOIN twin s ON s.id = r.source JOIN twin t ON t.id = r.target GROUP BY 1, 2, 3""",
)
_VERSION: Final = "UPDATE meta SET value = ? WHERE key = 'model_version'"
_FACTS: Final = "INSERT INTO meta (key, value) VALUES ('model_version', 0), ('last_position', 0)"
_STATISTICS: Final = "SELECT tbl, idx, stat FROM sqlite_stat1"
_HAS_STATISTICS: Final = "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"


class StateSession(SqliteSession, StateCopies):
    """A session that writes and reads copies; it keeps the one that was read last open."""

    def __init__(
        self,
        connection: apsw.Connection,
        scheduler: CpuScheduler | None,
        notes: IndexNotes | None,
        open_copy: Callable[[str], SqliteSession],
    ) -> None:
        """`open_copy` opens the file of a copy."""
        super().__init__(connection, scheduler, notes)
        self._open_copy = open_copy
        self._copy: SqliteSession | None = None
        self._reads_copy = False

    def count_entities(self) -> int:
        """The sum of the kept counts."""
        count: int = self.read_one(_COUNT)
        return count

    def close(self) -> None:
        """Close the copy, too."""
        self._close_copy()
        super().close()

    def interrupt(self) -> None:
        """Stop the statements on the copy, too."""
        super().interrupt()
        if self._reads_copy and self._copy is not None:
            self._copy.interrupt()

    @contextmanager
    def open_state(self, path: Path) -> Iterator[GraphSession | None]:
        """Open the copy, or go on with the open one."""
        is_there = _touch(path)
        copy = self._copy
        if copy is None or not is_there or copy.connection.filename != str(path):
            self._close_copy()
            copy = self._copy = self._open_there(path) if is_there else None
        self._reads_copy = True
        try:
            yield copy
        finally:
            self._reads_copy = False

    def _open_there(self, path: Path) -> SqliteSession | None:
        try:
            return self._open_copy(str(path))
        except StorageError:
            if path.exists():
                raise
            return None  # another process has just removed it

    def _close_copy(self) -> None:
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.close()

    def write_state(self, path: Path, state: EarlierState, most_bytes: int) -> None:
        """Copy the rows that did not change, and write those that did as they were."""
        with closing(apsw.Connection(str(path))) as connection:
            try:
                # NOTE: its statements are short, but for those that make indexes.
                connection.set_progress_handler(self._is_over, _STEPS_PER_CHECK)
                _StateWriter(self, connection, state).write(most_bytes)
            except EngineError as error:
                raise build_error(error, str(path)) from error


def _touch(path: Path) -> bool:
    """Note that the file is in use; return whether it exists."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


class _StateWriter:
    def __init__(
        self, session: SqliteSession, connection: apsw.Connection, state: EarlierState
    ) -> None:
        self._session = session
        self._connection = connection
        self._state = state

    def write(self, most_bytes: int) -> None:
        connection = self._connection
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
        pages = max(most_bytes // connection.pragma("page_size"), 1)
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
        apply_migrations(connection, load_migrations())
        with connection:
            for kind, name in connection.execute(_DROPPED).fetchall():
                connection.execute(f'DROP {kind} "{name}"').fetchall()
            connection.execute(_FACTS).fetchall()
            self._write_models()
            self._write_twins()
            self._write_relationships()
            self._finish()

    def _write_models(self) -> None:
        transaction, state = SqliteTransaction(self._connection), self._state
        stored: set[str] = set()
        after = 0
        while records := state.read_models(after=after, limit=_MODELS_AT_ONCE):
            transaction.put_models(records)
            stored.update(record.model_id for record in records)
            after = records[-1].position
        # Deleted models that are still named: their twins keep their labels.
        for model_id in sorted(state.read_model_ids() - stored):
            write_extended(transaction, model_id, state.read_ancestors(model_id))

    def _write_twins(self) -> None:
        known = {dtmi: row for row, dtmi in self._connection.execute(_INTERFACES)}
        models = {row: known.get(dtmi) for row, dtmi in self._session.read_all(_INTERFACES)}
        for rows in self._batch(self._session.iterate(_TWINS)):
            changed = self._state.find_changed_twins([row[1] for row in rows])
            same = [(x[0], x[1], models[x[2]], *x[3:]) for x in rows if x[1] not in changed]
            self._put(_PUT_ROW, same)
            ids = {row[1]: row[0] for row in rows}
            self._put_twins((ids[key], each) for key, each in changed.items())
        for batch in self._batch(self._state.iterate_gone_twins()):
            self._put_twins((None, each) for each in batch)

    def _put_twins(self, records: Iterable[tuple[int | None, TwinRecord | None]]) -> None:
        self._put(
            _PUT_TWIN,
            [(row, x.twin_id, x.etag, x.body, x.model_id) for row, x in records if x is not None],
        )

    def _write_relationships(self) -> None:
        for rows in self._batch(self._session.iterate(_EDGES)):
            changed = self._state.find_changed_relationships([(row[7], row[2]) for row in rows])
            self._put(_PUT_EDGE_ROW, [x[:7] for x in rows if (x[7], x[2]) not in changed])
            ids = {(row[7], row[2]): row[0] for row in rows}
            self._put_edges((ids[key], each) for key, each in changed.items())
        for batch in self._batch(self._state.iterate_gone_relationships()):
            self._put_edges((None, each) for each in batch)

    def _put_edges(self, records: Iterable[tuple[int | None, RelationshipRecord | None]]) -> None:
        self._put(
            _PUT_EDGE,
            [
                (row, x.relationship_id, x.name, x.etag, x.body, x.source_id, x.target_id)
                for row, x in records
                if x is not None
            ],
        )

    def _batch(self, items: Iterable[T]) -> Iterator[list[T]]:
        remaining = iter(items)
        while some := list(islice(remaining, _AT_ONCE)):
            self._session.check_deadline()
            yield some

    def _put(self, sql: str, rows: list[Row]) -> None:
        if rows:
            self._connection.executemany(sql, rows).fetchall()

    def _finish(self) -> None:
        """NOTE: the indexes come last: keeping them while writing takes twice as long."""
        for (sql,) in self._session.read_all(_INDEXES):
            self._connection.execute(sql).fetchall()
        for sql in _COUNTS:
            self._connection.execute(sql).fetchall()
        if self._session.read_one(_HAS_STATISTICS):
            for table, index, numbers in self._session.read_all(_STATISTICS):
                put_statistics(self._connection, table, index, numbers)
        version = self._state.read_schema_version()
        self._connection.execute(_VERSION, (version,)).fetchall()
