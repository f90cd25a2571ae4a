"""The database that holds a graph, of several; follows the graph when it is moved to another.

A database that a graph was moved from has a forwarding record: the table `graph` in a schema of the
graph's name, with other columns. No statement for the graph itself runs there any more.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeVar

from psycopg import errors as pg

from twinframe.errors import StorageError
from twinframe_storage_postgres.connections import (
    DURABLE,
    WARNED,
    Connection,
    Connections,
    release_connections,
    share_connections,
    watching_standbys,
)
from twinframe_storage_postgres.settings import MAIN, PostgresSettings
from twinframe_storage_postgres.standbys import Standbys

T = TypeVar("T")

FORWARDED: Final = 2_000_000_000
"""The version of the tables in a forwarding record; releases that know none refuse it."""
GONE: Final = (pg.UndefinedTable, pg.UndefinedColumn, pg.InvalidSchemaName, pg.UndefinedFunction)
"""How statements for a graph fail where it was moved away."""

MOST_HOPS: Final = 16
"""How often a statement is run again for a graph that is gone."""
_MOVE: Final = re.compile(r"[0-9a-f]{16}")
_HAS_SCHEMA: Final = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_FORWARD: Final = "SELECT moved_to, move FROM {}.graph"


@dataclass(frozen=True, slots=True)
class Forward:
    """Where a graph went: the name of its database, and the id of the move."""

    database: str
    move: str


class Forwarded(Exception):
    """The database has the forwarding record of a graph, not the graph."""


def quote(name: str) -> str:
    """Quote the name of a schema, table or column."""
    return '"' + name.replace('"', '""') + '"'


def build_arriving(settings: PostgresSettings, move: str) -> str:
    """Build the name of the schema in which a graph arrives; no graph's name has a dot."""
    return f"{settings.schema_}_arriving.{_check(move)}"


def build_left(settings: PostgresSettings, move: str) -> str:
    """Build the name of the schema of what a graph has left behind."""
    return f"{settings.schema_}_left.{_check(move)}"


def _check(move: str) -> str:
    # SEC: it becomes part of statements.
    if not _MOVE.fullmatch(move):
        raise ValueError(f"{move!r} is no id of a move: 16 hexadecimal digits")
    return move


def read_forward(connection: Connection, schema: str) -> Forward | None:
    """Read the forwarding record, outside of a transaction; None where there is none."""
    try:
        row = connection.execute(_FORWARD.format(quote(schema))).fetchone()
    except GONE:
        return None
    return None if row is None else Forward(*row)


def write_forward(connection: Connection, schema: str, left: str, forward: Forward) -> None:
    """Rename the schema of a graph to `left`, and make the forwarding record, in a transaction."""
    # SEC: names of databases and ids of moves have letters, digits and hyphens only.
    connection.execute(
        f"ALTER SCHEMA {quote(schema)} RENAME TO {quote(left)}; "
        f"CREATE SCHEMA {quote(schema)}; "
        f"CREATE TABLE {quote(schema)}.graph AS SELECT {FORWARDED} AS version, "
        f"{FORWARDED} AS least, '{forward.database}'::text AS moved_to, "
        f"'{forward.move}'::text AS move"
    )


def receive(connection: Connection, schema: str, arriving: str) -> None:
    """Give a graph that has arrived its name, if that is not done yet. Raises `psycopg.Error`.

    Any number of processes may do this at once, once the source has its forwarding record.
    """
    if connection.execute(_HAS_SCHEMA, (arriving,)).fetchone() is None:
        return
    with watching_standbys(connection), connection.transaction():
        connection.execute(f"SELECT {DURABLE}, {WARNED}")
        connection.execute(_LOCK, (schema,))
        if connection.execute(_HAS_SCHEMA, (arriving,)).fetchone() is None:
            return
        drop_forward(connection, schema)
        connection.execute(f"ALTER SCHEMA {quote(arriving)} RENAME TO {quote(schema)}")


def drop_forward(connection: Connection, schema: str) -> None:
    """Remove the forwarding record of a graph, if that is what is there. In a transaction."""
    row = connection.execute(
        "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'moved_to'",
        (f"{quote(schema)}.graph",),
    ).fetchone()
    if row is not None:
        connection.execute(f"DROP SCHEMA {quote(schema)} CASCADE")


def _has_graph(connection: Connection, schema: str) -> bool:
    name = f"{quote(schema)}.twin"
    return connection.execute("SELECT to_regclass(%s) IS NOT NULL", (name,)).fetchone() == (True,)


def _do_nothing() -> None:
    """Do nothing: the default where nobody asks for moves."""


class Home:
    """The database that a graph is in at present, for a store and all its sessions.

    `open` it first. It keeps the connections to former databases until it is closed, because other
    threads may use them.
    """

    def __init__(self, settings: PostgresSettings, schema: str, database: str = "") -> None:
        self.schema = schema
        self.database = database or MAIN
        self._settings = settings
        self._lock = threading.Lock()
        self.on_move: Callable[[], None] = _do_nothing
        """Called after it went to another database."""
        self._held: list[tuple[Connections, Standbys]] = []
        self._present: tuple[Connections, Standbys] | None = None

    @property
    def connections(self) -> Connections:
        """The connections to the primary. Raises `StorageError` while the store is not open."""
        if self._present is None:
            raise StorageError("The store is not open.")
        return self._present[0]

    @property
    def standbys(self) -> Standbys:
        """The standbys that follow it. Raises `StorageError` while the store is not open."""
        if self._present is None:
            raise StorageError("The store is not open.")
        return self._present[1]

    def open(self) -> None:
        """Take connections. Raises `ConfigurationError` for a database without a setting."""
        with self._lock:
            self._go(self.database)

    def close(self) -> None:
        """Release the connections."""
        with self._lock:
            for connections, standbys in self._held:
                release_connections(connections)
                standbys.close()
            self._held, self._present = [], None

    def run(self, use: Callable[[Connection], T]) -> T:
        """Use a connection; again in another database where the graph was moved there.

        As `Connections.run`: only for what may run twice.
        """
        for hop in count():
            connections = self.connections
            try:
                return connections.run(use)
            except (*GONE, Forwarded) as error:
                if hop == MOST_HOPS or not self.follow(error, connections, again=not hop):
                    raise
        raise AssertionError

    def follow(
        self, error: BaseException | None, source: Connections, *, again: bool = False
    ) -> bool:
        """Go to where the graph was moved, if that is why a statement failed with `error`.

        `source` are the connections to the primary that it was run for. With `again` it also counts
        that the graph is there now: it may have come back. Raises `psycopg.Error`,
        `ConfigurationError`.
        """
        if not isinstance(error, (*GONE, Forwarded)):
            return False
        with self._lock:
            if self._present is None or self._present[0] is not source:
                return self._present is not None  # another thread was faster
            forward = source.run(lambda connection: read_forward(connection, self.schema))
            if forward is None:
                return again and source.run(lambda connection: _has_graph(connection, self.schema))
            self._go(forward.database, build_arriving(self._settings, forward.move))
            self.on_move()
            return True

    def find_left(self, source: Connections) -> str:
        """Return the name of the schema of what the graph left behind; empty where it left none."""
        forward = source.run(lambda connection: read_forward(connection, self.schema))
        return "" if forward is None else build_left(self._settings, forward.move)

    def _go(self, database: str, arriving: str = "") -> None:
        settings = self._settings.build_for(database)
        connections = share_connections(settings)
        self._held.append((connections, Standbys(settings)))
        if arriving:
            connections.run(lambda connection: receive(connection, self.schema, arriving))
        self._present = self._held[-1]
        self.database = database
