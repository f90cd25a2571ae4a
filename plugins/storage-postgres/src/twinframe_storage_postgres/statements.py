"""Runs statements on one graph for one thread at a time: alone, or in a snapshot with a deadline.

Names of tables in statements of this distribution begin with `@`, which stands for the schema.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, groupby
from typing import Any, Final, NoReturn, TypeAlias

import psycopg
from psycopg import errors as pg

from twinframe.errors import QueryTimeout, StorageMoved, TwinframeError
from twinframe_storage_postgres.connections import Connection, Connections
from twinframe_storage_postgres.errors import (
    LATE,
    MOVED,
    EngineError,
    build_error,
    is_stale,
    is_worn,
)
from twinframe_storage_postgres.homes import GONE, MOST_HOPS, Home
from twinframe_storage_postgres.opening import check_least

Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """The rows of a `COPY … FROM STDIN`, built as they are sent.

    `types` are those of the columns in binary format; without them it is text.
    """

    rows: Callable[[], Iterable[Row]]
    types: Sequence[str] = ()


Statement: TypeAlias = tuple[str, Bindings | Callable[[], Bindings] | CopiedRows]
"""Its text, and its values or what builds them as it is sent."""
Translate: TypeAlias = Callable[[psycopg.Error], TwinframeError | None]

_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LIMIT: Final = "SELECT set_config('statement_timeout', %s, true)"
_FREE: Final = (
    "SELECT set_config('search_path', %s, true), set_config('enable_seqscan', 'on', true), "
    "set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true), "
    "set_config('cursor_tuple_fraction', '1', true), "
    "set_config('plan_cache_mode', 'auto', true), odd_texts, model_version, least FROM @graph"
)
"""Lets statements of the compiler, and those over all rows, be planned as the server finds best.

PERF: a plan is kept, since planning a hop takes 0.2 ms and its run 0.03 ms.
"""
_LONGEST: Final = 2**31 - 1
"""Milliseconds of the longest `statement_timeout`."""
_LEAST: Final = "SELECT least FROM @graph"
FREE_LIMITED: Final = f"{_LIMIT}, {_FREE.removeprefix('SELECT ')}"
GUARD: Final = "SAVEPOINT compiled"
UNGUARD: Final = "RELEASE SAVEPOINT compiled"
_TAKE_BACK: Final = "ROLLBACK TO SAVEPOINT compiled"
KEEP: Final = "SAVEPOINT moved"
KEPT: Final = "RELEASE SAVEPOINT moved"
GO_BACK: Final = "ROLLBACK TO SAVEPOINT moved"
_SET_PATH: Final = "SELECT set_config('search_path', %s, true)"
_LONG_SECONDS: Final = 3600.0
"""Snapshots that may last longer cannot run again: exports."""
# NOTE: a statement that fails ends a pipeline; psycopg would warn of those behind it.
logging.getLogger("psycopg").setLevel(logging.ERROR)
_SECONDS_A_STEP: Final = 20e-9
_FEW_MS: Final = 50
_FIRST_ROWS: Final = 64
_MOST_ROWS: Final = 1024
_GROWTH: Final = 4
_BYTES_AT_ONCE: Final = 1024 * 1024
_SIZED: Final = (str, bytes)
_BYTES_PER_LOOK: Final = 4 * 1024 * 1024


@lru_cache(maxsize=100_000)
def qualify(sql: str, schema: str) -> str:
    """Return the statement for this schema."""
    return sql.replace("@", f'"{schema}".')


def _look_away() -> None:
    """Do nothing: the default when memory is not watched."""


class StatementRunner:
    """Statements outside of a snapshot use any connection, and see the newest state.

    Those inside share one, which is taken with the first of them; that makes the snapshot, too. It
    may be one to a standby, unless `standbys` is false.
    """

    def __init__(self, home: Home, *, standbys: bool = True) -> None:
        self.schema = home.schema
        self._home = home
        self._source = self._primary = home.connections
        self._reads_standbys = standbys
        self._connection: Connection | None = None
        self._depth = 0
        self._deadline: float | None = None
        self._limit_ms = 0
        self._is_free = False
        self._is_guarded = False
        self._is_long = False
        self._left = ""
        """The schema of what the graph has left behind, while a snapshot reads that."""
        self._version: int | None = None
        """The number of the last change of models, as far as the snapshot has read it."""
        self.has_odd_texts = False
        """Whether the snapshot has texts with U+0001, as far as a statement of the compiler ran."""
        self._cancelled = False
        self._seconds = 0.0
        self._running: Connection | None = None
        self._cancelling = threading.Lock()
        self._cursors = 0
        self._look: Callable[[], None] = _look_away
        self._read = 0

    # --- memory and time ------------------------------------------------------------------------

    def watch_memory(self, look: Callable[[], None]) -> None:
        """Call `look` after each 4 MiB that are read."""
        self._look = look

    def count_read(self, size: int) -> None:
        """Count bytes of documents that become values."""
        self._read += size
        if self._read > _BYTES_PER_LOOK:
            self._read = 0
            self.check_deadline()
            self._look()

    def interrupt(self) -> None:
        """Stop the statement of this snapshot on the server, from any thread."""
        with self._cancelling:
            self._cancelled = True
            if self._running is not None:
                with suppress(psycopg.Error):
                    self._running.cancel_safe(timeout=2.0)

    def read_steps(self) -> int:
        """Return the time for which statements of this snapshot ran, in steps of 20 ns."""
        return int(self._seconds / _SECONDS_A_STEP)

    def check_deadline(self) -> None:
        """Raise `QueryTimeout` after the deadline, or when it was interrupted."""
        if self._depth and self._is_over():
            raise QueryTimeout(LATE)

    def _is_over(self) -> bool:
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return late or self._cancelled

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """Show one state to all reads inside; an inner snapshot shows the outer one's."""
        if self._depth:
            outer = self._deadline
            if deadline is not None:
                self._deadline = deadline if outer is None else min(deadline, outer)
            self._depth += 1
            try:
                yield
            finally:
                self._deadline = outer
                self._depth -= 1
            return
        self._deadline, self._cancelled, self._depth, self._seconds = deadline, False, 1, 0.0
        self._is_long = deadline is None or deadline - time.monotonic() > _LONG_SECONDS
        try:
            yield
        finally:
            self._deadline, self._depth, self._is_long, self._left = None, 0, False, ""
            self._leave()

    def _leave(self) -> None:
        """End the server's part of the snapshot; the next statement would see a new state."""
        connection, self._connection = self._connection, None
        self._limit_ms, self._is_free, self._is_guarded = 0, False, False
        self._version = None
        if connection is None:
            return
        if self._cancelled:
            # NOTE: the server may act on the request late, in the next statement of another.
            self._source.drop(connection)
        else:
            self._source.end(connection)

    # --- statements of this distribution --------------------------------------------------------

    def read_all(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows."""
        return self._run([(qualify(sql, self.schema), bindings)])[-1]

    def read_one(self, sql: str, bindings: Bindings = ()) -> Any:
        """Return the only value, the only row as a tuple, or None, of at most one row."""
        rows = self.read_all(sql, bindings)
        if not rows:
            return None
        row = rows[0]
        return row[0] if len(row) == 1 else row

    def iterate(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Yield the rows as the server finds them; other statements may run in between.

        Outside of a snapshot all of them are read at once.
        """
        if not self._depth:
            yield from self.read_all(sql, bindings)
            return
        yield from self._fetch(qualify(sql, self.schema), bindings)

    def _fetch(
        self, sql: str, bindings: Bindings, translate: Translate | None = None
    ) -> Iterator[Row]:
        """Yield the rows of a cursor, which is planned for all of them.

        SEC: each may have a mebibyte: no more are fetched at once than fit into one if they are
        like those before.
        """
        self._cursors += 1
        name, size = f"rows{self._cursors}", _FIRST_ROWS
        declare = f"DECLARE {name} NO SCROLL CURSOR FOR {sql}"
        statements = [(declare, bindings), (f"FETCH {size} FROM {name}", ())]
        is_open = True
        while is_open:
            some = self._select(statements, translate, once=True)
            is_open = len(some) == size
            size = self._count_rows(some, size)
            is_left = is_open
            try:
                yield from some
                is_left = False
            finally:
                # NOTE: after an error there is no cursor.
                if is_left and self._connection is not None and not self._cancelled:
                    with suppress(TwinframeError):
                        self._run([(f"CLOSE {name}", ())], once=True)
            statements = [(f"FETCH {size} FROM {name}", ())]

    def _count_rows(self, rows: Sequence[Row], size: int) -> int:
        """Count what was read, and return how many rows to fetch next."""
        read = sum([len(cell) for row in rows for cell in row if type(cell) in _SIZED])
        self.count_read(read)
        return min(_GROWTH * size, _MOST_ROWS, _BYTES_AT_ONCE * len(rows) // (read + 1) + 1)

    # --- statements of the compiler -------------------------------------------------------------

    def select(self, sql: str, bindings: Bindings, translate: Translate) -> list[Row]:
        """Rows of a statement whose tables are not qualified, in a snapshot.

        The results are those of the text format. An error is what `translate` makes of it, where
        that is something; the snapshot can be read on after it.

        PERF: if this is its first statement, nobody has seen its state, and the next one begins it
        anew. A savepoint costs two statements more.
        """
        if not self._depth:
            with self.snapshot():
                return self.select(sql, bindings, translate)
        rows = self._select([(sql, bindings)], translate, once=False)
        self._count_rows(rows, 1)
        return rows

    def stream(self, sql: str, bindings: Bindings, translate: Translate) -> Iterator[Row]:
        """Yield the same rows as they are read, by a statement that is planned anew.

        Outside of a snapshot all of them are read at once.
        """
        if not self._depth:
            return iter(self.select(sql, bindings, translate))
        return self._fetch(sql, bindings, translate)

    def _select(
        self, wanted: Sequence[Statement], translate: Translate | None, *, once: bool
    ) -> list[Row]:
        """Run statements, the last of which yields the rows, with the settings of the compiler.

        Those of the compiler have a `translate`.
        """
        first = self._free()
        if translate is None:
            found = self._run([*first, *wanted], once=once)
            self._note_free(found[: len(first)])
            return found[-1]
        guard = self._build_guard()
        try:
            found = self._send([*first, *guard, *wanted], once=once, binary=False)
        except psycopg.Error as error:
            known = translate(error)
            if known is None:
                self._fail(error)
            if guard:
                self._take_back()
            else:
                self._leave()
            raise known from error
        self._is_guarded = self._is_guarded or bool(guard)
        self._note_free(found[: len(first)])
        return found[-1]

    def _build_guard(self) -> list[Statement]:
        """Let the snapshot be read on after an error of the statements behind these."""
        if self._connection is None:
            return []
        return [(UNGUARD, ()), (GUARD, ())] if self._is_guarded else [(GUARD, ())]

    def _take_back(self) -> None:
        """Go on in the snapshot after an error."""
        self._is_guarded = True
        if self._connection is not None and not self._connection.closed:
            with suppress(psycopg.Error):
                self._connection.execute(_TAKE_BACK)

    def _free(self) -> list[Statement]:
        if self._is_free:
            return []
        path = f'"{self._left or self.schema}"'
        limit = self._take_limit()
        if limit is None:
            return [(qualify(_FREE, self.schema), (path,))]
        return [(qualify(FREE_LIMITED, self.schema), (limit, path))]  # PERF: one statement less

    def _note_free(self, found: Sequence[list[Row]]) -> None:
        for ((*_, has_odd_texts, version, least),) in found:
            check_least(self.schema, least)
            self._is_free, self._version, self.has_odd_texts = True, version, has_odd_texts

    # --- on the wire ----------------------------------------------------------------------------

    def _run(self, statements: Sequence[Statement], *, once: bool = False) -> list[list[Row]]:
        """The rows of each statement, in one trip. Raises errors of the service."""
        try:
            if self._is_long and self._connection is not None and not self._is_guarded:
                return self._send_lasting(self._connection, statements, once=once)
            return self._send(statements, once=once)
        except EngineError as error:
            self._fail(error)

    def _send_lasting(
        self, connection: Connection, statements: Sequence[Statement], *, once: bool
    ) -> list[list[Row]]:
        """Run statements of a long snapshot, which goes on in what a moved graph leaves behind."""
        kept = [(KEEP, ()), *self._rename(statements), (KEPT, ())]
        try:
            return self._send(kept, once=once)[1:-1]
        except StorageMoved:
            self._left = self._home.find_left(self._primary)
            if not self._left:
                raise
        connection.execute(GO_BACK)
        connection.execute(_SET_PATH, (f'"{self._left}"',))
        return self._send(self._rename(statements), once=once)

    def _rename(self, statements: Sequence[Statement]) -> Sequence[Statement]:
        if not self._left:
            return statements
        old, new = f'"{self.schema}".', f'"{self._left}".'
        return [(sql.replace(old, new), given) for sql, given in statements]

    def _fail(self, error: BaseException) -> NoReturn:
        if self._depth and self._cancelled and isinstance(error, psycopg.Error):
            raise QueryTimeout(LATE) from error
        if is_stale(error) and self._connection is not None:
            self._connection.close()
        if isinstance(error, pg.UndefinedColumn | pg.UndefinedFunction | pg.UndefinedTable):
            self._check_release()
        raise build_error(error) from error

    def _check_release(self) -> None:
        """Raise `ReleaseTooOld` when a later release has taken away what this one reads."""
        with suppress(*EngineError):
            for (least,) in self._home.connections.run(
                lambda connection: connection.execute(qualify(_LEAST, self.schema)).fetchall()
            ):
                check_least(self.schema, least)

    def _send(
        self, statements: Sequence[Statement], *, once: bool, binary: bool = True
    ) -> list[list[Row]]:
        """The same, with errors of psycopg. `once`: the statement will hardly come again."""
        if not self._depth:
            return self._home.run(
                lambda connection: send(connection, statements, once=once, binary=binary)
            )
        self.check_deadline()
        if self._connection is not None:
            try:
                with self._watched(self._connection):
                    limited = [*self._limit(), *statements]
                    found = send(self._connection, limited, once=once, binary=binary)
            except GONE as error:
                # NOTE: a move waits for no snapshot: it takes the schema's name away under it.
                if self._home.follow(error, self._primary):
                    raise StorageMoved(MOVED) from error
                raise
            return found[len(limited) - len(statements) :]

        def begin(connection: Connection) -> list[list[Row]]:
            opening = self._open_statements(connection)
            with self._watched(connection):
                found = send(connection, [*opening, *statements], once=once, binary=binary)
            self._note_opening(connection, found[: len(opening)])
            return found[len(opening) :]

        self._connection, found = self._begin(begin)
        return found

    def _begin(
        self, begin: Callable[[Connection], list[list[Row]]]
    ) -> tuple[Connection, list[list[Row]]]:
        """Run the first statements of a snapshot on a connection that is kept."""
        for hop in count():
            primary = self._primary = self._home.connections
            try:
                return self._begin_at(primary, begin)
            except GONE as error:
                # NOTE: before `follow`: it may wait for a connection, which this one has to free.
                self._leave()
                if hop == MOST_HOPS or not self._home.follow(error, primary, again=not hop):
                    raise
        raise AssertionError

    def _begin_at(
        self, primary: Connections, begin: Callable[[Connection], list[list[Row]]]
    ) -> tuple[Connection, list[list[Row]]]:
        taken = self._home.standbys.take(primary) if self._reads_standbys else None
        self._source = taken[0] if taken else primary
        while True:
            connection, is_new = (taken[1], False) if taken else self._source.take()
            taken = None
            try:
                return connection, begin(connection)
            except BaseException as error:
                if isinstance(error, EngineError) and not is_worn(error):
                    self._connection = connection  # `_leave` gives it back
                    raise
                if not is_worn(error):
                    self._source.drop(connection)
                    raise
                connection.close()
                self._source.give(connection)  # the others will be lost, too
                if is_new and self._source is primary:
                    raise
                self._source = primary

    def _note_opening(self, connection: Connection, found: list[list[Row]]) -> None:
        """Take note of the rows of `_open_statements`."""

    def _open_statements(self, connection: Connection) -> list[Statement]:
        del connection
        return [(_BEGIN, ()), *self._limit()]

    def _limit(self) -> list[Statement]:
        """Let the server end the statement at the deadline, if it is not told so already."""
        limit = self._take_limit()
        return [] if limit is None else [(_LIMIT, (limit,))]

    def _take_limit(self) -> str | None:
        """The milliseconds to tell the server, which then counts as told."""
        if self._deadline is None:
            return None
        left = min(max(int((self._deadline - time.monotonic()) * 1000), 1), _LONGEST)
        if self._limit_ms and left > self._limit_ms - _FEW_MS:
            return None
        self._limit_ms = left
        return str(left)

    @contextmanager
    def _watched(self, connection: Connection) -> Iterator[None]:
        """Let `interrupt` find the connection while a statement runs on it."""
        with self._cancelling:
            if self._cancelled:
                raise QueryTimeout(LATE)
            self._running = connection
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds += time.monotonic() - began
            with self._cancelling:
                self._running = None


def send(
    connection: Connection,
    statements: Sequence[Statement],
    *,
    once: bool = False,
    binary: bool = True,
) -> list[list[Row]]:
    """Run the statements in order; return the rows of each.

    It is one trip, and one more before and after each `COPY`.
    """
    prepare = False if once else connection.prepare_threshold is not None
    found: list[list[Row]] = []
    for is_copy, some in groupby(statements, _is_copy):
        group = list(some)
        if is_copy:
            found += [_copy(connection, *each) for each in group]
        elif len(group) == 1:
            found.append(_read(_execute(connection, group[0], prepare, binary)))
        else:
            with connection.pipeline():
                cursors = [_execute(connection, each, prepare, binary) for each in group]
            found += map(_read, cursors)
    return found


def _is_copy(statement: Statement) -> bool:
    return isinstance(statement[1], CopiedRows)


def _copy(connection: Connection, sql: str, given: Any) -> list[Row]:
    with connection.cursor() as cursor, cursor.copy(sql) as copy:
        if given.types:
            copy.set_types(given.types)
        for row in given.rows():
            copy.write_row(row)
    return []


def _execute(
    connection: Connection, statement: Statement, prepare: bool, binary: bool
) -> psycopg.Cursor[Row]:
    sql, given = statement
    assert not isinstance(given, CopiedRows)  # noqa: S101  # `send` has sorted these out
    bindings = given() if callable(given) else given
    cursor = connection.cursor(binary=binary)
    # NOTE: the texts are constants of this distribution, and those that the compiler made.
    cursor.execute(sql, bindings or None, prepare=prepare)
    return cursor


def _read(cursor: psycopg.Cursor[Row]) -> list[Row]:
    return cursor.fetchall() if cursor.description is not None else []
