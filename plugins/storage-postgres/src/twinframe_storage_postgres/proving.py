"""Finds out what a server is: refuses one that would lose writes, and proves what queries it runs.

A process does this once for each kind of server, when it opens the first graph on it.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from psycopg import errors as pg

from twinframe.errors import ConfigurationError
from twinframe_storage_postgres.compiler.abilities import Abilities
from twinframe_storage_postgres.compiler.probing import ProbeSession, probe
from twinframe_storage_postgres.connections import Connection, Connections
from twinframe_storage_postgres.homes import Home
from twinframe_storage_postgres.statements import qualify

_log: Final = logging.getLogger(__name__)

# NOTE: relatives that are extensions have the version of PostgreSQL.
_KIND: Final = (
    "SELECT version(), current_database(), ARRAY(SELECT extname || ' ' || extversion "
    "FROM pg_extension ORDER BY extname)"
)
_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_PATIENCE: Final = "SELECT set_config('lock_timeout', '5s', true)"
_LOCK: Final = "SELECT 1 FROM @graph FOR UPDATE"
_PUT: Final = (
    "WITH put AS (INSERT INTO @writer (id, batch) VALUES (%s, %s) "
    "ON CONFLICT (id) DO UPDATE SET batch = excluded.batch RETURNING batch) "
    "SELECT batch FROM put"
)
_READ: Final = "SELECT batch FROM @writer WHERE id = %s"
_FORGET: Final = (
    "WITH gone AS (DELETE FROM @writer WHERE id = %s RETURNING batch) SELECT batch FROM gone"
)

_found: Final[dict[tuple[Any, ...], Abilities]] = {}
_finding: Final = threading.Lock()


def prove_server(home: Home) -> Abilities:
    """Return what queries the server runs exactly, over the tables of this graph.

    Raises `ConfigurationError` for a server whose transactions are not what writes need;
    `psycopg.Error` and `StorageBusy` where it does not answer.
    """
    connections = home.connections
    kind = connections.run(_read_kind)
    with _finding:
        found = _found.get(kind)
        if found is None:
            check_transactions(connections, home.schema)
            found = probe(ProbeSession(home))
            _found[kind] = found
            if found.proven is not None:
                _log.warning(
                    "The PostgreSQL server is not exact, or not quick, in all of SQL; queries that "
                    "need more run in the service. It is %s",
                    kind[2],
                )
        return found


def _read_kind(connection: Connection) -> tuple[Any, ...]:
    (row,) = connection.execute(_KIND).fetchall()
    return (connection.info.host, connection.info.port, *row[:-1], tuple(row[-1]))


def check_transactions(connections: Connections, schema: str) -> None:
    """Raise `ConfigurationError` unless transactions of the server are those that writes rely on.

    Another writer that holds the lock of the graph for long proves them: then nothing is checked.
    """
    first, _ = connections.take()
    try:
        second, _ = connections.take()
        try:
            missing = [*_Transactions(first, second, schema).find_missing()]
        finally:
            _give(connections, second)
    except pg.LockNotAvailable:
        return
    finally:
        _give(connections, first)
    if missing:
        raise ConfigurationError(
            f"The PostgreSQL server does not keep what exact writes rely on: {'; '.join(missing)}. "
            "Use a server, or settings of it, with the transactions of PostgreSQL."
        )


def _give(connections: Connections, connection: Connection) -> None:
    connections.end(connection)


class _Transactions:
    """Two connections, of which one writes what the other may see, or may not."""

    def __init__(self, first: Connection, second: Connection, schema: str) -> None:
        self._first, self._second, self._schema = first, second, schema
        self._id = f"probe-{uuid.uuid4().hex}"

    def find_missing(self) -> Iterator[str]:
        """Yield in words what the server does not keep."""
        self._second.execute(_SNAPSHOT)
        before = self._read()
        with self._writing(1) as returned:
            pass
        if returned != 1:
            yield "RETURNING of a change within WITH"
        if self._read() != before:
            yield "a REPEATABLE READ transaction sees one state throughout"
        self._second.execute("COMMIT")
        if self._read() != 1:
            yield "a read sees all that was committed before it"
        yield from self._find_missing_locks()
        self._second.execute("ROLLBACK")
        if self._ask(self._first, _FORGET, self._id) != 2:  # the last that was put
            yield "RETURNING of a change within WITH"

    def _find_missing_locks(self) -> Iterator[str]:
        with self._writing(2):
            self._second.execute(_BEGIN)
            if self._read() != 1:
                yield "a transaction sees only what is committed"
            self._second.execute("SAVEPOINT waiting")
            try:
                self._ask(self._second, f"{_LOCK} NOWAIT")
                yield "SELECT … FOR UPDATE keeps others out"
            except pg.LockNotAvailable:
                pass
            self._second.execute("ROLLBACK TO SAVEPOINT waiting")
        try:
            self._ask(self._second, _LOCK)
            seen = self._read()
        except pg.SerializationFailure:  # the batch would be run again, and see it
            return
        if seen != 2:  # the last that was put
            yield "who gets a lock sees what its last holder committed"

    @contextmanager
    def _writing(self, batch: int) -> Iterator[int | None]:
        """Write under the lock of the graph, and commit at the end."""
        self._first.execute(_BEGIN)
        self._first.execute(_PATIENCE)
        self._ask(self._first, _LOCK)
        yield self._ask(self._first, _PUT, self._id, batch)
        self._first.execute("COMMIT")

    def _read(self) -> int | None:
        return self._ask(self._second, _READ, self._id)

    def _ask(self, connection: Connection, sql: str, *values: object) -> int | None:
        row = connection.execute(qualify(sql, self._schema).encode(), values).fetchone()
        return None if row is None else int(row[0])
