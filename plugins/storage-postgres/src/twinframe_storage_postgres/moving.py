"""Moves a graph from one database to another while it is read and written.

The graph is copied from a snapshot. Meanwhile triggers note the keys of the rows that are written,
which are copied again, until few are left. The rest is copied while the writer lock is held; then
the schema in the source gives its name to a forwarding record, and the copy gets it in the target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from psycopg import errors as pg

from twinframe.errors import ConfigurationError, StorageBusy, StorageError
from twinframe.runtime.backoff import Backoff
from twinframe_storage_postgres.connections import (
    DURABLE,
    WARNED,
    Connection,
    connect,
    watching_standbys,
)
from twinframe_storage_postgres.homes import (
    Forward,
    build_arriving,
    build_left,
    quote,
    receive,
    write_forward,
)
from twinframe_storage_postgres.opening import copy_definitions, create_tables, load_migrations
from twinframe_storage_postgres.property_indexes import create_index, list_indexes
from twinframe_storage_postgres.settings import PostgresSettings

T = TypeVar("T")

Report = Callable[[str], None]

_PAUSE: Final = 0.6
"""Seconds after which the last copying is broken off, so that writers wait a second at most."""
_SERVER_PAUSE: Final = "1s"
_FEW: Final = 1_000
"""Changes that may be left when writers are stopped, if fewer and fewer are."""
_MOST: Final = 20_000
_ROUNDS: Final = 100
_TRIES: Final = 40
_LOCK_WAIT: Final = "300ms"
_PAUSES: Final = Backoff(0.1, 1.0)
_TABLES: Final = """
SELECT c.relname,
  ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
    AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum),
  ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum ORDER BY k.place),
  ARRAY(SELECT format_type(a.atttypid, a.atttypmod)
    FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum ORDER BY k.place),
  ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attidentity <> '')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE n.nspname = %s AND c.relkind = 'r' AND c.relname NOT IN ('moving', 'moved_row')
ORDER BY EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'),
  c.relname"""
"""Name, columns, primary key, its types and columns with numbers; tables that refer to others come
last.
"""
_NAMES: Final = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND c.relname NOT IN ('moving', 'moved_row')"""
_META: Final = "_meta"
"""The end of the name of the table of a plugin whose row `version` its writers lock."""
_LOCKED_ROW: Final = "WHERE key = 'version' FOR UPDATE"
_OWN: Final = frozenset(
    (
        "interface",
        "interface_reference",
        "interface_closure",
        "twin",
        "relationship",
        "entry",
        "event",
        "graph",
        "writer",
    )
)
_TRIGGER: Final = """
CREATE FUNCTION {schema}.{function}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO {schema}.moved_row (relation, key) VALUES ({name}, ARRAY[{old}]);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO {schema}.moved_row (relation, key) VALUES ({name}, ARRAY[{new}]);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER moving AFTER INSERT OR UPDATE OR DELETE ON {schema}.{table}
FOR EACH ROW EXECUTE FUNCTION {schema}.{function}()"""
_FACTS: Final = "graph"
_TAKEN: Final = "CREATE TEMP TABLE taken (relation text, key text[]) ON COMMIT DROP; "
_RELATIONS: Final = "SELECT DISTINCT relation FROM pg_temp.taken"
_TAKE: Final = """
WITH gone AS (DELETE FROM {schema}.moved_row RETURNING relation, key)
INSERT INTO pg_temp.taken SELECT DISTINCT relation, key FROM gone;
INSERT INTO pg_temp.taken SELECT 'graph', ARRAY[only_one::text] FROM {schema}.graph"""
_MEASURE: Final = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r'"""


class _NotYet(Exception):
    """Too much is left to stop writers for it."""


_SLOW: Final = (
    _NotYet,
    pg.QueryCanceled,
    pg.LockNotAvailable,
    pg.TransactionTimeout,
    pg.IdleInTransactionSessionTimeout,
)
"""What the last copying ends with when it takes too long. Nothing has changed then."""


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: list[str]
    key: list[str]
    key_types: list[str]
    numbered: list[str]

    def render_columns(self, prefix: str = "") -> str:
        return ", ".join(f"{prefix}{quote(each)}" for each in self.columns)

    @property
    def rows(self) -> str:
        """The table of its changed rows."""
        return f"pg_temp.{quote(f'rows_{self.name}')}"

    def render_write(self) -> str:
        return f"COPY {self.rows} ({self.render_columns()}) FROM STDIN (FORMAT binary)"

    def render_key(self, row: str) -> str:
        return ", ".join(f"{row}.{quote(each)}::text" for each in self.key)

    def render_match(self, row: str) -> str:
        """Compare a row with a key that is an array of texts, `k.key`."""
        pairs = zip(self.key, self.key_types, strict=True)
        return " AND ".join(
            f"{row}.{quote(name)} = k.key[{number}]::{kind}"
            for number, (name, kind) in enumerate(pairs, start=1)
        )


def measure_graph(connection: Connection, schema: str) -> int:
    """Return the bytes of the tables of a graph with their indexes."""
    return int(_read_value(connection, _MEASURE, (schema,)))


def measure_database(connection: Connection) -> int:
    """Return the bytes of the database of a connection."""
    return int(_read_value(connection, "SELECT pg_database_size(current_database())"))


@dataclass(frozen=True, slots=True)
class GraphMove:
    """One move of a graph, from the database `source` to `target`. `move` is its id.

    Methods raise `psycopg.Error` where a server cannot be reached or ends the connection.
    """

    settings: PostgresSettings
    schema: str
    source: str
    target: str
    move: str

    @property
    def arriving(self) -> str:
        """The schema of the copy until it is the graph."""
        return build_arriving(self.settings, self.move)

    @property
    def _turn(self) -> str:
        return f"{int(self.settings.turn_timeout * 1000)}ms"

    def run(self, report: Report) -> float:
        """Move the graph; return for how many seconds writers waited at the end.

        `report` is called with what is done next. Afterwards, also after an error, `settle` it.
        Raises `StorageBusy` when writes come faster than they are copied, `StorageError`.
        """
        with ExitStack() as opened:
            source, target = (
                opened.enter_context(self._connect(each)) for each in (self.source, self.target)
            )
            report("prepare")
            tables = self._prepare(source)
            create_tables(target, self.arriving, self.settings.schema_)
            others = [each.name for each in tables if each.name not in _OWN]
            copy_definitions(source, self.schema, others, target, self.arriving)
            report("copy")
            self._copy(source, target, tables, report)
            for name in list_indexes(source, self.schema):
                create_index(target, self.arriving, name)
            for table in tables:
                target.execute(f"ANALYZE {quote(self.arriving)}.{quote(table.name)}")
            report("catch up")
            return self._finish(opened, target, tables, report)

    def settle(self) -> bool:
        """Bring a move to its end whose mover has ended; return whether the graph has moved.

        If the source has no forwarding record of this move, what it made is removed, and a mover
        that comes late can no longer make one. Raises `StorageBusy` while readers do not let that
        happen; then call it again.
        """
        with self._connect(self.source) as source:
            if self._has_left(source):
                with self._connect(self.target) as target:
                    receive(target, self.schema, self.arriving)
                return True
            self._stop_noting(source)
        with self._connect(self.target) as target:
            _retry(lambda: _drop(target, self.arriving))
        return False

    def clear(self) -> None:
        """Remove what the graph left behind in the source. Raises as `settle` does."""
        with self._connect(self.source) as source:
            _retry(lambda: _drop(source, build_left(self.settings, self.move)))

    # --- before and after -------------------------------------------------------------------------

    @contextmanager
    def _connect(self, database: str) -> Iterator[Connection]:
        connection = connect(self.settings.build_for(database))
        try:
            connection.prepare_threshold = None
            yield connection
        finally:
            connection.close()

    def _prepare(self, source: Connection) -> list[_Table]:
        """Let the source note all changes from here on."""
        newest = load_migrations()[-1].version
        tables = _retry(lambda: self._note_changes(source, newest))
        missing = {"graph", "twin", "relationship", "event"} - {each.name for each in tables}
        if missing:
            raise StorageError(f"The schema {self.schema} has no tables {sorted(missing)}.")
        return tables

    def _note_changes(self, source: Connection, newest: int) -> list[_Table]:
        schema = quote(self.schema)
        with source.transaction():
            self._lock(source, self._turn)
            source.execute("SELECT set_config('lock_timeout', %s, true)", (_LOCK_WAIT,))
            version = _read_value(source, f"SELECT version FROM {schema}.graph")
            if version != newest:
                raise ConfigurationError(
                    f"The tables of {self.schema} are at version {version}; this release moves "
                    f"those of version {newest}."
                )
            tables = [_Table(*row) for row in source.execute(_TABLES, (self.schema,)).fetchall()]
            self._check_tables(source, tables)
            names = self._render_names(tables)
            source.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
            self._drop_notes(source, tables)
            source.execute(f"CREATE TABLE {schema}.moving AS SELECT %s::text AS move", (self.move,))
            source.execute(
                f"CREATE TABLE {schema}.moved_row (relation text NOT NULL, key text[] NOT NULL)"
            )
            for each in tables:
                if each.name == _FACTS:
                    continue
                source.execute(
                    _TRIGGER.format(
                        schema=schema,
                        table=quote(each.name),
                        name=f"'{each.name}'",
                        function=quote(f"moving_{each.name}"),
                        old=each.render_key("OLD"),
                        new=each.render_key("NEW"),
                    )
                )
        return tables

    def _check_tables(self, source: Connection, tables: Sequence[_Table]) -> None:
        """Refuse a graph with tables whose writers take no lock that is known."""
        locked = tuple(name.removesuffix("meta") for name in _list_locked(tables))
        copied = {each.name for each in tables if each.name.startswith(locked)} | _OWN
        others = self._list_tables(source) - copied
        if others:
            raise ConfigurationError(
                f"The graph {self.schema} has tables that are not moved: "
                f"{', '.join(sorted(others))}. They are not those of a plugin, which have a "
                "primary key and a table of versions; remove them, or the graph stays where it is."
            )

    def _list_tables(self, source: Connection) -> set[str]:
        return {name for (name,) in source.execute(_NAMES, (self.schema,)).fetchall()}

    def _render_names(self, tables: Sequence[_Table]) -> str:
        """List those that have triggers.

        NOTE: the row of facts changes always, and its table is locked by those who wait for it.
        Each transaction of a plugin begins with the table that it locks: who has that has all.
        """
        locked = _list_locked(tables)
        names = [*locked, *(each.name for each in tables if each.name not in (_FACTS, *locked))]
        return ", ".join(f"{quote(self.schema)}.{quote(each)}" for each in names)

    def _drop_notes(self, source: Connection, tables: Sequence[_Table]) -> None:
        schema = quote(self.schema)
        for each in tables:
            source.execute(
                f"DROP FUNCTION IF EXISTS {schema}.{quote(f'moving_{each.name}')} CASCADE"
            )
        source.execute(f"DROP TABLE IF EXISTS {schema}.moving, {schema}.moved_row")

    def _has_left(self, source: Connection) -> bool:
        """Return whether the graph has moved; if not, let nobody finish this move any more.

        NOTE: the lock waits for the end of a mover's last transaction. COMMIT of what locked a row
        waits for standbys, as that of the mover should have.
        """
        try:
            with watching_standbys(source), source.transaction():
                self._lock(source, self._turn)
                forward = read_forward_locked(source, self.schema)
                if forward is None and _has(source, self.schema, "moving"):
                    source.execute(
                        f"DELETE FROM {quote(self.schema)}.moving WHERE move = %s", (self.move,)
                    )
        except (pg.UndefinedTable, pg.InvalidSchemaName):
            return False  # the graph was removed
        return forward is not None and forward.move == self.move

    def _stop_noting(self, source: Connection) -> None:
        if not _has(source, self.schema, "moving"):
            return

        def drop() -> None:
            with source.transaction():
                self._lock(source, self._turn)  # of writers, so that only readers are in the way
                source.execute("SELECT set_config('lock_timeout', %s, true)", (_LOCK_WAIT,))
                rows = source.execute(f"SELECT move FROM {quote(self.schema)}.moving").fetchall()
                if rows:  # another move notes what it needs
                    return
                found = source.execute(_TABLES, (self.schema,)).fetchall()
                tables = [_Table(*row) for row in found]
                source.execute(f"LOCK TABLE {self._render_names(tables)}")
                self._drop_notes(source, tables)

        _retry(drop)

    def _lock(self, source: Connection, wait: str) -> None:
        """Take the writer lock, in a transaction that is durable."""
        source.execute(f"SELECT set_config('lock_timeout', %s, true), {DURABLE}, {WARNED}", (wait,))
        source.execute(f"SELECT 1 FROM {quote(self.schema)}.graph FOR UPDATE")

    # --- copying ----------------------------------------------------------------------------------

    def _copy(
        self, source: Connection, target: Connection, tables: Sequence[_Table], report: Report
    ) -> None:
        """Copy everything as of one moment."""
        with _snapshot(source):
            for table in tables:
                name, columns = quote(table.name), table.render_columns()
                with target.transaction():
                    _free(target)
                    target.execute(f"DELETE FROM {quote(self.arriving)}.{name}")
                    read = _copy_rows(
                        source,
                        f"COPY {quote(self.schema)}.{name} ({columns}) TO STDOUT (FORMAT binary)",
                        target,
                        f"COPY {quote(self.arriving)}.{name} ({columns}) "
                        "FROM STDIN (FORMAT binary)",
                    )
                report(f"copied {read:,} rows of {table.name}")

    def _finish(
        self, opened: ExitStack, target: Connection, tables: Sequence[_Table], report: Report
    ) -> float:
        """Catch up until the rest is copied in the time for which writers may wait."""
        source, tries, before = opened.enter_context(self._connect(self.source)), 0, 0
        for _ in range(_ROUNDS):
            with _snapshot(source, writes=True):
                self._bring(source, target, tables)
            left = self._count_left(source)
            report(f"{left:,} changed rows are left")
            if left > _FEW and left < before:
                before = left
                continue
            before = left
            tries += 1
            try:
                return self._switch(source, target, tables, report)
            except _SLOW:
                if tries == _TRIES:
                    break
                time.sleep(_PAUSES.build_pause(tries))
                if source.closed:
                    source = opened.enter_context(self._connect(self.source))
        raise StorageBusy(
            "The graph is written faster than it can be copied, or the servers are too busy; it "
            "stays where it is. Try again when less is written."
        )

    def _count_left(self, source: Connection) -> int:
        return int(_read_value(source, f"SELECT count(*) FROM {quote(self.schema)}.moved_row"))

    def _switch(
        self, source: Connection, target: Connection, tables: Sequence[_Table], report: Report
    ) -> float:
        """Copy the rest while nobody writes, and take the graph away from the source."""
        schema = quote(self.schema)
        with watching_standbys(source), source.transaction():
            locked = _list_locked(tables)
            for name in locked:  # their writers may hold it for longer than those of the graph
                source.execute(f"SELECT set_config('lock_timeout', '{self._turn}', true)")
                source.execute(f"SELECT 1 FROM {schema}.{quote(name)} {_LOCKED_ROW}")
            began = time.monotonic()
            self._lock(source, _LOCK_WAIT if locked else self._turn)
            if not locked:
                began = time.monotonic()
            # NOTE: the server lets writers go on where this process stands still.
            limits = ["statement_timeout", "idle_in_transaction_session_timeout"]
            if source.info.server_version >= 170000:
                limits.append("transaction_timeout")
            calls = ", ".join(f"set_config('{each}', '{_SERVER_PAUSE}', true)" for each in limits)
            source.execute(f"SELECT {calls}")
            if source.execute(f"SELECT move FROM {schema}.moving").fetchone() != (self.move,):
                raise StorageError("The move was given up by another process.")
            if self._count_left(source) > _MOST:
                raise _NotYet
            if self._list_tables(source) != {each.name for each in tables}:
                raise StorageBusy("A plugin has made tables during the move; move the graph again.")
            report("switch")
            self._bring(source, target, tables)
            if time.monotonic() - began > _PAUSE:
                raise _NotYet
            report("leave")
            write_forward(
                source,
                self.schema,
                build_left(self.settings, self.move),
                Forward(self.target, self.move),
            )
        pause = time.monotonic() - began
        report("arrive")
        return pause

    def _bring(self, source: Connection, target: Connection, tables: Sequence[_Table]) -> None:
        """Copy the rows whose changes were noted, in the source's transaction, durably.

        PERF: writers may wait for this: statements go together where none needs another's answer.
        """
        names = _read_column(
            source, _TAKEN + _TAKE.format(schema=quote(self.schema)) + "; " + _RELATIONS
        )
        changed = [each for each in tables if each.name in names]
        numbers = [(each, column) for each in tables for column in each.numbered]
        with watching_standbys(target), target.transaction():
            _free(target)
            target.execute(_TAKEN + "; ".join(map(self._render_rows, changed)))
            _copy_rows(
                source,
                "COPY pg_temp.taken TO STDOUT (FORMAT binary)",
                target,
                "COPY pg_temp.taken FROM STDIN (FORMAT binary)",
            )
            for table in changed:
                _copy_rows(source, self._render_read(table), target, table.render_write())
            changes = [
                *map(self._render_delete, reversed(changed)),
                *map(self._render_put, changed),
            ]
            if changes:
                target.execute("; ".join(changes))
            if numbers:
                self._bring_numbers(source, target, numbers)

    def _render_rows(self, table: _Table) -> str:
        """Make a table for the changed rows that still exist."""
        return (
            f"CREATE TEMP TABLE {quote(f'rows_{table.name}')} ON COMMIT DROP AS SELECT "
            f"{table.render_columns()} FROM {quote(self.arriving)}.{quote(table.name)} WITH NO DATA"
        )

    def _render_read(self, table: _Table) -> str:
        return (
            f"COPY (WITH k AS MATERIALIZED (SELECT key FROM pg_temp.taken "
            f"WHERE relation = '{table.name}') SELECT {table.render_columns('t.')} FROM k "
            f"JOIN {quote(self.schema)}.{quote(table.name)} t ON {table.render_match('t')}) "
            "TO STDOUT (FORMAT binary)"
        )

    def _render_delete(self, table: _Table) -> str:
        same = " AND ".join(f"r.{quote(each)} = t.{quote(each)}" for each in table.key)
        return (
            f"WITH k AS MATERIALIZED (SELECT key FROM pg_temp.taken "
            f"WHERE relation = '{table.name}') "
            f"DELETE FROM {quote(self.arriving)}.{quote(table.name)} t USING k "
            f"WHERE {table.render_match('t')} "
            f"AND NOT EXISTS (SELECT 1 FROM {table.rows} r WHERE {same})"
        )

    def _render_put(self, table: _Table) -> str:
        columns = table.render_columns()
        rest = [each for each in table.columns if each not in table.key]
        change = ", ".join(f"{quote(each)} = excluded.{quote(each)}" for each in rest)
        return (
            f"INSERT INTO {quote(self.arriving)}.{quote(table.name)} ({columns}) "
            f"OVERRIDING SYSTEM VALUE SELECT {columns} FROM {table.rows} "
            f"ON CONFLICT ({', '.join(map(quote, table.key))}) "
            + (f"DO UPDATE SET {change}" if change else "DO NOTHING")
        )

    def _bring_numbers(
        self, source: Connection, target: Connection, numbers: Sequence[tuple[_Table, str]]
    ) -> None:
        """Let numbers of rows go on where they are in the source."""
        there, here = (
            [f"{schema}.{quote(f'{table.name}_{column}_seq')}" for table, column in numbers]
            for schema in (quote(self.schema), quote(self.arriving))
        )
        found = source.execute(
            " UNION ALL ".join(
                f"SELECT {place}, last_value, is_called FROM {name}"
                for place, name in enumerate(there)
            )
        ).fetchall()
        calls = [f"setval('{here[place]}', {last}, {called})" for place, last, called in found]
        target.execute(f"SELECT {', '.join(calls)}")


def _list_locked(tables: Sequence[_Table]) -> list[str]:
    """List the tables whose rows the writers of plugins lock."""
    return sorted(each.name for each in tables if each.name.endswith(_META))


def read_forward_locked(connection: Connection, schema: str) -> Forward | None:
    """Read the forwarding record in a transaction, which goes on where there is none."""
    try:
        with connection.transaction():
            return _read_present_forward(connection, schema)
    except pg.UndefinedColumn:
        return None


def _read_present_forward(connection: Connection, schema: str) -> Forward | None:
    row = connection.execute(f"SELECT moved_to, move FROM {quote(schema)}.graph").fetchone()
    return None if row is None else Forward(*row)


@contextmanager
def _snapshot(connection: Connection, *, writes: bool = False) -> Iterator[None]:
    with connection.transaction():
        mode = "READ WRITE" if writes else "READ ONLY"
        connection.execute(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ {mode}")
        _free(connection)
        yield


def _free(connection: Connection) -> None:
    """Let the statements of a transaction take their time, and be planned as is best."""
    connection.execute(
        "SELECT set_config('statement_timeout', '0', true), "
        "set_config('idle_in_transaction_session_timeout', '0', true), "
        "set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true), "
        f"set_config('enable_mergejoin', 'on', true), {DURABLE}, {WARNED}"
    )


def _copy_rows(source: Connection, read: str, target: Connection, write: str) -> int:
    """Copy rows as they are on the wire; return how many. Raises `StorageError` for a part."""
    reading, writing = source.cursor(), target.cursor()
    with reading.copy(read) as rows, writing.copy(write) as copied:
        for piece in rows:
            copied.write(piece)
    if reading.rowcount != writing.rowcount:
        raise StorageError(f"{reading.rowcount} rows were read, {writing.rowcount} written.")
    return reading.rowcount


def _has(connection: Connection, schema: str, table: str) -> bool:
    name = f"{quote(schema)}.{quote(table)}"
    return _read_value(connection, "SELECT to_regclass(%s) IS NOT NULL", (name,)) is True


def _drop(connection: Connection, schema: str) -> None:
    with connection.transaction():
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (_LOCK_WAIT,))
        connection.execute(f"DROP SCHEMA IF EXISTS {quote(schema)} CASCADE")


def _retry(use: Callable[[], T]) -> T:
    """Repeat what waits for locks that others hold. Raises `StorageBusy` when it takes too long."""
    for attempt in range(1, _TRIES):
        try:
            return use()
        except (pg.LockNotAvailable, pg.DeadlockDetected):
            time.sleep(_PAUSES.build_pause(attempt))
    try:
        return use()
    except (pg.LockNotAvailable, pg.DeadlockDetected) as error:
        raise StorageBusy(
            "Others hold the tables of the graph for long, such as VACUUM or a long read; try "
            "again."
        ) from error


def _read_column(connection: Connection, statements: str) -> set[str]:
    """Run the statements together; return the column of the last one."""
    cursor = connection.execute(statements)
    while cursor.nextset():
        pass
    return {value for (value,) in cursor.fetchall()}


def _read_value(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    row = connection.execute(sql, values or None).fetchone()
    return None if row is None else row[0]
