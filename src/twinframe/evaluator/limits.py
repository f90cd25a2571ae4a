"""What a running query may use, and the watch over it. It sets no defaults: settings do.

`Limits` is what the caller asks; `Budget` is one run's account of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from twinframe.errors import LimitExceeded, QueryTimeout

_CHECK_EVERY = 256
_MAX_TEXT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; None is unbounded.

    `max_rows`: rows (and list elements) held in memory at once. `deadline`: a `time.monotonic()`
    moment. `max_hops`: longest variable-length path that is followed.
    """

    max_rows: int | None = None
    deadline: float | None = None
    max_hops: int | None = None


class Budget:
    """The account of one run. Not shared between threads."""

    __slots__ = ("_deadline", "_held", "_max_rows", "_ticks", "max_hops")

    def __init__(self, limits: Limits) -> None:
        self.max_hops = limits.max_hops
        self._max_rows = limits.max_rows
        self._deadline = limits.deadline
        self._ticks = 0
        self._held = 0

    def tick(self) -> None:
        """Count one step of work; `QueryTimeout` once the deadline has passed.

        PERF: the clock is read at the first step and then every 256th; a step is a row or a hop.
        """
        if self._ticks % _CHECK_EVERY == 0:
            self._check_clock()
        self._ticks += 1

    def hold(self, count: int = 1) -> None:
        """Account for rows or elements that stay in memory; `LimitExceeded` beyond the most."""
        self._held += count
        if self._max_rows is not None and self._held > self._max_rows:
            raise LimitExceeded(
                f"The query holds more than {self._max_rows} rows in memory at once. "
                "Narrow the pattern, or add a LIMIT before sorting, collecting or grouping."
            )

    def release(self, count: int) -> None:
        """Give back what `hold` counted."""
        self._held -= count

    def check_length(self, count: int) -> None:
        """`LimitExceeded` for a list of more elements than rows may be held."""
        if self._max_rows is not None and count > self._max_rows:
            raise LimitExceeded(
                f"A list of {count} elements is longer than a query may hold ({self._max_rows})."
            )

    def check_text(self, length: int) -> None:
        """`LimitExceeded` for a string of more than 16 Mi characters."""
        if length > _MAX_TEXT:
            raise LimitExceeded(
                f"A string of {length} characters is longer than the {_MAX_TEXT} a query may build."
            )

    def _check_clock(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise QueryTimeout(
                "The query ran longer than it may and was stopped. "
                "Start the pattern at a $dtId or a label, or ask for less."
            )
