"""The writer of one database file: its writer lock, its connection, and the handling of failures.

It runs write functions over a transaction class of the caller's choice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Generic, TypeVar

import apsw

from twinframe.errors import ConfigurationError, StorageDamaged, StorageError, TwinframeError
from twinframe.storage.base import Outcome
from twinframe.storage.writer_lock import WriterLock
from twinframe_storage_sqlite.commit import commit_batch
from twinframe_storage_sqlite.connection import open_writer, verify_directory, verify_library
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.files import DatabaseFiles, keep_ballast
from twinframe_storage_sqlite.opening import (
    FileSchema,
    open_database,
    open_settled,
    open_writer_lock,
)
from twinframe_storage_sqlite.remains import find_broken_frame, read_log, settle_remains
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.statements import StatementRunner
from twinframe_storage_sqlite.using import UseLock

X = TypeVar("X", bound=StatementRunner)
_COMMITS_PER_LOOK: Final = 16
_PAUSE: Final = 1.0
_WAIT_FOR_READERS_MS: Final = 20
_log = logging.getLogger(__name__)


class FileWriter(Generic[X]):
    """Writes one file, excluding all other processes; used by one thread at a time.

    `build` makes the write view over the writing connection.
    """

    def __init__(
        self, files: DatabaseFiles, settings: SqliteSettings, build: Callable[[apsw.Connection], X]
    ) -> None:
        self._files = files
        self._settings = settings
        self._build = build
        self._path = str(files.database)
        self._writing = threading.Lock()
        self._transaction: X | None = None
        self.use = UseLock(files.use)
        self._writer_lock: WriterLock | None = None
        self._janitor: WalJanitor | None = None
        self._damage: str | None = None

    def open(self, schema: FileSchema) -> apsw.Connection:
        """Open or create the file, migrate it to the newest schema and check that it is of this
        kind.

        Raises `ConfigurationError` for a too old SQLite, a network file system, a file of a newer
        release or an unusable place; `StorageDamaged` for a file that is damaged, foreign, emptied
        or gone.
        """
        verify_library(apsw.sqlite_lib_version())
        verify_directory(self._files.database.parent)
        self._take_use()
        try:
            writer_lock = open_writer_lock(self._files)
            try:
                connection = open_settled(self._files, self._settings, schema)
                if connection is None:
                    with writer_lock.hold(self._settings.turn_timeout):
                        connection = open_database(self._files, self._settings, schema)
                self._transaction = self._build(connection)
            except BaseException:
                writer_lock.close()
                raise
        except BaseException:
            self.use.release()
            raise
        if self._settings.ballast_bytes:
            keep_ballast(self._files.database.parent, self._settings.ballast_bytes)
        self._writer_lock = writer_lock
        self._janitor = WalJanitor(self._files.wal, self._settings.wal_limit_bytes)
        return connection

    def close(self) -> None:
        """Close the writing connection and the locks; the last process's close empties the WAL."""
        with self._writing:
            self._drop_connection()
            if self._writer_lock is not None:
                self._writer_lock.close()
            self._writer_lock = self._janitor = None
            self.use.release()

    def write(self, functions: Sequence[Callable[[X], object]]) -> Sequence[Outcome[object]]:
        """Run the write functions and commit them together, under the writer lock."""
        with self._writing:
            try:
                return self._write(functions)
            except TwinframeError as error:
                return [Outcome(error=error)] * len(functions)

    def find_log_faults(self, connection: apsw.Connection) -> list[str]:
        """List faults of the log in use; `connection` is any to the same file."""
        if self._writer_lock is None:
            return []
        with self._writing, self._writer_lock.hold(self._settings.turn_timeout):
            log = read_log(connection, self._files.wal)
        fault = find_broken_frame(log, connection.pragma("page_size"))
        return [f"{fault}: stop the service, so that the log is emptied"] if fault else []

    def _take_use(self) -> None:
        try:
            self.use.share(self._settings.turn_timeout, self._settle)
        except OSError as error:
            raise ConfigurationError(
                f"Storage__Sqlite__Directory: {self._files.use.parent} cannot be used: "
                f"{error.strerror}."
            ) from error

    def _settle(self) -> None:
        settle_remains(self._files, self._settings)

    def _write(self, functions: Sequence[Callable[[X], object]]) -> Sequence[Outcome[object]]:
        if self._writer_lock is None or self._janitor is None:
            raise StorageError(f"The store {self._path} is not open.")
        if self._damage is not None:
            raise StorageDamaged(self._damage)
        transaction = self._transaction or self._open_connection()
        with self._writer_lock.hold(self._settings.turn_timeout):
            outcomes = commit_batch(transaction, functions)
            self._janitor.tidy(transaction.connection)
        self._note_failures(outcomes)
        return outcomes

    def _open_connection(self) -> X:
        try:
            connection = open_writer(self._path, self._settings, create=False)
        except EngineError as error:
            raise build_error(error, self._path) from error
        self._transaction = self._build(connection)
        return self._transaction

    def _drop_connection(self) -> None:
        if self._transaction is not None:
            self._transaction.connection.close(force=True)
        self._transaction = None

    def _note_failures(self, outcomes: Sequence[Outcome[object]]) -> None:
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        for error in errors:
            if isinstance(error, StorageDamaged):
                self._damage = error.message  # no further write makes it worse
        if any(isinstance(error.__cause__, apsw.IOError) for error in errors):
            self._drop_connection()  # an I/O error may stick: the next write opens a new one


class WalJanitor:
    """Checkpoints the log and truncates its file when it has passed `limit` bytes.

    SQLite's own checkpoints continue; they cannot shrink the file, and do not finish while a reader
    holds an old snapshot. The writer lock must be held: only then is the log not growing.
    """

    def __init__(self, wal: Path, limit: int) -> None:
        self._wal = str(wal)
        self._path = wal
        self._limit = limit
        self._commits = 0
        self._next = 0.0

    def tidy(self, connection: apsw.Connection) -> None:
        """Check the file's size at intervals, and empty the log when it is too large."""
        self._commits += 1
        if self._commits < _COMMITS_PER_LOOK:
            return
        self._commits = 0
        if self.read_size() > self._limit and time.monotonic() >= self._next:
            self._truncate(connection)

    def read_size(self) -> int:
        """Bytes of the log's file."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _truncate(self, connection: apsw.Connection) -> None:
        patience = connection.pragma("busy_timeout")
        connection.set_busy_timeout(_WAIT_FOR_READERS_MS)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            # A reader is in the way, or there is no space to copy into: the next check tries again.
            # The previous commit is durable, so nothing here may fail a write.
            self._next = time.monotonic() + _PAUSE
            _log.warning(
                "%s has %d bytes and cannot be cut: %s", self._wal, self.read_size(), error
            )
        finally:
            connection.set_busy_timeout(patience)
