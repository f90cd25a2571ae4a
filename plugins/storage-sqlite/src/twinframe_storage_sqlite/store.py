"""One graph in one SQLite file: opening, identity, sessions, writing. It compiles no query."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import apsw

from twinframe.errors import StorageBusy, StorageDamaged, StorageError, TwinframeError
from twinframe.storage.base import (
    GraphStore,
    GraphTransaction,
    Outcome,
    Placement,
    StoreTraits,
    Work,
)
from twinframe.storage.indexes import PropertyIndexes
from twinframe_storage_sqlite import indexes
from twinframe_storage_sqlite.commit import commit_works
from twinframe_storage_sqlite.connection import open_reader, open_writer, verify_library
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.files import build_files
from twinframe_storage_sqlite.janitor import WalJanitor
from twinframe_storage_sqlite.opening import open_graph, open_settled, open_turn
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.transaction import SqliteTransaction
from twinframe_storage_sqlite.turn import TurnLock
from twinframe_storage_sqlite.verify import verify_graph


class SqliteGraphStore(GraphStore, PropertyIndexes):
    """The graph named `graph` in `<directory>/<graph>.db`, shared by any number of processes."""

    traits = StoreTraits(point_reads=Placement.INLINE, largest_batch=128)

    def __init__(self, settings: SqliteSettings, graph: str) -> None:
        self.settings = settings
        self.files = build_files(settings.directory, graph)
        self.scratch = self.files.scratch
        self._path = str(self.files.database)
        self._writing = threading.Lock()
        self._writer: SqliteTransaction | None = None
        self._turn: TurnLock | None = None
        self._janitor: WalJanitor | None = None
        self._damage: str | None = None

    def open(self) -> None:
        """Open or create the file, bring it to the newest schema and check that it is ours.

        `ConfigurationError` for a too old SQLite, a file of a newer release or a place that cannot
        be used; `StorageDamaged` for a file that is damaged, foreign, emptied or gone.
        """
        verify_library(apsw.sqlite_lib_version())
        turn = open_turn(self.files)
        try:
            connection = open_settled(self.files, self.settings)
            if connection is None:
                with turn.hold(self.settings.turn_timeout):
                    connection = open_graph(self.files, self.settings)
            self._writer = SqliteTransaction(connection)
        except BaseException:
            turn.close()
            raise
        self._turn = turn
        self._janitor = WalJanitor(self.files.wal, self.settings.wal_limit_bytes)
        self._create_declared(connection)

    def close(self) -> None:
        """Close the writing connection and the locks; the last process's close empties the WAL."""
        with self._writing:
            if self._writer is not None:
                self._writer.close()
            if self._turn is not None:
                self._turn.close()
            self._writer = self._turn = self._janitor = None

    def session(self) -> SqliteSession:
        """A connection of its own, which cannot write."""
        try:
            return SqliteSession(open_reader(self._path, self.settings))
        except EngineError as error:
            raise build_error(error, self._path) from error

    def write(self, works: Sequence[Work[object]]) -> Sequence[Outcome[object]]:
        """Run the works and commit them together, when this process has the turn."""
        with self._writing:
            try:
                return self._write(works)
            except TwinframeError as error:
                return [Outcome(error=error)] * len(works)

    def verify(self) -> Sequence[str]:
        """SQLite's integrity and foreign key checks, and that closure and documents are sound."""
        session = self.session()
        session.connection.authorizer = None  # the checks are pragmas
        try:
            return verify_graph(session.connection)
        finally:
            session.close()

    # --- indexes on properties ------------------------------------------------------------------

    def list_indexes(self) -> Sequence[str]:
        """The indexed properties."""
        session = self.session()
        try:
            return indexes.list_indexes(session.connection)
        finally:
            session.close()

    def create_index(self, name: str) -> bool:
        """Make the index in one transaction; writers of all processes wait for it."""
        return bool(self._change(lambda connection: indexes.create_index(connection, name)))

    def drop_index(self, name: str) -> None:
        """Drop the index."""
        self._change(lambda connection: indexes.drop_index(connection, name))

    def _change(self, change: Callable[[apsw.Connection], object]) -> object:
        def work(transaction: GraphTransaction) -> object:
            assert isinstance(transaction, SqliteTransaction)  # noqa: S101  # our own
            return change(transaction.connection)

        (outcome,) = self.write([work])
        if outcome.error is not None:
            raise outcome.error
        return outcome.result

    def _create_declared(self, connection: apsw.Connection) -> None:
        """What the settings declare and the file lacks. Another process may be busy making it."""
        there = indexes.list_indexes(connection)
        for name in self.settings.indexes:
            if name not in there:
                with suppress(StorageBusy):
                    self.create_index(name)

    # --- writing ------------------------------------------------------------------------------

    def _write(self, works: Sequence[Work[object]]) -> Sequence[Outcome[object]]:
        if self._turn is None or self._janitor is None:
            raise StorageError(f"The store {self._path} is not open.")
        if self._damage is not None:
            raise StorageDamaged(self._damage)
        writer = self._writer or self._open_writer()
        with self._turn.hold(self.settings.turn_timeout):
            outcomes = commit_works(writer, works)
            self._janitor.tidy(writer.connection)
        self._note_failures(writer, outcomes)
        return outcomes

    def _open_writer(self) -> SqliteTransaction:
        try:
            self._writer = SqliteTransaction(open_writer(self._path, self.settings, create=False))
        except EngineError as error:
            raise build_error(error, self._path) from error
        return self._writer

    def _note_failures(
        self, writer: SqliteTransaction, outcomes: Sequence[Outcome[object]]
    ) -> None:
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        for error in errors:
            if isinstance(error, StorageDamaged):
                self._damage = error.message  # no further write makes it worse
        if any(isinstance(error.__cause__, apsw.IOError) for error in errors):
            writer.close()  # an I/O error may stick to a connection: the next write opens anew
            self._writer = None
