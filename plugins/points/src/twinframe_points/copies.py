"""Copies of the file of points: backups, and drafts that replace it by one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from twinframe.errors import StorageDamaged
from twinframe.runtime.files import rename_durably, sync
from twinframe.storage.backups import check_seal, making_file, seal_backup
from twinframe_points.file import (
    VERSION,
    EngineError,
    build_error,
    find_copy_faults,
    make_private,
)

_SHOWN: Final = 3


def write_backup(source: apsw.Connection, target: Path) -> None:
    """Copy the points as they are at one moment to the new file `target`, sealed and synced.

    Others write and read meanwhile. Raises `StorageError`.
    """
    try:
        with making_file(target) as unfinished:
            _copy(source, unfinished)
            seal_backup(unfinished)
            rename_durably(unfinished, target)
    except EngineError as error:
        raise build_error(error, target) from error


def replace_file(path: Path, source: Path) -> None:
    """Replace the file of points, which nobody has open, by those of a backup.

    Interrupted at any point, it leaves the old ones or the new ones. Raises `StorageDamaged` for a
    backup that cannot be trusted, and then changes nothing.
    """
    draft = path.with_suffix(".draft")
    try:
        _prepare(draft, source)
        # NOTE: SQLite would replay a log that remains into the new file, so it goes into the old
        # one first.
        with suppress(*EngineError):  # perhaps damaged, which may be why it is replaced
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                connection.close(force=True)
        for log in _list_logs(path):
            log.unlink(missing_ok=True)
        sync(path.parent)
        rename_durably(draft, path)
    except EngineError as error:
        raise build_error(error, source) from error
    finally:
        _remove(draft)


def _prepare(draft: Path, source: Path) -> None:
    """Copy a backup to `draft`, check it, and sync it."""
    if not source.is_file() or not source.stat().st_size:
        raise StorageDamaged(f"There is no backup of points in {source}.")
    check_seal(source)
    _remove(draft)
    make_private(draft)
    reader = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        _copy(reader, draft)
    finally:
        reader.close(force=True)
    connection = apsw.Connection(str(draft), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        version = connection.pragma("user_version")
        faults = (
            find_copy_faults(connection)
            if version == VERSION
            else [f"it is of version {version}, and this release reads version {VERSION}"]
        )
        if faults:
            shown = "; ".join(faults[:_SHOWN])
            raise StorageDamaged(f"The backup of points {source} cannot be restored: {shown}.")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    finally:
        connection.close(force=True)
    sync(draft)


def _copy(source: apsw.Connection, target: Path) -> None:
    copy = apsw.Connection(str(target))
    try:
        copy.execute("PRAGMA synchronous = OFF").fetchall()  # it is synced as a whole
        with copy.backup("main", source, "main") as backup:
            # PERF: all at once. In small steps every write of another process restarts it.
            while not backup.done:
                backup.step(-1)
        # One file alone: its log would be left behind when it is moved.
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    finally:
        copy.close(force=True)


def _remove(path: Path) -> None:
    for each in (path, *_list_logs(path)):
        each.unlink(missing_ok=True)


def _list_logs(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in ("-journal", "-wal", "-shm")]
