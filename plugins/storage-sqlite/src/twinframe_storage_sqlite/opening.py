"""Opening a graph's file: made when it is new, refused when it is not the one it should be."""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime
from typing import Final

import apsw

from twinframe.errors import ConfigurationError
from twinframe_storage_sqlite.connection import open_writer
from twinframe_storage_sqlite.errors import EngineError, build_damaged, build_error
from twinframe_storage_sqlite.files import GraphFiles, read_marker, write_marker
from twinframe_storage_sqlite.migrations import (
    apply_migrations,
    load_migrations,
    read_version,
)
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.turn import TurnLock

APPLICATION_ID: Final = 0x54574749
"""`TWGI` in the file's header: a graph instance of twinframe. Migration 1 sets it."""

_INSTANCE: Final = "SELECT value FROM meta WHERE key = 'instance'"
_NEW_FACTS: Final = (
    "INSERT INTO meta (key, value) "
    "VALUES ('instance', ?), ('secret', ?), ('created', ?), "
    "('model_version', 0), ('last_position', 0)"
)


def open_turn(files: GraphFiles) -> TurnLock:
    """The turn lock of the graph, whose directory is made when it is missing."""
    directory = files.database.parent
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        return TurnLock(files.turn, files.queue)
    except OSError as error:
        raise ConfigurationError(
            f"Storage__Sqlite__Directory: {directory} cannot be used: {error.strerror}."
        ) from error


def open_settled(files: GraphFiles, settings: SqliteSettings) -> apsw.Connection | None:
    """The writing connection of a sound file at the newest schema, without having the turn.

    NOTE: a worker that starts anew must not wait for a process that writes for long or is frozen:
    gunicorn takes a failed start for a reason to end the whole service. None where something has
    to be written or said first; that is for `open_graph`.
    """
    marker = read_marker(files.marker)
    if marker is None or not _holds_bytes(files):
        return None
    try:
        connection = open_writer(str(files.database), settings, create=False)
    except EngineError:
        return None
    try:
        if _is_settled(connection, marker):
            return connection
    except EngineError:
        pass  # `open_graph` meets it again and names it
    connection.close(force=True)
    return None


def open_graph(files: GraphFiles, settings: SqliteSettings) -> apsw.Connection:
    """The writing connection of a sound file at the newest schema. The caller holds the turn.

    `StorageDamaged` for a file that is damaged, foreign, emptied or gone; `ConfigurationError` for
    one of a newer release or in a place where SQLite cannot share it.
    """
    path = str(files.database)
    marker = read_marker(files.marker)
    if marker is not None and not _holds_bytes(files):
        reason = f"it is missing or empty, but was set up as instance {marker}"
        raise build_damaged(path, reason)
    try:
        connection = open_writer(path, settings, create=True)
        try:
            _verify_writable(connection)
            _verify_owner(connection)
            _enter_wal(connection)
            apply_migrations(connection, load_migrations())
            instance = _read_or_make_facts(connection)
            _mark(files, marker, instance)
        except BaseException:
            connection.close(force=True)
            raise
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise ConfigurationError(f"{path} cannot be opened for writing: {error}.") from error
    except EngineError as error:
        raise build_error(error, path) from error
    return connection


def _is_settled(connection: apsw.Connection, marker: str) -> bool:
    return (
        not connection.readonly("main")
        and connection.pragma("application_id") == APPLICATION_ID
        and connection.pragma("journal_mode") == "wal"
        and read_version(connection) == load_migrations()[-1].version
        and connection.execute(_INSTANCE).get == marker
    )


def _holds_bytes(files: GraphFiles) -> bool:
    try:
        return files.database.stat().st_size > 0
    except FileNotFoundError:
        return False


def _verify_writable(connection: apsw.Connection) -> None:
    # NOTE: SQLite opens a file it may not write for reading instead, and says so at a write only.
    if connection.readonly("main"):
        raise ConfigurationError(
            f"{connection.filename} cannot be opened for writing: give this user the right to it."
        )


def _verify_owner(connection: apsw.Connection) -> None:
    owner = connection.pragma("application_id")
    if owner == APPLICATION_ID:
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


def _read_or_make_facts(connection: apsw.Connection) -> str:
    """The instance id; made, with the secret and the counters, in a file that was just created."""
    instance: str | None = connection.execute(_INSTANCE).get
    if instance is None:
        instance = str(uuid.uuid4())
        created = datetime.now(UTC).isoformat(timespec="seconds")
        connection.execute(_NEW_FACTS, (instance, secrets.token_bytes(32), created)).fetchall()
        # The marker is written next, so what it stands for must be in the file itself.
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return instance


def _mark(files: GraphFiles, marker: str | None, instance: str) -> None:
    if marker is None:
        write_marker(files.marker, instance)
    elif marker != instance:
        raise build_damaged(
            str(files.database),
            f"it holds instance {instance}, but {files.marker.name} names {marker!r} (remove that "
            "file if the database was replaced on purpose)",
        )
