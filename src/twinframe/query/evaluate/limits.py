"""The limits of a running query and the accounting of its time and memory.

`Limits` are set by the caller from the settings; `Budget` accounts for one run, `Holding` for what
one of its operators keeps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from twinframe.errors import LimitExceeded, QueryTimeout
from twinframe.model.values import Value
from twinframe.query.evaluate.sizes import WORD, measure
from twinframe.runtime.memory import Hold, MemoryAccount, Part

_CHECK_EVERY = 256
_LARGE = 16 * 1024
_MAX_TEXT = 4 * 1024 * 1024
_LOOK_EVERY: Final = 4 * 1024 * 1024
_LOOK_TICKS: Final = 8 * _CHECK_EVERY
_GRANT: Final = 256 * 1024
_ROW: Final = 128
_KNOWN: Final = 96
_NESTED: Final = 1024
MOST_EFFORT: Final = 100_000
"""The allowed effort of a run for building regular expressions: 0.1 s, for some 800 short ones."""


class Interrupt:
    """Ends a run early: at a moment of `time.monotonic`, or when another thread sets it.

    The run looks at it between rows and between writes, and raises `QueryTimeout`.
    """

    __slots__ = ("_is_set", "deadline")

    def __init__(self, deadline: float = math.inf) -> None:
        self.deadline = deadline
        self._is_set = False

    def set(self) -> None:
        """End the run. Thread-safe."""
        self._is_set = True

    def check(self) -> None:
        """Raise `QueryTimeout` once the run is to end."""
        if self._is_set:
            raise QueryTimeout("The statement was interrupted by its client.")
        if time.monotonic() > self.deadline:
            raise QueryTimeout("The transaction ran longer than its client allowed.")


# PERF: not frozen, as each query makes one: a field of a frozen object takes 50 ns more to set.
@dataclass(slots=True)
class Limits:
    """Bounds of one run; None is unbounded.

    `max_rows`: rows (and list elements) held in memory at once. `max_bytes`: bytes of all that is
    held, which are taken from `memory` too. `deadline`: a `time.monotonic()` moment. `max_hops`:
    longest variable-length path that is followed. `meter`, if given, counts the work done.
    `interrupt` ends the run from outside.
    """

    max_rows: int | None = None
    deadline: float | None = None
    max_hops: int | None = None
    meter: Meter | None = None
    max_bytes: int | None = None
    memory: MemoryAccount | None = None
    interrupt: Interrupt | None = None


@dataclass(slots=True)
class Meter:
    """Counts the evaluator's steps: rows and hops, some microseconds each, to the last 256."""

    steps: int = 0


class Budget:
    """The account of one run. Not shared between threads. Close it when the run has ended."""

    __slots__ = (
        "_built",
        "_check_reader",
        "_deadline",
        "_effort",
        "_granted",
        "_held",
        "_hold",
        "_interrupt",
        "_max_bytes",
        "_max_rows",
        "_memory",
        "_meter",
        "_size",
        "_ticks",
        "max_hops",
    )

    def __init__(self, limits: Limits, check_reader: Callable[[], None] | None = None) -> None:
        """`check_reader` raises when the run was stopped from outside."""
        self._check_reader = check_reader
        self._meter = limits.meter
        self.max_hops = limits.max_hops
        self._max_rows = limits.max_rows
        self._max_bytes = _choose_bytes(limits)
        self._memory = limits.memory
        self._deadline = limits.deadline
        self._interrupt = limits.interrupt
        self._hold: Hold | None = None
        self._ticks = 0
        self._held = 0
        self._size = 0
        self._granted = 0
        self._built = 0
        self._effort = 0

    def close(self) -> None:
        """Return the run's memory to the account."""
        if self._hold is not None:
            self._hold.release()

    def tick(self) -> None:
        """Count one step of work; raise `QueryTimeout` once the deadline has passed.

        PERF: the clock is read at the first step and then every 256th; a step is a row or a hop.
        """
        if self._ticks % _CHECK_EVERY == 0:
            if self._meter is not None and self._ticks:
                self._meter.steps += _CHECK_EVERY
            self._check_clock()
        self._ticks += 1

    def check_interrupt(self) -> None:
        """Raise `QueryTimeout` if the run is to end: for steps that are long by themselves."""
        if self._interrupt is not None:
            self._interrupt.check()

    # --- what is kept -------------------------------------------------------------------------

    def open(self) -> Holding:
        """Return a new account of what one operator keeps."""
        return Holding(self)

    def hold(self, count: int = 1, size: int | None = None) -> None:
        """Account for rows or elements that stay in memory, of `size` bytes together.

        Raises `LimitExceeded` beyond the most rows or bytes of a query.
        """
        self._held += count
        if self._max_rows is not None and self._held > self._max_rows:
            raise LimitExceeded(
                f"The query holds more than {self._max_rows} rows in memory at once "
                "(Query__MaxRows). Narrow the pattern, or add a LIMIT before sorting, collecting "
                "or grouping."
            )
        self._size += count * _ROW if size is None else size
        if self._size > self._granted:
            self._ask()

    def release(self, count: int, size: int | None = None) -> None:
        """Release what `hold` counted."""
        self._held -= count
        self._size -= count * _ROW if size is None else size

    def _ask(self) -> None:
        """Request more bytes: within the query's own limit, and from the process's account."""
        if self._max_bytes is not None and self._size > self._max_bytes:
            raise _refuse_bytes(self._max_bytes)
        grant = self._size - self._granted + _GRANT
        if self._memory is not None:
            if self._hold is None:
                self._hold = self._memory.hold(Part.QUERIES)
            self._hold.grow(grant)
            self._memory.look()
        self._granted += grant

    # --- what is built ------------------------------------------------------------------------

    def check_length(self, count: int) -> None:
        """Raise `LimitExceeded` for a list of more elements than rows or bytes may be held."""
        if self._max_rows is not None and count > self._max_rows:
            raise LimitExceeded(
                f"A list of {count} elements is longer than a query may hold: "
                f"{self._max_rows} (Query__MaxRows)."
            )
        if count > _LARGE:
            self.check_built(count * WORD)
            self._check_clock()

    def check_members(self, members: Iterable[Value]) -> int:
        """Measure the members of a new list or map, in bytes; raise `LimitExceeded` if too large.

        SEC: a list that holds one list twice costs nothing; forty such levels, written out, exceed
        any machine's memory. This measures everything that writing out would visit.
        """
        size = 0
        for one in members:
            size = self.add_member(size, one)
        return size

    def add_member(self, size: int, value: Value) -> int:
        """Return the size of a list under construction with one more member; raise `LimitExceeded`
        if too large.
        """
        if value is None or type(value) in _SMALL:
            return size + WORD
        own = measure(value, self.read_room())
        size += own
        if self._max_bytes is not None and size > self._max_bytes:
            raise _refuse_bytes(self._max_bytes)
        self.check_built(own)
        return size

    def check_text(self, length: int) -> None:
        """Raise `LimitExceeded` for a string that is too long to be built."""
        if length <= _LARGE:
            return
        if length > _MAX_TEXT:
            raise LimitExceeded(
                f"The query builds a string of {length} characters; one may have {_MAX_TEXT}."
            )
        self.check_built(length)
        self._check_clock()

    def check_built(self, size: int) -> None:
        """Count bytes that are built, kept or not; periodically check the memory of the process.

        NOTE: nothing reports when a value is freed. So it does not limit what is built, but what
        exists: raises `MemoryExhausted` when that is too much.
        """
        if self._max_bytes is not None and size > self._max_bytes:
            raise _refuse_bytes(self._max_bytes)
        self._built += size
        if self._built > _LOOK_EVERY:
            self._built = 0
            if self._memory is not None:
                self._memory.look()

    def add_effort(self, effort: int) -> None:
        """Account for building a regular expression; raise `LimitExceeded` for too many of them."""
        self._effort += effort
        if self._effort > MOST_EFFORT:
            raise LimitExceeded(
                "The query builds too many regular expressions: some 800 short ones, fewer long "
                "ones. Write the pattern into the text, or keep it the same for all rows."
            )
        self._check_clock()

    def read_room(self) -> int:
        """Return the most bytes up to which a value is worth measuring."""
        return 2**62 if self._max_bytes is None else self._max_bytes

    def _check_clock(self) -> None:
        # NOTE: not every store reports how much is read from it; a step is a row that may be large.
        if self._memory is not None and self._ticks % _LOOK_TICKS == 0 and self._ticks:
            self._memory.look()
        if self._check_reader is not None:
            self._check_reader()
        if self._interrupt is not None:
            self._interrupt.check()
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise QueryTimeout(
                "The query ran longer than it may (Query__Timeout) and was stopped. "
                "Start the pattern at a $dtId or a label, or ask for less."
            )


class Holding:
    """What one operator keeps, counted in rows and bytes; a value that is kept twice counts once.

    JSON values and documents count with their deep size.
    """

    __slots__ = ("_budget", "_known", "_rows", "_size")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._known: dict[int, Value] = {}
        """By identity; the values are kept here, so that no other value gets the same identity."""
        self._rows = 0
        self._size = 0

    def add(self, value: Value) -> None:
        """Keep a row of one value."""
        self._take(WORD + self._measure(value))

    def add_row(self, row: Iterable[Value]) -> None:
        """Keep a row."""
        size = _ROW
        for value in row:
            size += WORD + self._measure(value)
        self._take(size)

    def add_size(self, size: int) -> None:
        """Keep this many more bytes, in no row."""
        self._budget.hold(0, size)
        self._size += size

    def add_again(self, value: Value) -> None:
        """Count a value that will be written out here, even if it is kept already."""
        if value is None or type(value) in _SMALL:
            self._take(2 * WORD)
        else:
            self._take(WORD + measure(value, self._budget.read_room()))

    def release(self) -> None:
        """Release everything."""
        self._budget.release(self._rows, self._size)
        self._known.clear()
        self._rows = self._size = 0

    def _take(self, size: int) -> None:
        self._budget.hold(1, size)
        self._rows += 1
        self._size += size

    def _measure(self, value: Value) -> int:
        if value is None or type(value) in _SMALL:
            return WORD
        if id(value) in self._known:
            return 0
        self._known[id(value)] = value
        return _KNOWN + measure(value, self._budget.read_room())


_SMALL: Final = frozenset({bool, int, float})


def _choose_bytes(limits: Limits) -> int | None:
    """Choose the bound of bytes: a bound of rows also bounds what nests in a row."""
    if limits.max_bytes is None and limits.max_rows is not None:
        return limits.max_rows * _NESTED
    return limits.max_bytes


def _refuse_bytes(most: int) -> LimitExceeded:
    return LimitExceeded(
        f"The query holds more than {most} bytes in memory at once (Query__MaxBytes). Ask for "
        "fewer properties, narrow the pattern, or add a LIMIT before sorting, collecting or "
        "grouping."
    )
