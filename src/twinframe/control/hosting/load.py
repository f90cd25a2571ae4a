"""Counts the running requests of one graph over all workers."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from twinframe.control.hosting.slots import SharedSlots

_FORMAT: Final = "I"


class SharedCount:
    """A number in each worker's own slot of a small memory-mapped file.

    The count of a dead worker is cleared by the next worker that reaches the limit. PERF: a request
    in and out costs 2 us; a lock would cost a system call for each request.
    """

    def __init__(self, path: Path, workers: int) -> None:
        """`workers` is how many share it; during a reload there may be twice as many."""
        self._slots = SharedSlots(path, _FORMAT, 1, workers)
        self._numbers = self._slots.numbers
        self._own = self._slots.own
        self._numbers[self._own] = 0
        self._closed = False

    def enter(self, limit: int) -> bool:
        """Count one more, unless that would be more than `limit` in all."""
        # NOTE: counted first and checked afterwards: two that come at once may both be refused, but
        # never both be admitted.
        self._numbers[self._own] += 1
        if sum(self._numbers) <= limit or (self._clear_dead() and sum(self._numbers) <= limit):
            return True
        self._numbers[self._own] -= 1
        return False

    def leave(self) -> None:
        """Count one less; without effect once it is closed."""
        if not self._closed:
            self._numbers[self._own] -= 1

    def close(self) -> None:
        """Release the slot. No request of this worker is running."""
        self._closed = True
        self._numbers[self._own] = 0
        self._slots.close()

    def _clear_dead(self) -> bool:
        found = False
        for slot, number in enumerate(self._numbers):
            if number and slot != self._own and self._slots.claim(slot):
                self._numbers[slot] = 0
                self._slots.give_back(slot)
                found = True
        return found
