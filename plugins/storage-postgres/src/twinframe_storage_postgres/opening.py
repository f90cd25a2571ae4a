"""Creates the tables of a graph and migrates them, once for all nodes that open it."""

from __future__ import annotations

import re
import secrets
import time
import uuid
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import psycopg
from psycopg import errors as pg

from twinframe.errors import ConfigurationError, StorageBusy
from twinframe.runtime.backoff import Backoff
from twinframe_storage_postgres.connections import Connection
from twinframe_storage_postgres.errors import ReleaseTooOld, is_repeatable
from twinframe_storage_postgres.homes import FORWARDED, Forwarded, Home, drop_forward, read_forward

_MIGRATION: Final = re.compile(r"(\d{4})_[a-z_]+\.sql")
_LEAST: Final = re.compile(r"^-- least: (\d+)$", re.MULTILINE)
_HAS_SCHEMA: Final = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
_FIND_TABLES: Final = (
    "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename IN ('graph', 'control')"
)
_OWNER: Final = "postgres", "prefix"
"""Kind and key of the entry with the `Storage__Postgres__Schema` by which the graph is found."""
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_INDEX: Final = re.compile(r"^CREATE INDEX CONCURRENTLY (\w+) ON @(\w+) [^;]*(?=;)", re.MULTILINE)
_INDEX_STATE: Final = (
    "SELECT (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)), "
    "EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE relid = to_regclass(%s))"
)
_WAITS: Final = "SELECT set_config('lock_timeout', %s, true)"
_LOCK_FACTS: Final = 'SELECT version FROM "{}".graph FOR UPDATE'
_LONGEST_BLOCK: Final = "200ms"
"""How long a migration may wait for a table, because all who come later wait behind it."""
_LONGEST_TURN: Final = "5s"
_PATIENCE: Final = 300.0
"""Seconds after which a migration that never gets its tables is given up."""
_PAUSES: Final = Backoff(0.1, 2.0, spread=1)
_LOOK_SECONDS: Final = 0.2
_OLDEST_SERVER: Final = 140000
_RACES: Final = (pg.DuplicateTable, pg.DuplicateSchema, pg.UniqueViolation, pg.DuplicateObject)


@dataclass(frozen=True, slots=True)
class Migration:
    """`sql` makes version `version`, which releases can use that know version `least`.

    What only builds indexes is run outside of a transaction, while the tables are written.
    """

    version: int
    least: int
    sql: str

    @property
    def indexes(self) -> list[re.Match[str]]:
        """The statements that build indexes concurrently, with the names of index and table."""
        return [*_INDEX.finditer(self.sql)]


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


def open_graph(home: Home, prefix: str) -> None:
    """Create or migrate the tables, where the graph is. Any number of processes may do so at once.

    Raises `ConfigurationError` for a server or tables that this release cannot use, for a schema
    that holds something else, and for missing rights; `psycopg.Error`.
    """
    schema = home.schema
    try:
        home.run(lambda connection: _open(connection, schema, prefix))
    except _RACES:  # NOTE: a server without advisory locks: another process was faster
        home.run(lambda connection: _open(connection, schema, prefix))
    except (pg.FeatureNotSupported, pg.SyntaxError, pg.UndefinedFunction) as error:
        raise ConfigurationError(
            "The PostgreSQL server does not take the tables and functions of a graph: "
            f"{str(error).splitlines()[0]}. The plugin needs a server that runs SQL and PL/pgSQL "
            "as PostgreSQL 14 or later."
        ) from error
    except pg.InsufficientPrivilege as error:
        raise ConfigurationError(
            f"The user of Storage__Postgres__Url may not make or use the schema {schema}: "
            f"{str(error).splitlines()[0]}. Let it create schemas in the database, or create the "
            "schema and make the user its owner."
        ) from error


def _open(connection: Connection, schema: str, prefix: str) -> None:
    version = connection.info.server_version
    if version < _OLDEST_SERVER:
        raise ConfigurationError(
            f"The PostgreSQL server is version {version // 10000}. The plugin needs 14 or later."
        )
    if connection.info.encoding != "utf-8":
        raise ConfigurationError(
            f"The database is in {connection.info.encoding}. Create one with ENCODING 'UTF8'."
        )
    present = _read_version(connection, schema, prefix)
    if not present:
        create_tables(connection, schema, prefix)
        return
    for migration in load_migrations():
        if migration.version > present:
            _migrate(connection, schema, migration)


def create_tables(connection: Connection, schema: str, prefix: str) -> None:
    """Make all tables in one transaction; nobody uses them yet."""
    with connection.transaction():
        connection.execute(_LOCK, (schema,))
        present = _read_version(connection, schema, prefix)
        for migration in load_migrations():
            if migration.version > present:
                indexes = [_render_index(found, schema) for found in migration.indexes]
                sql = "; ".join(indexes).replace("INDEX CONCURRENTLY", "INDEX")
                _apply(connection, schema, migration, sql or migration.sql)
        if not present:
            connection.execute("INSERT INTO entry VALUES (%s, %s, %s)", (*_OWNER, prefix.encode()))


def _migrate(connection: Connection, schema: str, migration: Migration) -> None:
    """Make the next version, while other nodes read and write.

    NOTE: who waits for a table makes all others wait behind him. So it waits for a moment only,
    lets them pass, and tries again. It locks the row of facts first, as writers do: they never wait
    for each other.
    """
    end, attempt = time.monotonic() + _PATIENCE, 1
    _build_indexes(connection, schema, migration)
    while True:
        try:
            with connection.transaction():
                connection.execute(_LOCK, (schema,))
                connection.execute(_WAITS, (_LONGEST_TURN,))
                row = connection.execute(_LOCK_FACTS.format(schema)).fetchone()
                if row is not None and row[0] < migration.version:
                    connection.execute(_WAITS, (_LONGEST_BLOCK,))
                    sql = "" if migration.indexes else migration.sql
                    _apply(connection, schema, migration, sql)
        except psycopg.Error as error:
            if not isinstance(error, pg.LockNotAvailable) and not is_repeatable(error):
                raise
            if time.monotonic() > end:
                raise StorageBusy(
                    f"The tables of the schema {schema} could not be brought to version "
                    f"{migration.version}: others have them in use without a pause (a backup with "
                    "pg_dump, or a long report). Start again when they have ended."
                ) from error
        else:
            return
        time.sleep(_PAUSES.build_pause(attempt))
        attempt += 1


def _build_indexes(connection: Connection, schema: str, migration: Migration) -> None:
    """Build the indexes that are missing, or half built; nobody waits for it but this process.

    Several processes may do so at once: one builds, and the server ends the others as deadlocked,
    or because the index is there.
    """
    for found in migration.indexes:
        index, table = (f'"{schema}".{name}' for name in found.groups())
        while True:
            state = connection.execute(_INDEX_STATE, (index, table)).fetchone()
            is_valid, is_built = state or (None, False)
            if is_valid:
                break
            if is_built:
                time.sleep(_LOOK_SECONDS)
                continue
            try:
                if is_valid is not None:  # of a process that died
                    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index}")
                connection.execute(_render_index(found, schema))
            except (pg.DeadlockDetected, *_RACES):
                time.sleep(_LOOK_SECONDS)


def _render_index(found: re.Match[str], schema: str) -> str:
    return found[0].replace("@", f'"{schema}".')


def _read_version(connection: Connection, schema: str, prefix: str) -> int:
    """Return the version of the tables, 0 if there are none.

    Raises `ConfigurationError` when it is that of a later release which this one cannot use, and
    when the schema is that of something else.
    """
    if not has_own(connection, schema, prefix, "graph"):
        return 0
    row = connection.execute(f'SELECT version, least FROM "{schema}".graph').fetchone()  # noqa: S608  (checked by `build_schema`)
    if row is None:
        return 0
    version, least = row
    if version == FORWARDED:
        raise Forwarded
    newest = load_migrations()[-1].version
    if least > newest:
        raise ConfigurationError(
            f"The schema {schema} is at version {version} of a later release, for releases that "
            f"know version {least}; this one knows version {newest}. Install the later release on "
            "this node, too."
        )
    return min(int(version), newest)


def check_least(schema: str, least: int) -> None:
    """Raise `ReleaseTooOld` when the tables were migrated beyond this release while it runs."""
    newest = load_migrations()[-1].version
    if least > newest:
        raise ReleaseTooOld(
            f"The schema {schema} was migrated for releases that know version {least}; this node "
            f"knows version {newest}. Install the later release on it."
        )


def has_own(connection: Connection, schema: str, prefix: str, table: str) -> bool:
    """Return whether a schema has this table, `graph` or `control`.

    With the prefix `a`, the graph `b_c` would be where with `a_b` the graph `c` is. Raises
    `ConfigurationError` where the schema is another's.
    """
    tables = {name for (name,) in connection.execute(_FIND_TABLES, (schema,)).fetchall()}
    other = ""
    if tables - {table}:
        other = "a graph" if "graph" in tables else "records of a control plane or catalog"
    elif "graph" in tables:
        row = connection.execute(
            f'SELECT body FROM "{schema}".entry WHERE (kind, key) = (%s, %s)',  # noqa: S608  (checked by `build_schema`)
            _OWNER,
        ).fetchone()
        if row is not None and (found := bytes(row[0]).decode()) != prefix:
            other = f"a graph of a service with Storage__Postgres__Schema={found}"
    if other:
        raise ConfigurationError(
            f"The schema {schema} holds {other}. Choose another Storage__Postgres__Schema than "
            f"{prefix!r}, or another name for the graph."
        )
    return bool(tables)


def _apply(connection: Connection, schema: str, migration: Migration, sql: str) -> None:
    if connection.execute(_HAS_SCHEMA, (schema,)).fetchone() is None:
        connection.execute(f'CREATE SCHEMA "{schema}"')
    connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}"',))
    if sql:
        connection.execute(sql)
    if migration.version == 1:
        connection.execute(
            "INSERT INTO graph (version, least, instance, secret, model_version) "
            "VALUES (%s, %s, %s, %s, 0)",
            (1, migration.least, str(uuid.uuid4()), secrets.token_bytes(32)),
        )
    connection.execute(
        "UPDATE graph SET version = %s, least = %s", (migration.version, migration.least)
    )


def remove_graph(connection: Connection, schema: str, prefix: str, timeout: float) -> None:
    """Remove the schema with all that is in it, in one transaction.

    Raises `psycopg.Error`; `Forwarded` where only a forwarding record is, `ConfigurationError`
    where it holds something else.
    """
    if read_forward(connection, schema) is not None:
        raise Forwarded
    with connection.transaction():
        connection.execute(
            "SELECT set_config('lock_timeout', %s, true)", (str(max(int(timeout * 1000), 1)),)
        )
        connection.execute(_LOCK, (schema,))
        has_own(connection, schema, prefix, "graph")
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


def remove_forward(connection: Connection, schema: str, timeout: float) -> None:
    """Remove the forwarding record, if there is one. Raises `psycopg.Error`."""
    with connection.transaction():
        connection.execute(
            "SELECT set_config('lock_timeout', %s, true)", (str(max(int(timeout * 1000), 1)),)
        )
        drop_forward(connection, schema)
