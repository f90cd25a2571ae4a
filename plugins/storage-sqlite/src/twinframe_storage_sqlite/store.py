"""The graph store in one SQLite file: opening, sessions, writing, backups and property indexes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import apsw

from twinframe.errors import StorageBusy
from twinframe.storage.backups import Backups
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    Outcome,
    Placement,
    StoreTraits,
    WriteFunction,
)
from twinframe.storage.cpu_scheduler import share_scheduler
from twinframe.storage.epochs import renew_epoch
from twinframe.storage.indexes import IndexReport, IndexUpkeep, PropertyIndexes
from twinframe_storage_sqlite.connection import open_reader
from twinframe_storage_sqlite.copies import install_copy, prepare_draft, remove_files, write_copy
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.files import build_graph_files
from twinframe_storage_sqlite.index_notes import IndexNotes
from twinframe_storage_sqlite.indexing import indexes, upkeep
from twinframe_storage_sqlite.indexing.reports import report_indexes
from twinframe_storage_sqlite.opening import FileSchema
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.statements import SqlValue
from twinframe_storage_sqlite.states import StateSession
from twinframe_storage_sqlite.transaction import SqliteTransaction
from twinframe_storage_sqlite.verify import verify_graph
from twinframe_storage_sqlite.writing import FileWriter

APPLICATION_ID: Final = 0x54574749
"""`TWGI` in the file's header: a graph instance of twinframe. Migration 1 sets it."""
_HAS_ENTRIES: Final = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'entry'"


class SqliteGraphStore(GraphStore, PropertyIndexes, IndexUpkeep, Backups):
    """The graph named `graph` in `<directory>/<graph>.db`, shared by any number of processes."""

    traits = StoreTraits(point_reads=Placement.INLINE, largest_batch=128, followed=True)

    def __init__(self, settings: SqliteSettings, graph: str) -> None:
        self.settings = settings
        self.files = build_graph_files(settings.directory, graph)
        self.scratch = self.files.scratch
        self.beside = self.files.beside
        self._path = str(self.files.database)
        self._writer = FileWriter(self.files, settings, SqliteTransaction)
        self._notes = IndexNotes()

    def open(self) -> None:
        """Open or create the file, migrate it to the newest schema and check that it is a graph's.

        Raises `ConfigurationError` for a too old SQLite, a file of a newer release or an unusable
        place; `StorageDamaged` for a file that is damaged, foreign, emptied or gone.
        """
        facts: dict[str, SqlValue] = {
            "secret": secrets.token_bytes(32),
            "model_version": 0,
            "last_position": 0,
        }
        connection = self._writer.open(FileSchema(APPLICATION_ID, "", facts))
        self._create_declared(connection)

    def close(self) -> None:
        """Close the writing connection and the locks; the last process's close empties the WAL."""
        self._writer.close()

    def session(self) -> StateSession:
        """Open a connection of its own, which cannot write."""
        scheduler = share_scheduler(self.settings.long_statements)
        notes = None if self.settings.automatic_indexes == "off" else self._notes
        connection = self._open_reader(self._path)
        return StateSession(connection, scheduler, notes, self._open_copy)

    def _open_reader(self, path: str) -> apsw.Connection:
        try:
            return open_reader(path, self.settings)
        except EngineError as error:
            raise build_error(error, path) from error

    def _open_copy(self, path: str) -> SqliteSession:
        """Open the file of an earlier state."""
        return SqliteSession(
            self._open_reader(path), share_scheduler(self.settings.long_statements)
        )

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions and commit them together, under the writer lock."""
        return self._writer.write(functions)

    def verify(self) -> Sequence[str]:
        """Check the log's checksums, SQLite's integrity and foreign keys, closure and documents."""
        with closing(self.session()) as session:
            session.connection.authorizer = None  # the checks are pragmas
            faults = self._writer.find_log_faults(session.connection)
            return faults + verify_graph(session.connection)

    def remove(self, timeout: float) -> None:
        """Remove all files of the graph."""
        if not self.files.database.parent.is_dir():
            return
        with self._writer.use.alone(timeout):
            remove_files(self.files)
            self._writer.use.forget()

    # --- backups --------------------------------------------------------------------------------

    def back_up(self, target: Path) -> None:
        """Copy the file by SQLite in one step, without blocking others."""
        with closing(self.session()) as session:
            write_copy(session.connection, target, self.settings.busy_timeout)

    def restore(self, source: Path, timeout: float) -> None:
        """Verify a copy of the backup next to the file, then swap the two."""
        self.files.use.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._writer.use.alone(timeout):
            checksums = self.settings.checksums
            instance = prepare_draft(
                self.files, source, _find_faults, _renew_epoch, checksums=checksums
            )
            install_copy(self.files, self.settings, instance)

    def measure(self) -> int:
        """Return the size of the file and its log."""
        sizes = []
        for path in (self.files.database, self.files.wal):
            with suppress(FileNotFoundError):
                sizes.append(path.stat().st_size)
        return sum(sizes)

    # --- indexes on properties ------------------------------------------------------------------

    def list_indexes(self) -> Sequence[str]:
        """The indexed properties."""
        with closing(self.session()) as session:
            return indexes.list_indexes(session.connection)

    def report_indexes(self) -> Sequence[IndexReport]:
        """Report all indexes on properties, and those that queries asked for."""
        with closing(self.session()) as session:
            session.connection.authorizer = None  # sizes are read from a table of SQLite's own
            return report_indexes(session, self.settings)

    def create_index(self, name: str) -> bool:
        """Create the index in one transaction; writers of all processes wait for it."""
        return bool(self._change(lambda connection: indexes.create_index(connection, name)))

    def drop_index(self, name: str) -> None:
        """Drop the index. An automatic one comes again when queries ask for it."""
        self._change(lambda connection: indexes.drop_index(connection, name))

    def is_index_upkeep_due(self, session: GraphSession) -> bool:
        """Return whether what queries did since the last look is worth another."""
        assert isinstance(session, SqliteSession)  # noqa: S101  # our own
        notes = self._notes
        if not notes.is_due:
            return False
        is_search = notes.is_search_due()
        if any(note.is_worth_a_look for note in notes.peek().values()):
            return True
        if (notes.peek() or is_search) and upkeep.has_remains(session):
            return True
        notes.take()
        return False

    def plan_index_upkeep(self, session: GraphSession) -> Sequence[WriteFunction[None]]:
        """Plan which automatic indexes are made and dropped."""
        assert isinstance(session, SqliteSession)  # noqa: S101  # our own
        notes = self._notes.take()
        if self.settings.automatic_indexes == "off":
            return upkeep.plan_removal(session)
        return upkeep.plan_upkeep(session, self.settings, notes, time.time())

    def _change(self, change: Callable[[apsw.Connection], object]) -> object:
        def apply(transaction: GraphTransaction) -> object:
            assert isinstance(transaction, SqliteTransaction)  # noqa: S101  # our own
            return change(transaction.connection)

        (outcome,) = self.write([apply])
        if outcome.error is not None:
            raise outcome.error
        return outcome.result

    def _create_declared(self, connection: apsw.Connection) -> None:
        """Create the declared indexes that the file lacks. Another process may be creating them."""
        there = indexes.list_indexes(connection)
        for name in self.settings.indexes:
            if name not in there:
                with suppress(StorageBusy):
                    self.create_index(name)


def _find_faults(connection: apsw.Connection) -> Sequence[str]:
    """Return the faults of a file that is to become a graph's."""
    if connection.pragma("application_id") != APPLICATION_ID:
        return ["it is a database of another application"]
    return verify_graph(connection)


def _renew_epoch(connection: apsw.Connection) -> None:
    """NOTE: a backup from before there were entries has no events whose ids could be kept."""
    if connection.execute(_HAS_ENTRIES).get:
        renew_epoch(SqliteTransaction(connection))
