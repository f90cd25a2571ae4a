"""Page checksums: a page that a disk gives back otherwise than it was written is never believed.

SQLite's own checksum VFS does it, in eight bytes at the end of each page. It knows no table.
Whether a file has checksums stands in its header, so that every process opens it the same way.
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
    """The VFS to open a file with: by its header, or as `wanted` where there is no file yet.

    SEC: a file with checksums must not be written by the usual VFS, which would not keep them.
    `ConfigurationError` where checksums are needed and this apsw does not bring them.
    """
    held = holds_checksums(Path(path))
    if not (wanted if held is None else held):
        return None
    load_vfs()
    return VFS


def holds_checksums(path: Path) -> bool | None:
    """Whether a database has them; None for no file, an empty one, and no database.

    NOTE: nor is it known of one that may not be read; SQLite does not open it either, and says so.
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
    """Have the VFS in this process; once it is, it stays."""
    with _loading:
        if VFS in apsw.vfs_names():
            return
        try:
            # NOTE: it becomes the process's usual one; files without checksums pass through it.
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

    NOTE: the VFS keeps them from the moment it has seen the header go by; a page that SQLite writes
    before that one would lack its own. So the header is written alone.
    """
    connection.reserve_bytes("main", RESERVED)
    # NOTE: one transaction that leaves no table: who is killed here has left a file without a
    # graph, and not a database of somebody else.
    connection.execute("PRAGMA user_version = 0").fetchall()


def add_checksums(connection: apsw.Connection) -> None:
    """Write a whole file anew with checksums. Nobody else has it open, and it has no WAL."""
    connection.reserve_bytes("main", RESERVED)
    connection.execute("VACUUM").fetchall()
