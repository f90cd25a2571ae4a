"""Creates the tables of a graph and migrates them, once for all nodes that open it."""

from __future__ import annotations

import re
import secrets
import uuid
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from psycopg import errors as pg

from twinframe.errors import ConfigurationError
from twinframe_storage_postgres.connections import Connection, Connections

_MIGRATION: Final = re.compile(r"(\d{4})_[a-z_]+\.sql")
_LEAST: Final = re.compile(r"^-- least: (\d+)$", re.MULTILINE)
_HAS_SCHEMA: Final = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
_HAS_TABLES: Final = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'graph'"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_OLDEST_SERVER: Final = 140000
_RACES: Final = (pg.DuplicateTable, pg.DuplicateSchema, pg.UniqueViolation, pg.DuplicateObject)


@dataclass(frozen=True, slots=True)
class Migration:
    """`sql` makes version `version`, which releases can use that know version `least`."""

    version: int
    least: int
    sql: str


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Return the migrations in order."""
    found = []
    for file in files("twinframe_storage_postgres.migrations").iterdir():
        name = _MIGRATION.fullmatch(file.name)
        if name:
            sql = file.read_text(encoding="utf-8")
            least = _LEAST.search(sql)
            version = int(name[1])
            found.append(Migration(version, int(least[1]) if least else version, sql))
    return tuple(sorted(found, key=lambda each: each.version))


def open_graph(connections: Connections, schema: str) -> None:
    """Create or migrate the tables. Any number of processes may do this at once.

    Raises `ConfigurationError` for a server or tables that this release cannot use, and for missing
    rights; `psycopg.Error`.
    """
    try:
        connections.run(lambda connection: _open(connection, schema))
    except _RACES:  # NOTE: a server without advisory locks: another process was faster
        connections.run(lambda connection: _open(connection, schema))
    except pg.InsufficientPrivilege as error:
        raise ConfigurationError(
            f"The user of Storage__Postgres__Url may not make or use the schema {schema}: "
            f"{str(error).splitlines()[0]}. Let it create schemas in the database, or create the "
            "schema and make the user its owner."
        ) from error


def _open(connection: Connection, schema: str) -> None:
    version = connection.info.server_version
    if version < _OLDEST_SERVER:
        raise ConfigurationError(
            f"The PostgreSQL server is version {version // 10000}. The plugin needs 14 or later."
        )
    if connection.info.encoding != "utf-8":
        raise ConfigurationError(
            f"The database is in {connection.info.encoding}. Create one with ENCODING 'UTF8'."
        )
    newest = load_migrations()[-1].version
    if _read_version(connection, schema) == newest:
        return
    with connection.transaction():
        connection.execute(_LOCK, (schema,))
        present = _read_version(connection, schema)
        for migration in load_migrations():
            if migration.version > present:
                _apply(connection, schema, migration)


def _read_version(connection: Connection, schema: str) -> int:
    """Return the version of the tables, 0 if there are none.

    Raises `ConfigurationError` when it is that of a later release which this one cannot use.
    """
    if connection.execute(_HAS_TABLES, (schema,)).fetchone() is None:
        return 0
    row = connection.execute(f'SELECT version, least FROM "{schema}".graph').fetchone()  # noqa: S608  (checked by `build_schema`)
    if row is None:
        return 0
    version, least = row
    newest = load_migrations()[-1].version
    if least > newest:
        raise ConfigurationError(
            f"The schema {schema} is at version {version} of a later release; this one knows "
            f"version {newest}. Install the later release on this node, too."
        )
    return max(int(version), 0) if version < newest else newest


def _apply(connection: Connection, schema: str, migration: Migration) -> None:
    if connection.execute(_HAS_SCHEMA, (schema,)).fetchone() is None:
        connection.execute(f'CREATE SCHEMA "{schema}"')
    connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}"',))
    connection.execute(migration.sql)
    if migration.version == 1:
        connection.execute(
            "INSERT INTO graph (version, least, instance, secret, model_version) "
            "VALUES (%s, %s, %s, %s, 0)",
            (1, migration.least, str(uuid.uuid4()), secrets.token_bytes(32)),
        )
    connection.execute(
        "UPDATE graph SET version = %s, least = %s", (migration.version, migration.least)
    )


def remove_graph(connection: Connection, schema: str, timeout: float) -> None:
    """Remove the schema with all that is in it, in one transaction. Raises `psycopg.Error`."""
    with connection.transaction():
        connection.execute(
            "SELECT set_config('lock_timeout', %s, true)", (str(max(int(timeout * 1000), 1)),)
        )
        connection.execute(_LOCK, (schema,))
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
