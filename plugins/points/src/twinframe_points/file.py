"""The SQLite file of a graph's points: its tables, its connections, and its errors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from twinframe.errors import StorageBusy, StorageDamaged, StorageError, StorageFull
from twinframe.runtime.locks import hold_lock, try_acquire_lock
from twinframe.storage.writer_lock import WriterLock
from twinframe_points.settings import PointsSettings

EngineError: Final = (apsw.Error, UnicodeEncodeError)
"""What APSW raises for statements and their bindings."""

VERSION: Final = 1
"""The version of the tables."""
_PAGE_BYTES: Final = 32 * 1024
"""PERF: a block of a day has some KiB, of which a page of 16 KiB leaves a fifth empty."""
_CACHE_KIB: Final = 8 * 1024
_CHECKPOINT_PAGES: Final = 256
_WAL_BYTES: Final = 16 * 1024 * 1024

_TABLES: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # `forgotten` rises whenever ids of series become invalid.
    "INSERT INTO meta VALUES ('forgotten', 0)",
    (
        "CREATE TABLE series (id INTEGER PRIMARY KEY AUTOINCREMENT, twin TEXT NOT NULL, "
        "path TEXT NOT NULL, UNIQUE (twin, path))"
    ),
    # What was written lately, as it came: rows with a greater id are newer. Ids may recur.
    (
        "CREATE TABLE fresh (id INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, "
        "made INTEGER NOT NULL, points INTEGER NOT NULL, first INTEGER NOT NULL, "
        "last INTEGER NOT NULL, earliest INTEGER NOT NULL, latest INTEGER NOT NULL, "
        "body BLOB NOT NULL)"
    ),
    # Points of one series and one day (UTC). Greater ids are newer.
    (
        "CREATE TABLE block (id INTEGER PRIMARY KEY AUTOINCREMENT, series INTEGER NOT NULL, "
        "day INTEGER NOT NULL, points INTEGER NOT NULL, earliest INTEGER NOT NULL, "
        "latest INTEGER NOT NULL, body BLOB NOT NULL)"
    ),
    "CREATE INDEX block_series ON block (series, day)",
    "CREATE INDEX block_day ON block (day)",
    f"PRAGMA user_version = {VERSION}",
)


class PointsFile:
    """Opens connections to `<directory>/points.db`, which is created when it is first opened.

    Who has opened it holds a shared lock until `release`, so that it is only replaced when nobody
    has it open.
    """

    def __init__(self, directory: Path, settings: PointsSettings) -> None:
        self.path = directory / "points.db"
        self._directory = directory
        self._settings = settings
        self._use_path = self.path.with_suffix(".use.lock")
        self._use: int | None = None
        self._sharing = threading.Lock()

    def open(self, *, synchronous: str = "FULL") -> apsw.Connection:
        """Open a connection for one thread at a time. Raises `StorageError`."""
        try:
            self._share()
            self._create()
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
            connection = apsw.Connection(str(self.path), flags=flags)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be opened: {error.strerror}.") from error
        except EngineError as error:
            raise build_error(error, self.path) from error
        try:
            connection.set_busy_timeout(round(self._settings.busy_timeout * 1000))
            for pragma in (
                f"synchronous = {synchronous}",
                f"cache_size = -{_CACHE_KIB}",
                f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
                f"journal_size_limit = {_WAL_BYTES}",
                "cell_size_check = ON",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            self._prepare(connection)
        except EngineError as error:
            connection.close(force=True)
            raise build_error(error, self.path) from error
        except BaseException:
            connection.close(force=True)
            raise
        return connection

    def open_lock(self) -> WriterLock:
        """Open the lock that writers of all processes take in turn, for one thread."""
        try:
            self._create()
            lock, queue = (self.path.with_suffix(end) for end in (".lock", ".queue.lock"))
            return WriterLock(lock, queue)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be locked: {error.strerror}.") from error

    def release(self) -> None:
        """Let others replace the file. No connection is open."""
        with self._sharing:
            if self._use is not None:
                os.close(self._use)
                self._use = None

    @contextmanager
    def alone(self, timeout: float) -> Iterator[None]:
        """Keep all others from opening it. Raises `StorageBusy` where one does not close it."""
        self._make_directory()
        with hold_lock(self._use_path, timeout) as lock:
            if lock is None:
                raise StorageBusy(
                    f"{self.path} did not come free in {timeout:g} s: other processes have it "
                    "open. Stop them, or try again."
                )
            yield

    @contextmanager
    def writing(self, connection: apsw.Connection, lock: WriterLock) -> Iterator[None]:
        """Commit what is done inside, or undo it. Raises `StorageError`."""
        with lock.hold(self._settings.busy_timeout), self.guarding():
            connection.execute("BEGIN IMMEDIATE").fetchall()
            try:
                yield
                connection.execute("COMMIT").fetchall()
            except BaseException:
                with suppress(apsw.Error):  # some errors have undone it already
                    connection.execute("ROLLBACK").fetchall()
                raise

    @contextmanager
    def reading(self, connection: apsw.Connection) -> Iterator[None]:
        """See one state inside. Raises `StorageError`."""
        with self.guarding():
            connection.execute("BEGIN").fetchall()
            try:
                yield
            finally:
                with suppress(apsw.Error):
                    connection.execute("ROLLBACK").fetchall()

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Raise errors of SQLite as those of the service."""
        try:
            yield
        except EngineError as error:
            raise build_error(error, self.path) from error

    def measure(self) -> int:
        """Return the bytes that the file and its log have on disk."""
        size = 0
        for path in (self.path, self.path.with_name(self.path.name + "-wal")):
            with suppress(FileNotFoundError):
                size += path.stat().st_size
        return size

    def _share(self) -> None:
        with self._sharing:
            if self._use is not None:
                return
            self._make_directory()
            self._use = try_acquire_lock(self._use_path, self._settings.busy_timeout, shared=True)
            if self._use is None:
                raise StorageBusy(f"{self.path} is being replaced by a backup; try again.")

    def _create(self) -> None:
        self._make_directory()
        make_private(self.path)

    def _make_directory(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _prepare(self, connection: apsw.Connection) -> None:
        version = connection.pragma("user_version")
        if version == VERSION:
            return
        if version:
            raise StorageError(
                f"{self.path} is of a newer release (version {version}); this one reads version "
                f"{VERSION}. Install the release that made it."
            )
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}").fetchall()
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("BEGIN IMMEDIATE").fetchall()
        try:
            if not connection.pragma("user_version"):  # another process may have made them
                for statement in _TABLES:
                    connection.execute(statement).fetchall()
            connection.execute("COMMIT").fetchall()
        except BaseException:
            with suppress(apsw.Error):
                connection.execute("ROLLBACK").fetchall()
            raise


def make_private(path: Path) -> None:
    """Create a file if it is missing. SEC: SQLite would create it by the umask alone."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def build_error(error: BaseException, path: Path) -> StorageError:
    """Build the service's error for an `EngineError`."""
    match error:
        case apsw.FullError():
            return StorageFull(f"No space is left for {path}; nothing was changed, reads go on.")
        case apsw.BusyError() | apsw.LockedError():
            return StorageBusy(f"{path} is in use and did not come free in time; try again.")
        case apsw.NotADBError() | apsw.CorruptError():
            return StorageDamaged(
                f"The points in {path} are damaged: {error}. Restore the file from a backup, or "
                "move it away: an empty one is then made."
            )
        case _:
            return StorageError(f"SQLite failed on {path}: {type(error).__name__}: {error}")
