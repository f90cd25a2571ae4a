"""The ordered schema migrations of a database file, each applied completely or not at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import Final

import apsw

from twinframe.errors import ConfigurationError

_NAME: Final = re.compile(r"(\d{4})_\w+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """The step to schema version `version`; `script` is SQL without BEGIN and COMMIT."""

    version: int
    script: str


def load_migrations(folder: str = "") -> tuple[Migration, ...]:
    """Load all migrations that this release knows, from version 1 up, without a gap.

    Those of graphs are in this package itself, others in a `folder` of it.
    """
    found = []
    for entry in (resources.files(__name__) / folder).iterdir():
        match = _NAME.fullmatch(entry.name)
        if match:
            found.append(Migration(int(match[1]), entry.read_text(encoding="utf-8")))
    found.sort(key=lambda migration: migration.version)
    return tuple(found)


def read_version(connection: apsw.Connection) -> int:
    """Return the schema version of the file; 0 is an empty file."""
    return int(connection.pragma("user_version"))


def apply_migrations(connection: apsw.Connection, migrations: tuple[Migration, ...]) -> int:
    """Migrate the file to the newest version; return the number of steps taken.

    Each step and its version number are one transaction. Raises `ConfigurationError` when the file
    is newer than this release. The caller holds the writer lock.
    """
    newest = migrations[-1].version
    present = read_version(connection)
    if present > newest:
        raise ConfigurationError(
            f"{connection.filename} has schema version {present}; this release of "
            f"twinframe-storage-sqlite knows versions up to {newest}. Install a newer release."
        )
    missing = [migration for migration in migrations if migration.version > present]
    for migration in missing:
        _apply(connection, migration)
    return len(missing)


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE").fetchall()
    try:
        connection.execute(migration.script).fetchall()
        connection.execute(f"PRAGMA user_version = {migration.version}").fetchall()
        connection.execute("COMMIT").fetchall()
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK").fetchall()
