"""Tables that a plugin keeps in the schema of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import count, islice
from threading import Lock
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors as pg

from twinframe.errors import StorageError, StorageMoved, StorageUnanswered
from twinframe.storage.tables import Row, Tables, TableSession, rename_tables
from twinframe_storage_postgres.connections import (
    DURABLE,
    Connection,
    Connections,
    watching_standbys,
)
from twinframe_storage_postgres.errors import MOVED, EngineError, build_error, is_lost
from twinframe_storage_postgres.homes import GONE, MOST_HOPS, Forwarded, Home, read_forward
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.statements import GO_BACK, KEEP, KEPT, send

T = TypeVar("T")

_AT_ONCE: Final = 100
"""Statements of one trip."""
_ROWS: Final = 1000
"""Rows of one trip of a cursor."""
_EXISTS: Final = "SELECT to_regclass(%s) IS NOT NULL"
_VERSION: Final = "SELECT value FROM @meta WHERE key = 'version'"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_LOCK_GRAPH: Final = 'SELECT instance FROM "{}".graph FOR UPDATE'
_SIZE: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = %s AND c.relkind = 'r' AND starts_with(c.relname, %s)"
)
_PRESENT: Final = "SELECT 1 FROM @meta WHERE key = 'version'"
_READ: Final = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_PRESENT}"
_WRITE: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT {durability}, "
    "set_config('lock_timeout', '{turn}', true), "
    "set_config('idle_in_transaction_session_timeout', '{idle}', true); "
    # NOTE: who waited for the lock while the graph was moved has locked a row that was left behind.
    # Another kind of lock makes the server look the name up again.
    f"{_PRESENT} FOR UPDATE; {_PRESENT}"
)
_RELAXED: Final = "set_config('synchronous_commit', 'off', true)"
_RACES: Final = (pg.DuplicateTable, pg.UniqueViolation, pg.DuplicateObject)


class PostgresTables(Tables):
    """The tables whose names begin with `prefix` in the schema of a graph.

    Among them is `@meta` with a `key` and a `value`, a row of which has the key `version`: writers
    lock it.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        home: Home,
        prefix: str,
        version: int,
        statements: Sequence[str],
    ) -> None:
        """`statements` create the tables of that `version`."""
        self._settings, self._schema, self._prefix = settings, home.schema, prefix
        self._home = home
        self._version, self._statements = version, statements
        self._is_open = False
        self._sharing = Lock()
        self._is_ready = False

    def exists(self) -> bool:
        """Return whether they were created, by any process."""
        if self._is_ready:
            return True
        try:
            self._share()
            return self._home.run(self._find)
        except EngineError as error:
            raise build_error(error) from error

    @contextmanager
    def reading(self, *, long: bool = False) -> Iterator[TableSession]:
        """See one state inside, of the primary."""
        self._prepare()
        with self._using(_render(_READ, self._schema, self._prefix)) as connection:
            if not long:
                yield _Session(connection, self._schema, self._prefix)
                return
            find_left = partial(self._home.find_left, self._home.connections)
            yield _LongSession(connection, self._schema, self._prefix, find_left)

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[TableSession]:
        """Commit what is done inside, or undo it, under the lock of a row.

        Raises `StorageUnanswered` when the connection is lost in COMMIT.
        """
        self._prepare()
        with self._using(self._build_write(durable)) as connection:
            yield _Session(connection, self._schema, self._prefix)
            try:
                with watching_standbys(connection):
                    connection.execute("COMMIT")
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
                connection.close()
                raise StorageUnanswered(
                    "The PostgreSQL server did not answer a write, which may be made or not: "
                    "read before repeating it."
                ) from error

    def measure(self) -> int:
        """Return the bytes of the tables with their indexes."""
        try:
            self._share()
            return self._home.run(self._measure)
        except EngineError as error:
            raise build_error(error) from error

    def close(self) -> None:
        """Release the connections."""
        with self._sharing:
            if self._is_open:
                self._home.close()
            self._is_open = False

    def _share(self) -> Connections:
        with self._sharing:
            if not self._is_open:
                self._home.open()
                self._is_open = True
            return self._home.connections

    # --- transactions ---------------------------------------------------------------------------

    def _build_write(self, durable: bool) -> str:
        settings = self._settings
        is_relaxed = not durable or settings.durability == "relaxed"
        text = _WRITE.format(
            durability=_RELAXED if is_relaxed else DURABLE,
            turn=int(settings.turn_timeout * 1000),
            idle=int(settings.idle_timeout * 1000),
        )
        return _render(text, self._schema, self._prefix)

    @contextmanager
    def _using(self, begin: str) -> Iterator[Connection]:
        """Begin a transaction on a connection; end it, unless it was committed."""
        connections, connection = self._begin(begin)
        try:
            yield connection
        except EngineError as error:
            if is_lost(error):
                connection.close()
            if isinstance(error, GONE) and self._home.follow(error, connections):
                raise StorageMoved(MOVED) from error
            raise build_error(error) from error
        finally:
            if connection.closed:
                connections.give(connection)
            else:
                connections.end(connection)

    def _begin(self, begin: str) -> tuple[Connections, Connection]:
        """Begin it where the graph is."""
        for hop in count():
            connections = self._share()
            try:
                return connections, _begin_at(connections, begin)
            except EngineError as error:
                is_again = hop < MOST_HOPS
                if is_again and self._home.follow(error, connections, again=not hop):
                    continue
                raise build_error(error) from error
        raise AssertionError

    # --- opening --------------------------------------------------------------------------------

    def _prepare(self) -> None:
        if self._is_ready:
            return
        try:
            self._share()
            try:
                self._home.run(self._create)
            except _RACES:  # NOTE: a server without advisory locks: another process was faster
                self._home.run(self._create)
        except EngineError as error:
            raise build_error(error) from error
        self._is_ready = True

    def _find(self, connection: Connection) -> bool:
        """Look for the tables. Raises `Forwarded` where the graph was moved away."""
        if self._exists(connection):
            return True
        if read_forward(connection, self._schema) is not None:
            raise Forwarded
        return False

    def _create(self, connection: Connection) -> None:
        if self._find(connection):
            self._check(connection)
            return
        with connection.transaction():
            connection.execute(_LOCK, (self._schema,))
            # NOTE: a move of the graph takes this lock, and then looks for tables like these.
            if connection.execute(_EXISTS, (f'"{self._schema}".graph',)).fetchone() == (True,):
                connection.execute(_LOCK_GRAPH.format(self._schema))
            if not self._exists(connection):
                for statement in self._statements:
                    connection.execute(_render(statement, self._schema, self._prefix))

    def _measure(self, connection: Connection) -> int:
        size = (self._schema, f"{self._prefix}_")
        found = connection.execute(_SIZE, size).fetchone()
        if found is not None and found[0]:
            return int(found[0])
        if read_forward(connection, self._schema) is not None:
            raise Forwarded
        return 0

    def _exists(self, connection: Connection) -> bool:
        name = _render("@meta", self._schema, self._prefix)
        found = connection.execute(_EXISTS, (name,)).fetchone()
        return found is not None and bool(found[0])

    def _check(self, connection: Connection) -> None:
        text = _render(_VERSION, self._schema, self._prefix)
        found = connection.execute(text).fetchone()
        if found is None or found[0] > self._version:
            raise StorageError(
                f"The tables {self._prefix}_* in the schema {self._schema} are of a newer release "
                f"(version {found and found[0]}); this one reads version {self._version}. Install "
                "the release that made them."
            )


def _begin_at(connections: Connections, begin: str) -> Connection:
    while True:
        connection, is_new = connections.take()
        try:
            cursor = connection.execute(begin)
            while cursor.nextset():
                pass
        except BaseException as error:
            if not is_lost(error):
                connections.end(connection)
                raise
            connection.close()
            connections.give(connection)  # a server that was restarted: the others are lost too
            if is_new:
                raise
        else:
            return connection


class _Session(TableSession):
    def __init__(self, connection: Connection, schema: str, prefix: str) -> None:
        self._connection = connection
        self._place = schema, prefix
        self._names = count()

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run it in one trip."""
        return self._send(statement, [values])[0]

    def read_each(self, statement: str, many: Iterable[Sequence[Any]]) -> Iterator[list[Row]]:
        """Run a hundred in one trip."""
        rest = iter(many)
        while some := list(islice(rest, _AT_ONCE)):
            yield from self._send(statement, some)

    def iterate(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Read it by a cursor of the server."""
        with self._open(statement, values) as cursor:
            yield from cursor

    def _open(self, statement: str, values: Sequence[Any]) -> psycopg.ServerCursor[Row]:
        cursor = self._connection.cursor(f"rows{next(self._names)}", binary=True)
        cursor.itersize = _ROWS
        return cursor.execute(_render(statement, *self._place), values or None)

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run it in one trip."""
        return self._connection.execute(_render(statement, *self._place), values or None).rowcount

    def run_each(self, statement: str, many: Iterable[Sequence[Any]]) -> None:
        """Run a hundred in one trip."""
        for _ in self.read_each(statement, many):
            pass

    def _send(self, statement: str, many: Sequence[Sequence[Any]]) -> list[list[Row]]:
        text = _render(statement, *self._place)
        found = send(self._connection, [(text, values) for values in many])
        if len(many) > 1:
            # NOTE: a pipeline switches the server's timer of idle transactions off, by which the
            # lock of a node comes free that has stopped. The next command switches it on.
            self._connection.execute("SELECT 1")
        return found


class _LongSession(_Session):
    """Reads that go on in what a graph leaves behind when it is moved away."""

    def __init__(
        self, connection: Connection, schema: str, prefix: str, find_left: Callable[[], str]
    ) -> None:
        """`find_left` returns the schema of what was left, or nothing."""
        super().__init__(connection, schema, prefix)
        self._find_left = find_left

    def _open(self, statement: str, values: Sequence[Any]) -> psycopg.ServerCursor[Row]:
        self._connection.execute(KEEP)
        cursor = self._insist(partial(super()._open, statement, values))
        self._connection.execute(KEPT)
        return cursor

    def _send(self, statement: str, many: Sequence[Sequence[Any]]) -> list[list[Row]]:
        def run() -> list[list[Row]]:
            text = _render(statement, *self._place)
            kept = [(KEEP, ()), *[(text, values) for values in many], (KEPT, ())]
            return send(self._connection, kept)[1:-1]

        return self._insist(run)

    def _insist(self, run: Callable[[], T]) -> T:
        try:
            return run()
        except GONE:
            left = self._find_left()
            if not left:
                raise
        self._connection.execute(GO_BACK)
        self._place = left, self._place[1]
        return run()


@lru_cache(1000)
def _render(statement: str, schema: str, prefix: str) -> str:
    renamed = rename_tables(statement, lambda name: f'"{schema}".{prefix}_{name}')
    return renamed.replace("?", "%s")
