"""What a running query may use, and the watch over it. It sets no defaults: settings do.

`Limits` is what the caller asks; `Budget` is one run's account of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from twinframe.errors import LimitExceeded, QueryTimeout
from twinframe.model.values import Value

_CHECK_EVERY = 256
_LARGE = 16 * 1024
_MAX_TEXT = 4 * 1024 * 1024
_MAX_ALL_TEXT = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; None is unbounded.

    `max_rows`: rows (and list elements) held in memory at once. `deadline`: a `time.monotonic()`
    moment. `max_hops`: longest variable-length path that is followed. `meter`, if given, is told
    how much work was done.
    """

    max_rows: int | None = None
    deadline: float | None = None
    max_hops: int | None = None
    meter: Meter | None = None


@dataclass(slots=True)
class Meter:
    """Counts the evaluator's steps: rows and hops, some microseconds each, to the last 256."""

    steps: int = 0


class Budget:
    """The account of one run. Not shared between threads."""

    __slots__ = (
        "_built_text",
        "_check_reader",
        "_deadline",
        "_held",
        "_max_rows",
        "_meter",
        "_ticks",
        "max_hops",
    )

    def __init__(self, limits: Limits, check_reader: Callable[[], None] | None = None) -> None:
        """`check_reader` raises when the run was stopped from outside."""
        self._check_reader = check_reader
        self._meter = limits.meter
        self.max_hops = limits.max_hops
        self._max_rows = limits.max_rows
        self._deadline = limits.deadline
        self._ticks = 0
        self._held = 0
        self._built_text = 0

    def tick(self) -> None:
        """Count one step of work; `QueryTimeout` once the deadline has passed.

        PERF: the clock is read at the first step and then every 256th; a step is a row or a hop.
        """
        if self._ticks % _CHECK_EVERY == 0:
            if self._meter is not None and self._ticks:
                self._meter.steps += _CHECK_EVERY
            self._check_clock()
        self._ticks += 1

    def hold(self, count: int = 1) -> None:
        """Account for rows or elements that stay in memory; `LimitExceeded` beyond the most."""
        self._held += count
        if self._max_rows is not None and self._held > self._max_rows:
            raise LimitExceeded(
                f"The query holds more than {self._max_rows} rows in memory at once "
                "(Query__MaxRows). Narrow the pattern, or add a LIMIT before sorting, collecting "
                "or grouping."
            )

    def release(self, count: int) -> None:
        """Give back what `hold` counted."""
        self._held -= count

    def check_length(self, count: int) -> None:
        """`LimitExceeded` for a list of more elements than rows may be held."""
        if self._max_rows is not None and count > self._max_rows:
            raise LimitExceeded(
                f"A list of {count} elements is longer than a query may hold: "
                f"{self._max_rows} (Query__MaxRows)."
            )
        if count > _LARGE:
            self._check_clock()

    def check_members(self, members: Iterable[Value]) -> int:
        """Count what nests in the members of a new list or map; `LimitExceeded` when too much.

        SEC: a list that holds one list twice costs nothing; forty such levels, written out, are
        more than a machine holds. What is counted here is what writing out would visit.
        """
        waiting = [one for one in members if isinstance(one, list | dict)]
        if not waiting or self._max_rows is None:
            return 0
        count = 0
        while waiting:
            nested = waiting.pop()
            count += len(nested)
            self.check_length(count)
            inner = nested if isinstance(nested, list) else nested.values()
            waiting += (one for one in inner if isinstance(one, list | dict))
        return count

    def check_text(self, length: int) -> None:
        """`LimitExceeded` for a string that is too long, or too many long ones.

        SEC: what is built counts, not what is kept: nothing tells when a string is given up.
        """
        if length <= _LARGE:
            return
        self._built_text += length
        if length > _MAX_TEXT or self._built_text > _MAX_ALL_TEXT:
            raise LimitExceeded(
                f"The query builds a string of {length} characters; one may have {_MAX_TEXT}, "
                f"and all long ones together {_MAX_ALL_TEXT}."
            )
        self._check_clock()

    def _check_clock(self) -> None:
        if self._check_reader is not None:
            self._check_reader()
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise QueryTimeout(
                "The query ran longer than it may (Query__Timeout) and was stopped. "
                "Start the pattern at a $dtId or a label, or ask for less."
            )
