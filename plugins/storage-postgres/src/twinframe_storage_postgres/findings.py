"""Checks the PostgreSQL server for `twinframe check`, without changing anything."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import psycopg
from psycopg import errors as pg
from pydantic import SecretStr

from twinframe.errors import ConfigurationError
from twinframe.runtime.diagnosis.directories import check_directory
from twinframe.runtime.diagnosis.findings import Finding, build_error, build_fine, build_warning
from twinframe_storage_postgres.connections import Connection, connect
from twinframe_storage_postgres.opening import load_migrations
from twinframe_storage_postgres.settings import PostgresSettings

_OLDEST: Final = 140000
_SETTINGS: Final = (
    "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', "
    "'full_page_writes', 'data_checksums', 'max_connections', 'transaction_read_only')"
)
_MAY_CREATE: Final = "SELECT has_database_privilege(current_database(), 'CREATE')"
_CLOCK: Final = "SELECT extract(epoch FROM clock_timestamp())::float8"
_MOST_SECONDS: Final = 1.0
"""By which the clocks of nodes may differ; each node has its time from the same sources."""
_GRAPHS: Final = (
    "SELECT schemaname FROM pg_tables WHERE tablename = 'graph' AND starts_with(schemaname, %s) "
    "ORDER BY 1 LIMIT 1000"
)
_SCHEMAS: Final = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"


def list_findings(settings: PostgresSettings) -> Sequence[Finding]:
    """Check the directory, the connection, the server's version, settings and rights."""
    directory = Path(settings.directory)
    found = [*check_directory("Storage__Postgres__Directory", directory, shares_memory=False)]
    try:
        connection = connect(settings)
    except ConfigurationError as error:
        return [*found, build_error("storage", error.message)]
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()
        return [
            *found,
            build_error(
                "storage",
                f"The PostgreSQL server cannot be reached: {reason[0] if reason else error!r}.",
                "Check Storage__Postgres__Url, the server, and what is between.",
            ),
        ]
    try:
        return [
            *found,
            *_check_server(connection, settings),
            *_check_standbys(settings),
            *_check_databases(settings),
        ]
    finally:
        connection.close()


def _check_server(connection: Connection, settings: PostgresSettings) -> Iterator[Finding]:
    version = connection.info.server_version
    text = f"PostgreSQL {version // 10000}.{version % 10000}"
    if version < _OLDEST:
        yield build_error("versions", f"{text}: the plugin needs 14 or later.", "Upgrade it.")
        return
    yield build_fine("versions", text)
    values: dict[str, str] = dict(connection.execute(_SETTINGS).fetchall())
    yield from _check_durability(values, settings)
    if connection.info.encoding != "utf-8":
        yield build_error(
            "storage",
            f"The database is in {connection.info.encoding}.",
            "Create one with ENCODING 'UTF8'.",
        )
    if values.get("transaction_read_only") == "on":
        yield build_error(
            "storage",
            "The server is a standby, or read-only.",
            "Name the primary in Storage__Postgres__Url, or all hosts and "
            "target_session_attrs=read-write.",
        )
    if int(values.get("max_connections", "0")) < 2 * settings.connections:
        yield build_warning(
            "storage",
            f"The server takes {values.get('max_connections')} connections, a worker up to "
            f"{settings.connections} of them.",
            "Raise max_connections to more than the connections of all workers of all nodes, or "
            "lower Storage__Postgres__Connections.",
        )
    yield from _check_clock(connection)
    yield from _check_rights(connection, settings)
    yield from _check_tables(connection, settings)


def _check_clock(connection: Connection) -> Iterator[Finding]:
    """Compare the clocks: the moments of a graph never go back, so the fastest node sets them."""
    before = time.time()
    ((there,),) = connection.execute(_CLOCK).fetchall()
    late = time.time() - before
    ahead = before + late / 2 - there
    if abs(ahead) <= _MOST_SECONDS + late:
        return
    word = "ahead of" if ahead > 0 else "behind"
    yield build_warning(
        "clock",
        f"This machine's clock is {abs(ahead):.0f} s {word} that of the PostgreSQL server. Moments "
        "of writes never go back: those of all nodes follow the fastest clock, and stand still "
        "until the others have caught up.",
        "Synchronise the clocks of all nodes and of the server (NTP).",
    )


def _check_tables(connection: Connection, settings: PostgresSettings) -> Iterator[Finding]:
    """Say which graphs have tables of another release."""
    newest = load_migrations()[-1].version
    older = later = 0
    for (schema,) in connection.execute(_GRAPHS, (f"{settings.schema_}_",)).fetchall():
        try:
            row = connection.execute(f'SELECT version, least FROM "{schema}".graph').fetchone()  # noqa: S608  (read from the catalog)
        except (pg.UndefinedTable, pg.UndefinedColumn, pg.InsufficientPrivilege):
            continue  # it was removed meanwhile, or is none of ours
        version, least = row or (newest, newest)
        older += version < newest
        later += version > newest
        if least > newest:
            yield build_error(
                "versions",
                f"The tables of {schema} are at version {version}, for releases that know version "
                f"{least}; this one knows version {newest}.",
                "Install the later release.",
            )
    if older:
        yield build_fine("versions", f"{older} graphs are migrated when they are opened.")
    if later:
        yield build_fine("versions", f"A later release has migrated {later} graphs already.")


def _check_databases(settings: PostgresSettings) -> Iterator[Finding]:
    for name in settings.databases:
        key = f"Storage__Postgres__Databases__{name}"
        try:
            with connect(settings.build_for(name)) as connection:
                row = connection.execute(_MAY_CREATE).fetchone()
        except psycopg.Error as error:
            reason = (str(error).strip().splitlines() or [repr(error)])[0]
            text = f"The database of {key} cannot be reached: {reason}."
            yield build_error("storage", text, "Check its connection string, and the server.")
            continue
        if row == (True,):
            yield build_fine("storage", f"The database of {key} takes graphs.")
        else:
            text = f"The user may not create schemas in the database of {key}."
            yield build_error("storage", text, "GRANT CREATE ON DATABASE to it.")


def _check_standbys(settings: PostgresSettings) -> Iterator[Finding]:
    for number, url in enumerate(settings.read_urls.get_secret_value().split(), start=1):
        name = f"Server {number} of Storage__Postgres__ReadUrls"
        try:
            with connect(settings.model_copy(update={"url": SecretStr(url)})) as connection:
                row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
        except psycopg.Error as error:
            reason = (str(error).strip().splitlines() or [repr(error)])[0]
            text = f"{name} cannot be reached, so that nothing is read from it: {reason}."
            yield build_warning("storage", text, "Check its connection string, and the server.")
            continue
        if row == (True,):
            yield build_fine("storage", f"{name} is a standby.")
        else:
            text = f"{name} is no standby, so that nothing is read from it."
            yield build_warning("storage", text, "Name servers that follow the primary.")


def _check_durability(values: dict[str, str], settings: PostgresSettings) -> Iterator[Finding]:
    for name in ("fsync", "full_page_writes"):
        if values.get(name) == "off":
            yield build_error(
                "durability",
                f"{name} is off on the PostgreSQL server: power loss may destroy the database.",
                f"Set {name} = on.",
            )
    if settings.durability == "relaxed":
        yield build_warning(
            "durability",
            "Storage__Postgres__Durability=relaxed: a crash of the server may take the last "
            "writes.",
            "Set Storage__Postgres__Durability=full, unless they can be had again.",
        )
    elif values.get("synchronous_commit") == "off":
        yield build_fine(
            "durability", "synchronous_commit is off on the server; the service sets it to on."
        )
    if values.get("data_checksums") == "off":
        yield build_warning(
            "durability",
            "The server's pages have no checksums: flipped bits on its disk are not found.",
            "Stop the server and run pg_checksums --enable.",
        )


def _check_rights(connection: Connection, settings: PostgresSettings) -> Iterator[Finding]:
    may_create = connection.execute(_MAY_CREATE).fetchone()
    schemas = connection.execute(_SCHEMAS, (f"{settings.schema_}_",)).fetchall()
    if may_create is not None and may_create[0]:
        yield build_fine("storage", f"The user may create schemas; there are {len(schemas)}.")
    elif not schemas:
        yield build_error(
            "storage",
            "The user may not create schemas in the database, and there is none for a graph.",
            "GRANT CREATE ON DATABASE to it, or create the schema and make the user its owner.",
        )
