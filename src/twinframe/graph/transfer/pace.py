"""Chooses how many rows an import writes at once beside other writers, and how long it rests."""

from __future__ import annotations

from typing import Final

LEAST_ROWS: Final = 100
"""Rows of a chunk. PERF: others wait some 2 ms for a write of as many, and 10 ms for one of 500.
The fixed cost of a write is that of 40 rows.
"""
_RATE: Final = 25_000
"""Rows a second beyond which an import rests while others write."""
_WAITED: Final = 0.0003
_SMOOTHING: Final = 16
"""Seconds that a write waits in the mean of so many, beyond which others write too."""
_LATE: Final = 0.01
_LATEST: Final = 0.02
"""Seconds behind that rate after which writes get larger, and those that are made up for at most.
"""


class Pace:
    """The number of `chunks` in the next write, and the rest after it.

    `most` is the number of rows in the largest write. Without a `pause`, nobody else is served:
    then all writes are of that size, and there is no rest. With one, writes are of one chunk as
    long as that is fast enough: on a slow disk, or beside many writers, each write waits too long
    for few rows. `pause` is the longest rest, and that after a write of the largest size.
    """

    def __init__(self, most: int, pause: float) -> None:
        self._most = max(most // LEAST_ROWS, 1)
        self._pause = pause
        self._due = 0.0
        self._waited = 0.0
        self.chunks = 1 if pause else self._most

    def advance(self, rows: int, now: float, waited: float) -> float:
        """Return the seconds to rest after a write of `rows`.

        It ended at `now`, and had waited so long for other writes; both in seconds.
        """
        if not self._pause:
            return 0.0
        self._waited += (waited - self._waited) / _SMOOTHING
        rest = self._pause * self.chunks / self._most
        self._due = max(self._due + rows / _RATE, now - _LATEST)
        if now - self._due > _LATE:
            self.chunks = min(self.chunks + 1, self._most)
        elif now <= self._due and self.chunks > 1:
            self.chunks -= 1
        if self._waited < _WAITED:
            return rest
        return min(max(self._due - now, 0.0), self._pause)
