"""The SQLite file of a graph's points: its tables, its connections, and its errors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import apsw

from twinframe.errors import StorageBusy, StorageDamaged, StorageError, StorageFull
from twinframe.runtime.locks import hold_lock, try_acquire_lock
from twinframe.storage.tables import Row, Tables, TableSession, rename_tables
from twinframe.storage.writer_lock import WriterLock
from twinframe_points.settings import PointsSettings
from twinframe_points.verifying import MOST_FAULTS, find_faults

EngineError: Final = (apsw.Error, UnicodeEncodeError)
"""What APSW raises for statements and their bindings."""

VERSION: Final = 1
"""The version of the tables."""
_PAGE_BYTES: Final = 32 * 1024
"""PERF: a block of a day has some KiB, of which a page of 16 KiB leaves a fifth empty."""
_CACHE_KIB: Final = 8 * 1024
_CHECKPOINT_PAGES: Final = 256
_WAL_BYTES: Final = 16 * 1024 * 1024
_SIZES: Final = ("page_size", "page_count", "freelist_count")

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


class _Session(TableSession):
    """A transaction of SQLite."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows."""
        return self._connection.execute(_name(statement), values).fetchall()

    def read_each(self, statement: str, many: Iterable[Sequence[Any]]) -> Iterator[list[Row]]:
        """Run it for each values."""
        text = _name(statement)
        for values in many:
            yield self._connection.execute(text, values).fetchall()

    def iterate(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield rows as SQLite finds them."""
        yield from self._connection.execute(_name(statement), values)

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Return how many rows it changed."""
        self._connection.execute(_name(statement), values).fetchall()
        return self._connection.changes()

    def run_each(self, statement: str, many: Iterable[Sequence[Any]]) -> None:
        """Run it for each values."""
        self._connection.executemany(_name(statement), many).fetchall()


@cache
def _name(statement: str) -> str:
    return rename_tables(statement, lambda name: name)


class _Writes:
    """A connection that writes, with the lock that writers of all processes take in turn."""

    def __init__(self, file: PointsFile, *, durable: bool) -> None:
        """Open the file. Raises `StorageError`."""
        # PERF: a lost transaction of upkeep is made again, so it need not be synced; a later one of
        # a writer is synced with all before it.
        self.connection = file.open(synchronous="FULL" if durable else "NORMAL")
        try:
            self.lock = file.open_lock()
        except BaseException:
            self.connection.close(force=True)
            raise

    def close(self) -> None:
        """Close the connection and the lock."""
        self.connection.close(force=True)
        self.lock.close()


class PointsFile(Tables):
    """The tables in `<directory>/points.db`, which is created when it is first opened.

    Who has opened it holds a shared lock until `close`, so that it is only replaced when nobody
    has it open.
    """

    def __init__(self, directory: Path, settings: PointsSettings) -> None:
        self.path = directory / "points.db"
        self._directory = directory
        self._settings = settings
        self._use_path = self.path.with_suffix(".use.lock")
        self._use: int | None = None
        self._sharing, self._pooling = threading.Lock(), threading.Lock()
        self._writes: dict[bool, _Writes] = {}
        self._readers: list[apsw.Connection] = []

    def exists(self) -> bool:
        """Return whether the file is there: a graph without points has none."""
        return self.path.exists()

    def open(self, *, synchronous: str = "FULL") -> apsw.Connection:
        """Open a connection for one thread at a time. Raises `StorageError`."""
        try:
            self._share()
            self._create()
            if not self.path.stat().st_size:
                # NOTE: SQLite does not wait while another process turns a new file to its log.
                with closing(self.open_lock()) as lock, lock.hold(self._settings.busy_timeout):
                    self._connect("FULL").close(force=True)
            return self._connect(synchronous)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be opened: {error.strerror}.") from error
        except EngineError as error:
            raise build_error(error, self.path) from error

    def _connect(self, synchronous: str) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
        connection = apsw.Connection(str(self.path), flags=flags)
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

    def close(self) -> None:
        """Close all connections, and let others replace the file."""
        while self._writes:
            self._writes.popitem()[1].close()
        while self._readers:
            self._readers.pop().close(force=True)
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
    def writing(self, *, durable: bool = True) -> Iterator[TableSession]:
        """Commit what is done inside, or undo it, while no other process writes."""
        writes = self._writes.get(durable)
        if writes is None:
            writes = self._writes[durable] = _Writes(self, durable=durable)
        connection = writes.connection
        with writes.lock.hold(self._settings.busy_timeout), self._guarding():
            connection.execute("BEGIN IMMEDIATE").fetchall()
            try:
                yield _Session(connection)
                connection.execute("COMMIT").fetchall()
            except BaseException:
                with suppress(apsw.Error):  # some errors have undone it already
                    connection.execute("ROLLBACK").fetchall()
                raise

    @contextmanager
    def reading(self, *, long: bool = False) -> Iterator[TableSession]:
        """See one state inside, on a connection that no other thread uses meanwhile."""
        del long  # a file is not moved
        with self._pooling:
            connection = self._readers.pop() if self._readers else None
        connection = connection or self.open()
        try:
            with self._guarding():
                connection.execute("BEGIN").fetchall()
                try:
                    yield _Session(connection)
                finally:
                    with suppress(apsw.Error):
                        connection.execute("ROLLBACK").fetchall()
        except BaseException:
            connection.close(force=True)
            raise
        with self._pooling:
            self._readers.append(connection)

    @contextmanager
    def _guarding(self) -> Iterator[None]:
        """Raise errors of SQLite as those of the service."""
        try:
            yield
        except EngineError as error:
            raise build_error(error, self.path) from error

    def measure_used(self) -> int:
        """Return the bytes of pages that are in use."""
        with self.reading() as session:
            sizes = [session.read(f"PRAGMA {name}")[0][0] for name in _SIZES]
        page, pages, free = sizes
        return int(page * (pages - free))

    def find_faults(self) -> list[str]:
        """Return what is wrong with the file, its pages first; nothing where it is sound."""
        with self.reading() as session:
            return _find_faults(session)

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


def find_copy_faults(connection: apsw.Connection) -> list[str]:
    """Return what is wrong with a copy of a file, its pages first."""
    return _find_faults(_Session(connection))


def _find_faults(session: TableSession) -> list[str]:
    pages = session.read(f"PRAGMA integrity_check({MOST_FAULTS})")
    found = [f"points: {text}" for (text,) in pages if text != "ok"]
    return found or find_faults(session)


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
