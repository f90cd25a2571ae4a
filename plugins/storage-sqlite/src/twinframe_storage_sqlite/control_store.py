"""The store of a control plane's records in one SQLite file, for any declared kinds of record."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Final

from twinframe.storage.base import Outcome, Placement, StoreTraits
from twinframe.storage.control import ControlStore, ControlWriteFunction, RecordKind
from twinframe_storage_sqlite.connection import open_reader
from twinframe_storage_sqlite.control_session import (
    RecordTables,
    SqliteControlSession,
    SqliteControlTransaction,
)
from twinframe_storage_sqlite.control_tables import holds_tables, write_tables
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.files import build_files
from twinframe_storage_sqlite.opening import FileSchema
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.verify import verify_records
from twinframe_storage_sqlite.writing import FileWriter

CONTROL_ID: Final = 0x5457434C
"""`TWCL` in the file's header: control records of twinframe. Migration 1 sets it."""

CONTROL_SCHEMA: Final = FileSchema(CONTROL_ID, "control", {"version": 0})


class SqliteControlStore(ControlStore):
    """The records named `name` in `<directory>/<name>.db`, shared by any number of processes."""

    traits = StoreTraits(point_reads=Placement.INLINE, largest_batch=128)

    def __init__(self, settings: SqliteSettings, name: str) -> None:
        self.settings = settings
        self.files = build_files(settings.directory, name)
        self._path = str(self.files.database)
        self._tables = RecordTables()
        self._writer = FileWriter(
            self.files, settings, lambda found: SqliteControlTransaction(found, self._tables)
        )
        self._kinds: Sequence[RecordKind] = ()

    def open(self, kinds: Sequence[RecordKind]) -> None:
        """Open or create the file and migrate it to the newest schema, with tables for these kinds.

        Raises `ConfigurationError` and `StorageDamaged` as for a graph's file.
        """
        self._tables = RecordTables(kinds)
        self._kinds = tuple(kinds)
        connection = self._writer.open(CONTROL_SCHEMA)
        try:
            # NOTE: as with migrations, a process that has nothing to change does not wait for the
            # lock.
            if not holds_tables(connection, self._kinds):
                self._write_tables()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the writing connection and the locks; the last process's close empties the WAL."""
        self._writer.close()

    def session(self) -> SqliteControlSession:
        """Open a connection of its own, which cannot write."""
        try:
            return SqliteControlSession(open_reader(self._path, self.settings), self._tables)
        except EngineError as error:
            raise build_error(error, self._path) from error

    def write(self, functions: Sequence[ControlWriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions and commit them together, under the writer lock."""
        return self._writer.write(functions)

    def verify(self) -> Sequence[str]:
        """Check the log's checksums, SQLite's integrity, the declared tables, and all records."""
        with closing(self.session()) as session:
            session.connection.authorizer = None  # the checks are pragmas
            faults = self._writer.find_log_faults(session.connection)
            return faults + verify_records(session.connection, self._kinds)

    def _write_tables(self) -> None:
        def apply(transaction: SqliteControlTransaction) -> None:
            write_tables(transaction.connection, self._kinds)

        (outcome,) = self._writer.write([apply])
        if outcome.error is not None:
            raise outcome.error
