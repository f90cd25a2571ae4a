"""Opens SQLite connections with the pragmas, limits and access rights that all uses rely on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import apsw

from twinframe.errors import ConfigurationError
from twinframe.runtime.diagnosis.directories import NETWORK, find_existing, read_file_system
from twinframe_storage_sqlite.checksums import choose_vfs
from twinframe_storage_sqlite.settings import SqliteSettings

OLDEST_LIBRARY: Final = (3, 51, 3)
"""Older versions can damage a file that two processes write and checkpoint (the WAL-reset race)."""

STATEMENT_CACHE: Final = 256

_HARD_LIMIT: Final = 3

_READ_ACTIONS: Final = frozenset(
    {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE, apsw.SQLITE_TRANSACTION}
)
_REFUSED_FUNCTIONS: Final = frozenset({"load_extension", "fts3_tokenizer", "writefile", "edit"})


def verify_library(version: str) -> None:
    """Raise `ConfigurationError` when the SQLite library of this version must not be used."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if numbers < OLDEST_LIBRARY:
        wanted = ".".join(map(str, OLDEST_LIBRARY))
        raise ConfigurationError(
            f"SQLite {version} is too old: several processes could damage a database. SQLite "
            f"{wanted} or later is needed; install a current apsw (pip install --upgrade apsw)."
        )


def verify_directory(directory: Path) -> None:
    """Raise `ConfigurationError` when the files would be on a network file system."""
    kind = read_file_system(find_existing(directory))
    if kind in NETWORK:
        raise ConfigurationError(
            f"{directory} lies on a network file system ({kind}), where a write-ahead log can be "
            "damaged: put Storage__Sqlite__Directory on a disk of this machine."
        )


def open_writer(path: str, settings: SqliteSettings, *, create: bool) -> apsw.Connection:
    """Open a connection that may change the file `path`, with `create` also one that is missing."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    return _open(path, settings, flags, choose_vfs(path, wanted=create and settings.checksums))


def open_reader(path: str, settings: SqliteSettings) -> apsw.Connection:
    """Open a connection that can only read the existing file `path`, whatever statement it runs."""
    # NOTE: opened for writing since a reader may have to create or recover the WAL's index.
    connection = _open(path, settings, apsw.SQLITE_OPEN_READWRITE, choose_vfs(path))
    connection.execute("PRAGMA query_only = ON").fetchall()
    _set_limits(connection, settings)
    connection.authorizer = _authorize_read
    return connection


def _open(path: str, settings: SqliteSettings, flags: int, vfs: str | None) -> apsw.Connection:
    connection = apsw.Connection(path, flags=flags, vfs=vfs, statementcachesize=STATEMENT_CACHE)
    _harden(connection)
    connection.set_busy_timeout(round(settings.busy_timeout * 1000))
    _set_pragmas(connection, settings)
    return connection


def _harden(connection: apsw.Connection) -> None:
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
    # PERF: otherwise SQLite, built with STAT4, looks at bound values and plans most joins and every
    # `LIMIT ?` again at each run: half of the time of a short statement and more.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)


def _set_pragmas(connection: apsw.Connection, settings: SqliteSettings) -> None:
    synchronous = "FULL" if settings.durability == "full" else "NORMAL"
    # NOTE: one at a time and fetched to the end: APSW stops a script at the first row.
    for pragma in (
        f"synchronous = {synchronous}",
        f"cache_size = -{max(settings.cache_bytes // 1024, 1)}",
        "mmap_size = 0",
        "cell_size_check = ON",
        f"wal_autocheckpoint = {settings.checkpoint_pages}",
        f"journal_size_limit = {settings.wal_limit_bytes}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _set_limits(connection: apsw.Connection, settings: SqliteSettings) -> None:
    # NOTE: both apply to the process. The second is for values that grow within one step of a
    # statement; those that grow over many steps are stopped by the progress handler.
    apsw.soft_heap_limit(settings.memory_bytes)
    apsw.hard_heap_limit(settings.memory_bytes * _HARD_LIMIT)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, settings.max_document_bytes)
    connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, 1024 * 1024)
    connection.limit(apsw.SQLITE_LIMIT_WORKER_THREADS, 0)


def _authorize_read(
    action: int, first: str | None, second: str | None, _database: str | None, _inner: str | None
) -> int:
    # SEC: holds even if a statement contained a caller's text: no ATTACH, PRAGMA or change.
    if action in _READ_ACTIONS:
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_FUNCTION and second not in _REFUSED_FUNCTIONS:
        return apsw.SQLITE_OK
    return apsw.SQLITE_DENY
