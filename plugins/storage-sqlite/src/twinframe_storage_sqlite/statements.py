"""Runs statements on one connection, with snapshots, deadlines and error mapping."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, islice
from typing import Any, Final

import apsw

from twinframe.errors import QueryTimeout, StorageError, TwinframeError
from twinframe.storage.cpu_scheduler import CpuScheduler, share_scheduler
from twinframe_storage_sqlite.errors import EngineError, build_error

SqlValue = None | int | float | bytes | str
Bindings = tuple[SqlValue, ...] | Mapping[str, SqlValue]
Row = tuple[Any, ...]

# PERF: about 0.2 ms of a statement's work between two deadline checks; measured cost under 1 %.
_STEPS_PER_CHECK: Final = 5000
_STEPS_TO_FIRST_CHECK: Final = 500

# SEC: a step on a large value takes a thousand times as long as others, up to some milliseconds: a
# statement that took longer than this between two checks is checked more often.
_SECONDS_PER_CHECK: Final = 0.01
_LEAST_STEPS: Final = 20

# PERF: each check takes the interpreter lock from request threads: a long statement is only checked
# every 4 ms, and is scheduled in turn with the other long ones.
_CHECKS_UNTIL_LONG: Final = 20
_STEPS_PER_LONG_CHECK: Final = 100_000

_SECONDS_UNTIL_LONG: Final = 0.02
_LATE: Final = "The query ran longer than it may (Query__Timeout) and was stopped."

_BYTES_PER_LOOK: Final = 4 * 1024 * 1024

# PERF: 0.2 us a check, so 5 % of a statement that must be short; between two of them are some
# microseconds, and a hundred times that for one step on a value of the largest size.
_STEPS_PER_SHORT_CHECK: Final = 100
_LARGEST_SHORT_VALUE: Final = 16 * 1024

_FIRST_ROWS: Final = 2
_MOST_ROWS: Final = 64
_SMALL_ROW: Final = 4096
_SIZES: Final = (100, 10, 1)
"""The numbers of rows in one statement.

Few, as each has a text of its own in the statement cache.
"""


def _look_away() -> None:
    """Do nothing: the default when memory is not watched."""


class StatementRunner:
    """One connection used by one thread at a time. Raises engine errors as errors of the service.

    `is_short` is whether the present snapshot is one of few and small rows (`short_snapshot`).
    `connection` is APSW's own, for callers with needs of their own. A statement must be read to its
    end or closed: an open one keeps its snapshot and the WAL from shrinking.
    """

    def __init__(self, connection: apsw.Connection, scheduler: CpuScheduler | None = None) -> None:
        self.connection = connection
        self._scheduler = share_scheduler(0) if scheduler is None else scheduler
        self._cursor = connection.cursor()
        self._open: set[apsw.Cursor] = set()
        self._deadline: float | None = None
        self._depth = 0
        self._cancelled = False
        self._steps = 0
        self._most_steps: int | None = None
        self.is_short = False
        self._checks = 0
        self._looked = 0.0
        self._steps_per_check = self._steps_to_next = _STEPS_PER_CHECK
        self._is_long = False
        self._may_yield = False
        self._begun = 0.0
        self._look: Callable[[], None] = _look_away
        self._read = 0

    def watch_memory(self, look: Callable[[], None]) -> None:
        """Call `look` at each check of a long statement, and after each 4 MiB that are parsed."""
        self._look = look

    def count_read(self, size: int) -> None:
        """Count bytes of documents that become values."""
        self._read += size
        if self._read > _BYTES_PER_LOOK:
            self._read = 0
            self.check_deadline()
            self._look()

    def interrupt(self) -> None:
        """Stop the statements of this `snapshot`, from any thread, with `QueryTimeout`.

        PERF: SQLite checks this at each row; the deadline is checked only every many rows.
        """
        self._cancelled = True
        self.connection.interrupt()

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """Show one state to all reads inside; an inner snapshot shows the outer one's.

        With a deadline, statements that take longer than 4 ms are scheduled in turn with the
        others. So is other work on their rows after 20 ms, at each `check_deadline`.
        """
        if self._depth:
            with self._nested(deadline):
                yield
            return
        self._begin(deadline, _STEPS_TO_FIRST_CHECK)
        try:
            self.read_one("BEGIN")
            yield
        finally:
            self._end()

    def short_snapshot(self, steps: int, seconds: float) -> AbstractContextManager[None]:
        """Open a snapshot whose statements end after this many steps in all, or seconds, or at a
        value of 16 KiB, with `QueryTimeout` or `LimitExceeded`. Not inside another.
        """
        return _ShortSnapshot(self, steps, seconds)

    def begin_short(self, steps: int, seconds: float) -> int:
        """Begin the snapshot of `short_snapshot`; return what `end_short` needs."""
        connection = self.connection
        if self._depth or connection.in_transaction:
            raise StorageError("Work that must be short needs a snapshot of its own.")
        # SEC: one step on a large value (`instr`, `replace`) may take unboundedly long.
        largest = connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LARGEST_SHORT_VALUE)
        # PERF: what `_begin` sets, without what only a run that is not short reads.
        self._deadline, self._cancelled, self._depth = time.monotonic() + seconds, False, 1
        self._steps, self.is_short, self._may_yield, self._is_long = 0, True, False, False
        self._most_steps = max(steps, _STEPS_PER_SHORT_CHECK)
        self._steps_per_check = self._steps_to_next = _STEPS_PER_SHORT_CHECK
        connection.set_progress_handler(self._check_progress, _STEPS_PER_SHORT_CHECK)
        try:
            self._cursor.execute("BEGIN")
        except BaseException as error:
            self.end_short(largest)
            if isinstance(error, EngineError):
                raise self._build_error(error) from error
            raise
        return largest

    def end_short(self, largest: int) -> None:
        """End it, with the limit of values that was there before."""
        connection = self.connection
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, largest)
        connection.set_progress_handler(None)
        self._deadline, self._cancelled, self._depth, self.is_short = None, False, 0, False
        if self._open:
            self._close_open()
        if connection.in_transaction:
            self.read_one("ROLLBACK")

    def _begin(self, deadline: float | None, steps_per_check: int) -> None:
        self._deadline, self._cancelled, self._depth = deadline, False, 1
        self._steps, self._most_steps, self.is_short = 0, None, False
        # NOTE: without a deadline the reader may be the event loop, which must not wait.
        self._may_yield = deadline is not None
        self._begun = time.monotonic()
        self._checks, self._is_long = 0, False
        self._steps_per_check = self._steps_to_next = steps_per_check
        self.connection.set_progress_handler(self._check_progress, steps_per_check)

    def _end(self) -> None:
        self.connection.set_progress_handler(None)
        if self._may_yield:
            self._scheduler.leave(self)
        self._deadline, self._cancelled, self._depth, self.is_short = None, False, 0, False
        if self._open:
            self._close_open()
        if self.connection.in_transaction:
            self.read_one("ROLLBACK")

    @contextmanager
    def _nested(self, deadline: float | None) -> Iterator[None]:
        outer = self._deadline
        if deadline is not None:
            self._deadline = deadline if outer is None else min(deadline, outer)
        self._depth += 1
        try:
            yield
        finally:
            self._deadline = outer
            self._depth -= 1

    def read_one(self, sql: str, bindings: Bindings = ()) -> Any:
        """Return the only value, the only row as a tuple, or None, of at most one row."""
        try:
            return self._cursor.execute(sql, bindings).get
        except EngineError as error:
            raise self._build_error(error) from error

    def read_all(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows."""
        if not self.is_short:  # its statements are ended after their steps
            self.check_deadline()
        try:
            return self._cursor.execute(sql, bindings).fetchall()
        except EngineError as error:
            raise self._build_error(error) from error

    def iterate(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Yield the rows as they are found; other statements may run in between."""
        self.check_deadline()
        cursor = self.connection.cursor()
        self._open.add(cursor)
        try:
            yield from cursor.execute(sql, bindings)
        except EngineError as error:
            raise self._build_error(error) from error
        finally:
            self._open.discard(cursor)
            cursor.close(force=True)

    def iterate_some(self, sql: str, bindings: Bindings = ()) -> Iterator[list[Row]]:
        """Yield the rows in batches as they are found; other statements may run in between.

        The first column is a text; its size determines the size of the batches.
        """
        self.check_deadline()
        cursor = self.connection.cursor()
        self._open.add(cursor)
        try:
            found, at_once = cursor.execute(sql, bindings), _FIRST_ROWS
            while some := list(islice(found, at_once)):
                yield some
                if len(some) < at_once:
                    break
                is_small = len(some[-1][0]) <= _SMALL_ROW
                at_once = _MOST_ROWS if is_small else min(2 * at_once, _MOST_ROWS)
        except EngineError as error:
            raise self._build_error(error) from error
        finally:
            self._open.discard(cursor)
            cursor.close(force=True)

    def _build_error(self, error: BaseException) -> TwinframeError:
        # NOTE: an interrupted statement still computes its aggregates, and may fail there.
        if isinstance(error, (apsw.NoMemError, apsw.TooBigError)) and self._depth:
            error = apsw.InterruptError() if self._is_over() else error
        return build_error(error, self.connection.filename)

    def _close_open(self) -> None:
        """End unfinished statements, such as those of an error that holds their frames.

        An open one would keep the snapshot: later reads of this connection would see old states.
        """
        while self._open:
            self._open.pop().close(force=True)

    def check_deadline(self) -> None:
        """Raise `QueryTimeout` after the deadline: short statements never call the handler."""
        if not self._depth:
            return
        if self._is_over():
            raise QueryTimeout(_LATE)
        # NOTE: here the work on the rows takes long, not the statement.
        is_long = self._may_yield and time.monotonic() - self._begun > _SECONDS_UNTIL_LONG
        if is_long and self._scheduler.yield_control(self, self._is_over):
            raise QueryTimeout(_LATE)
        if self._is_long:  # NOTE: the next statement may be short again
            self._checks, self._is_long = 0, False
            self._look_every(_STEPS_TO_FIRST_CHECK)
            self._steps_to_next = _STEPS_TO_FIRST_CHECK
        if self._most_steps is None:
            self._looked = time.monotonic()

    def read_steps(self) -> int:
        """Return the steps of SQLite's virtual machine since the snapshot began, to the last 5,000
        of a statement (of one that takes longer than 4 ms, to the last 100,000; of one that must be
        short, the last 100).
        """
        return self._steps

    def _look_every(self, steps: int) -> None:
        self._steps_per_check = steps
        self.connection.set_progress_handler(self._check_progress, steps)

    def _check_progress(self) -> bool:
        self._steps += self._steps_to_next
        # NOTE: SQLite has scheduled the next check when it calls: a new interval holds after that.
        self._steps_to_next = self._steps_per_check
        if self._most_steps is not None:
            return self._is_over() or self._steps > self._most_steps
        now = time.monotonic()
        self._pace_looks(now)
        if self._is_long:
            self._look()
            if self._may_yield:
                is_over = self._scheduler.yield_control(self, self._is_over)
                self._looked = time.monotonic()
                return is_over
        return self._is_over(now)

    def _pace_looks(self, now: float) -> None:
        """Check sooner where steps take long, later where the statement goes on for long."""
        seconds, self._looked = now - self._looked, now
        self._checks += 1
        if seconds > _SECONDS_PER_CHECK:
            self._is_long = True
            fitting = int(self._steps_per_check * _SECONDS_PER_CHECK / seconds / 2)
            self._look_every(max(_LEAST_STEPS, fitting))
        elif self._checks >= _CHECKS_UNTIL_LONG:
            self._is_long = True
            if self._steps_per_check < _STEPS_PER_LONG_CHECK and seconds < _SECONDS_PER_CHECK / 2:
                self._look_every(min(self._steps_per_check * 4, _STEPS_PER_LONG_CHECK))
        elif self._steps_per_check < _STEPS_PER_CHECK:
            self._look_every(_STEPS_PER_CHECK)

    def _is_over(self, now: float | None = None) -> bool:
        if self._deadline is None or self._cancelled:
            return self._cancelled
        return (time.monotonic() if now is None else now) >= self._deadline


class _ShortSnapshot:
    """The context of `StatementRunner.short_snapshot`. PERF: a generator takes 0.8 us more."""

    __slots__ = ("_largest", "_runner", "_seconds", "_steps")

    def __init__(self, runner: StatementRunner, steps: int, seconds: float) -> None:
        self._runner, self._steps, self._seconds = runner, steps, seconds

    def __enter__(self) -> None:
        self._largest = self._runner.begin_short(self._steps, self._seconds)

    def __exit__(self, *_error: object) -> None:
        self._runner.end_short(self._largest)


class RowsStatement:
    """A statement with the values of some rows in its middle, as `(?, ?), (?, ?)`.

    PERF: a statement run for each row pays for its start and end each time, and its thread waits
    for the interpreter lock after each row, which a busy event loop releases late. A hundred rows
    at once are written three to four times as fast: a relationship in 4.3 us instead of 16.9, a
    twin in 3.1 instead of 8.6.

    `head` and `tail` are the text before and after them; a row has `columns` values.
    """

    def __init__(self, head: str, columns: int, tail: str = "") -> None:
        row = f"({', '.join(['?'] * columns)})"
        self._texts = {size: f"{head}{', '.join([row] * size)}{tail}" for size in _SIZES}

    def run(self, cursor: apsw.Cursor, rows: Sequence[tuple[SqlValue, ...]]) -> int:
        """Write the rows in order; return how many rows of the table were inserted or changed."""
        at = changed = 0
        for size in _SIZES:
            text = self._texts[size]
            while len(rows) - at >= size:
                bindings = tuple(chain.from_iterable(rows[at : at + size]))
                cursor.execute(text, bindings)
                changed += cursor.connection.changes()
                at += size
        return changed
