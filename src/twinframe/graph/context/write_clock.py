"""Gives the recorded times of a graph's writes, which never go back.

A mark in the store is the upper bound of the times given. A write later than the mark moves it in
the same transaction. A worker whose clock is before the mark gives the latest possible time until
its clock has passed it, also after a restart.
"""

from __future__ import annotations

from typing import Final

import orjson

from twinframe.model.clock import Clock, warn_of_clock
from twinframe.storage.base import GraphTransaction

_KIND: Final = "clock"
_KEY: Final = "latest"
WINDOW: Final = 100_000_000
"""Nanoseconds by which times may be later than the mark.

PERF: the mark costs a row read and a row written, at most ten times a second.
"""

_TICK: Final = 100
"""Nanoseconds of the last digit of a recorded time."""


class WriteClock:
    """The clock of writes, which never goes back.

    It does not serve lifetimes: it may stand still for as long as the machine's clock is behind.
    """

    settled = 0
    """Up to this moment, no write of any worker will come any more."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest = 0
        self._mark: int | None = None
        self._moment: int | None = None

    def __call__(self) -> int:
        """Return the time of a write now, in nanoseconds since 1970-01-01T00:00:00Z.

        Between `begin` and `end` that is one moment: all that a write function records has the same
        time, so that no moment lies within it. It is a multiple of what recorded times show.
        """
        moment = self._moment  # NOTE: another thread may end its write function meanwhile
        if moment is not None:
            return moment
        now = self._clock()
        if now > self._latest:
            self._latest = now
        return self._latest

    def begin(self, transaction: GraphTransaction) -> None:
        """Begin a write function: its time is now.

        The mark is read where it matters: at first, and whenever the clock is before it.
        """
        now = self._clock()
        if self._mark is None or now < self._mark:
            self._mark = max(self._mark or 0, _read_mark(transaction))
            if now < self._mark:
                self._latest = max(self._latest, self._mark + WINDOW)
                warn_of_clock(now, self._mark)
        self._latest = max(self._latest, now)
        self._moment = self._latest // _TICK * _TICK

    def end(self, transaction: GraphTransaction) -> int:
        """Move the mark if times have passed it; return its value once this is committed."""
        self._moment = None
        latest, mark = self._latest, self._mark or 0
        if latest <= mark + WINDOW:
            return mark
        mark = _read_mark(transaction)  # another worker may have moved it
        if latest > mark + WINDOW:
            transaction.put_entry(_KIND, _KEY, orjson.dumps(latest))
            mark = latest
        return mark

    def settle(self, now: int) -> None:
        """Record that all writes that began before `now` have ended."""
        self.settled = max(self.settled, now // _TICK * _TICK - 1)

    def abandon(self) -> None:
        """End a write function that failed."""
        self._moment = None

    def confirm(self, mark: int) -> None:
        """Record the committed mark that `end` returned."""
        if self._mark is None or mark > self._mark:
            self._mark = mark


def _read_mark(transaction: GraphTransaction) -> int:
    body = transaction.read_entry(_KIND, _KEY)
    return 0 if body is None else int(orjson.loads(body))
