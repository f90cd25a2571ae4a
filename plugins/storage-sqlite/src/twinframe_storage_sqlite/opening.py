"""Opens a database file: creates it when it is new, refuses it when it is damaged or foreign."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import apsw

from twinframe.errors import ConfigurationError
from twinframe.runtime.files import write_durably
from twinframe.storage.writer_lock import WriterLock
from twinframe_storage_sqlite.checksums import RESERVED, begin_checksums, holds_checksums
from twinframe_storage_sqlite.connection import open_writer
from twinframe_storage_sqlite.errors import EngineError, build_damaged, build_error
from twinframe_storage_sqlite.files import DatabaseFiles, make_private, read_marker
from twinframe_storage_sqlite.migrations import apply_migrations, load_migrations, read_version
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.statements import SqlValue

_INSTANCE: Final = "SELECT value FROM meta WHERE key = 'instance'"
_HAS_CHECKSUMS: Final = "SELECT count(*) FROM meta WHERE key = 'checksums'"
_NEW_FACT: Final = "INSERT INTO meta (key, value) VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class FileSchema:
    """The schema of a kind of file: `application_id` is in its header, set by the first migration.

    `folder` is where its migrations are, as `load_migrations` takes it; `facts` are rows of its
    table `meta` when it is new, besides `instance` and `created`.
    """

    application_id: int
    folder: str
    facts: Mapping[str, SqlValue]


def open_writer_lock(files: DatabaseFiles) -> WriterLock:
    """Build the writer lock of the file, creating its directory when it is missing."""
    directory = files.database.parent
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return WriterLock(files.writer_lock, files.queue)
    except OSError as error:
        raise ConfigurationError(
            f"Storage__Sqlite__Directory: {directory} cannot be used: {error.strerror}."
        ) from error


def open_settled(
    files: DatabaseFiles, settings: SqliteSettings, schema: FileSchema
) -> apsw.Connection | None:
    """Open the writing connection of a sound file at the newest schema, without the writer lock.

    NOTE: a restarting worker must not wait for a process that writes for long or is frozen:
    gunicorn ends the whole service after a failed start. Returns None where something must be
    written or reported first; `open_database` does that.
    """
    marker = read_marker(files.marker)
    if marker is None or not _holds_bytes(files):
        return None
    try:
        connection = open_writer(str(files.database), settings, create=False)
    except EngineError:
        return None
    try:
        if _is_settled(connection, files, marker, schema):
            return connection
    except EngineError:
        pass  # `open_database` meets it again and reports it
    connection.close(force=True)
    return None


def open_database(
    files: DatabaseFiles, settings: SqliteSettings, schema: FileSchema
) -> apsw.Connection:
    """Open the writing connection of a sound file at the newest schema, under the writer lock.

    Raises `StorageDamaged` for a file that is damaged, foreign, emptied or gone;
    `ConfigurationError` for one of a newer release or in a place where SQLite cannot share it.
    """
    path = str(files.database)
    marker = read_marker(files.marker)
    if marker is not None and not _holds_bytes(files):
        reason = f"it is missing or empty, but was set up as instance {marker}"
        raise build_damaged(path, reason)
    try:
        if marker is None and not files.database.exists():
            make_private(files.database)
        connection = open_writer(path, settings, create=True)
        try:
            _verify_writable(connection)
            _verify_owner(connection, schema)
            if settings.checksums and _is_new(connection):
                begin_checksums(connection)
            _enter_wal(connection)
            apply_migrations(connection, load_migrations(schema.folder))
            instance = _read_or_make_facts(connection, schema)
            _verify_checksums(connection, files)
            _mark(files, marker, instance)
        except BaseException:
            connection.close(force=True)
            raise
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise ConfigurationError(
            f"{path} cannot be opened for writing ({error}): let user {os.geteuid()} read and "
            "write it and its directory."
        ) from error
    except EngineError as error:
        raise build_error(error, path) from error
    return connection


def _is_settled(
    connection: apsw.Connection, files: DatabaseFiles, marker: str, schema: FileSchema
) -> bool:
    return (
        not connection.readonly("main")
        and connection.pragma("application_id") == schema.application_id
        and connection.pragma("journal_mode") == "wal"
        and read_version(connection) == load_migrations(schema.folder)[-1].version
        and connection.execute(_INSTANCE).get == marker
        and connection.execute(_HAS_CHECKSUMS).get == bool(holds_checksums(files.database))
    )


def _holds_bytes(files: DatabaseFiles) -> bool:
    try:
        return files.database.stat().st_size > 0
    except FileNotFoundError:
        return False


def _verify_writable(connection: apsw.Connection) -> None:
    # NOTE: SQLite opens a write-protected file for reading instead, and reports it at a write only.
    if connection.readonly("main"):
        raise ConfigurationError(
            f"{connection.filename} cannot be opened for writing: give this user the right to it."
        )


def _verify_owner(connection: apsw.Connection, schema: FileSchema) -> None:
    owner = connection.pragma("application_id")
    if owner == schema.application_id:
        return
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if owner or tables or connection.pragma("user_version"):
        raise build_damaged(connection.filename, "it is a database of another application")


def _enter_wal(connection: apsw.Connection) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").get
    if mode != "wal":
        raise ConfigurationError(
            f"{connection.filename} cannot use a write-ahead log (journal mode {mode}): put "
            "Storage__Sqlite__Directory on a local file system."
        )


def _read_or_make_facts(connection: apsw.Connection, schema: FileSchema) -> str:
    """Return the instance id; create it, with the other facts, in a file that was just created."""
    instance: str | None = connection.execute(_INSTANCE).get
    if instance is None:
        instance = str(uuid.uuid4())
        created = datetime.now(UTC).isoformat(timespec="seconds")
        facts = {**schema.facts, "instance": instance, "created": created}
        if connection.reserve_bytes("main") == RESERVED:
            facts["checksums"] = 1
        with connection:
            connection.executemany(_NEW_FACT, facts.items()).fetchall()
        # The marker is written next, so the facts it stands for must be in the file itself.
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return instance


def _is_new(connection: apsw.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_schema").get


def _verify_checksums(connection: apsw.Connection, files: DatabaseFiles) -> None:
    """Refuse a file whose header denies the checksums that it was created with.

    SEC: otherwise one changed bit there would switch them off.
    """
    if connection.execute(_HAS_CHECKSUMS).get and not holds_checksums(files.database):
        raise build_damaged(str(files.database), "its header denies its checksums")


def _mark(files: DatabaseFiles, marker: str | None, instance: str) -> None:
    if marker is None:
        write_durably(files.marker, f"{instance}\n".encode())
    elif marker != instance:
        raise build_damaged(
            str(files.database),
            f"it holds instance {instance}, but {files.marker.name} names {marker!r} (remove that "
            "file if the database was replaced on purpose)",
        )
