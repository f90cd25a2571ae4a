"""Page checksums, by which SQLite detects pages that the disk returns damaged.

SQLite's checksum VFS keeps them in eight bytes at the end of each page. The header of a file says
whether it has checksums, so every process opens it in the same way.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

import apsw
from apsw import sqlite_extra

from twinframe.errors import ConfigurationError

VFS: Final = "cksmvfs"
RESERVED: Final = 8

_EXTENSION: Final = "cksumvfs"
# SPEC: file format of SQLite, section 1.3: magic, and the reserved bytes of each page.
_MAGIC: Final = b"SQLite format 3\0"
_RESERVED_AT: Final = 20

_loading = threading.Lock()


def choose_vfs(path: str, *, wanted: bool = False) -> str | None:
    """Return the VFS to open a file with: by its header, or as `wanted` if there is no file yet.

    SEC: a file with checksums must not be written by the usual VFS, which does not update them.
    Raises `ConfigurationError` where checksums are needed and this apsw lacks them.
    """
    held = holds_checksums(Path(path))
    if not (wanted if held is None else held):
        return None
    load_vfs()
    return VFS


def holds_checksums(path: Path) -> bool | None:
    """Return whether a database has checksums; None if the file is missing, empty or no database.

    NOTE: None also for an unreadable file; SQLite cannot open it either, and reports that.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_RESERVED_AT + 1)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        return None
    if len(head) <= _RESERVED_AT or not head.startswith(_MAGIC):
        return None
    return head[_RESERVED_AT] == RESERVED


def load_vfs() -> None:
    """Load the VFS into this process, where it stays."""
    with _loading:
        if VFS in apsw.vfs_names():
            return
        try:
            # NOTE: it becomes the default VFS; files without checksums pass through it unchanged.
            connection = apsw.Connection(":memory:")
            try:
                sqlite_extra.load(connection, _EXTENSION)
            finally:
                connection.close(force=True)
        except (sqlite_extra.NotAvailable, apsw.Error, OSError) as error:
            raise ConfigurationError(
                "Page checksums (Storage__Sqlite__Checksums, or a file that has them) need the "
                f"checksum VFS, which this apsw does not bring: {error}. Install the one of the "
                "package index (pip install --force-reinstall apsw)."
            ) from error


def begin_checksums(connection: apsw.Connection) -> None:
    """Give a new, empty file checksums, before anything else is written.

    NOTE: the VFS adds them once it has seen the header; a page that SQLite writes before the header
    would lack its own. So the header is written alone.
    """
    connection.reserve_bytes("main", RESERVED)
    # NOTE: one transaction that leaves no table: a process killed here leaves a file without a
    # graph, which is not mistaken for a foreign database.
    connection.execute("PRAGMA user_version = 0").fetchall()


def add_checksums(connection: apsw.Connection) -> None:
    """Rewrite a whole file with checksums. It is open nowhere else, and has no WAL."""
    connection.reserve_bytes("main", RESERVED)
    connection.execute("VACUUM").fetchall()
