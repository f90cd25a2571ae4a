"""Copies database files: makes and restores backups, and removes a database."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from twinframe.runtime.files import DRAFT, rename_durably, sync, write_durably
from twinframe.storage.backups import check_seal, making_file, seal_backup
from twinframe_storage_sqlite.checksums import (
    RESERVED,
    VFS,
    add_checksums,
    begin_checksums,
    choose_vfs,
    holds_checksums,
    load_vfs,
)
from twinframe_storage_sqlite.connection import open_writer
from twinframe_storage_sqlite.errors import EngineError, build_damaged, build_error
from twinframe_storage_sqlite.files import DatabaseFiles, make_private
from twinframe_storage_sqlite.settings import SqliteSettings

_PAUSE: Final = 0.05
_NOTE_CHECKSUMS: Final = "INSERT OR REPLACE INTO meta (key, value) VALUES ('checksums', 1)"
_INSTANCE: Final = "SELECT value FROM meta WHERE key = 'instance'"

Check = Callable[[apsw.Connection], Sequence[str]]
"""Returns the faults of a database that is to replace a graph's."""
Change = Callable[[apsw.Connection], None]
"""Changes the database before it replaces the graph's."""


def write_copy(source: apsw.Connection, target: Path, patience: float) -> None:
    """Copy the database as it is at one moment to the new file `target`, and sync it."""
    try:
        with making_file(target) as unfinished:
            checked = source.reserve_bytes("main") == RESERVED
            _copy(source, unfinished, patience, checked=checked)
            seal_backup(unfinished)
            rename_durably(unfinished, target)
    except EngineError as error:
        raise build_error(error, str(target)) from error


def prepare_draft(
    files: DatabaseFiles, source: Path, check: Check, change: Change, *, checksums: bool = False
) -> str:
    """Copy a backup next to the database, check and change the copy; return its instance id.

    With `checksums` the copy gets them where the backup has none. Raises `StorageDamaged` when
    `check` finds anything or it is no database; then the copy is removed.
    """
    try:
        return _prepare(files.draft, source, check, change, checksums=checksums)
    except BaseException as error:
        _remove_database(files.draft)
        if isinstance(error, EngineError):
            raise build_error(error, str(source)) from error
        raise


def install_copy(files: DatabaseFiles, settings: SqliteSettings, instance: str) -> None:
    """Replace the database by the draft. Nobody has it open.

    NOTE: the order counts. SQLite would replay a remaining log into the new file, so the log is
    first checkpointed into the old one and removed; and the marker must name the present file.
    """
    if files.database.exists():
        with suppress(*EngineError):  # perhaps damaged, which may be why it is replaced
            connection = open_writer(str(files.database), settings, create=False)
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                connection.close(force=True)
    for path in (*_list_logs(files.database), files.marker):
        path.unlink(missing_ok=True)
    shutil.rmtree(files.scratch, ignore_errors=True)
    sync(files.database.parent)
    files.draft.replace(files.database)
    write_durably(files.marker, f"{instance}\n".encode())


def remove_files(files: DatabaseFiles) -> None:
    """Remove all files but the use lock, which the caller holds. Nobody has the database open.

    NOTE: without its marker a file counts as new, so an interrupted removal can be continued.
    """
    files.marker.unlink(missing_ok=True)
    _remove_database(files.database)
    _remove_database(files.draft)
    for path in (files.writer_lock, files.queue, files.marker.with_name(files.marker.name + DRAFT)):
        path.unlink(missing_ok=True)
    for path in files.wal.parent.glob(f"{files.wal.name}.damaged-*"):
        path.unlink(missing_ok=True)
    for folder in (files.scratch, files.beside):
        shutil.rmtree(folder, ignore_errors=True)
    if files.database.parent.is_dir():
        sync(files.database.parent)


def _remove_database(path: Path) -> None:
    path.unlink(missing_ok=True)
    for log in _list_logs(path):
        log.unlink(missing_ok=True)


def _list_logs(database: Path) -> list[Path]:
    """List logs that a dead process may have left, which SQLite would replay into the next."""
    return [database.with_name(database.name + ending) for ending in ("-journal", "-wal", "-shm")]


def _prepare(draft: Path, source: Path, check: Check, change: Change, *, checksums: bool) -> str:
    draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_database(draft)
    make_private(draft)
    if not source.is_file() or source.stat().st_size == 0:
        raise build_damaged(str(source), "there is no backup in it")
    check_seal(source)
    vfs = choose_vfs(str(source))
    reader = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    try:
        _copy(reader, draft, 0, checked=vfs is not None)
    finally:
        reader.close(force=True)
    if checksums:
        load_vfs()
        vfs = VFS
    connection = apsw.Connection(str(draft), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        faults = check(connection)
        if checksums and not faults and not holds_checksums(draft):
            add_checksums(connection)
            connection.execute(_NOTE_CHECKSUMS).fetchall()
        if not faults:
            change(connection)
        instance = None if faults else connection.execute(_INSTANCE).get
    finally:
        connection.close(force=True)
    if faults or not isinstance(instance, str):
        raise build_damaged(str(source), "; ".join(faults[:3]) or "it names no instance")
    sync(draft)
    return instance


def _copy(source: apsw.Connection, target: Path, patience: float, *, checked: bool) -> None:
    copy = apsw.Connection(str(target), vfs=VFS if checked else None)
    try:
        if checked:
            begin_checksums(copy)
        copy.execute("PRAGMA synchronous = OFF").fetchall()  # it is synced as a whole
        deadline = time.monotonic() + patience
        with copy.backup("main", source, "main") as backup:
            # PERF: all at once. In small steps every write of another process restarts it.
            while not backup.done:
                try:
                    backup.step(-1)
                except (apsw.BusyError, apsw.LockedError):
                    if time.monotonic() >= deadline:
                        raise
                    time.sleep(_PAUSE)
        # One file alone: its log would be left behind when it is moved.
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    finally:
        copy.close(force=True)
