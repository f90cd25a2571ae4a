"""A small memory-mapped file of numbers that all workers share, with a slot for each of them, and
the count of running requests in it.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import Final, Literal

from twinframe.runtime.locks import open_lock, try_lock_part, unlock_part

_SLOTS: Final = 1024


class SharedSlots:
    """The slots of one file. A slot belongs to the worker that has it locked; each reads all of
    them.

    `numbers` are those of all slots, one slot after the other; `own` is where this worker's begin.
    A new owner finds the last one's numbers there.
    """

    def __init__(
        self, path: Path, number_format: Literal["I", "Q"], width: int, workers: int
    ) -> None:
        """`width` numbers of a `struct` format make a slot.

        `workers` is how many share the file; during a reload there may be twice as many. Raises
        `OSError` when all slots are taken.
        """
        self._bytes = struct.calcsize(number_format) * width
        self._count = min(2 * workers + 2, _SLOTS)
        self._handle = open_lock(path)
        try:
            os.ftruncate(self._handle, _SLOTS * self._bytes)
            self._memory = mmap.mmap(self._handle, _SLOTS * self._bytes)
            self._all = memoryview(self._memory).cast(number_format)
            self.numbers = self._all[: self._count * width]
            self.own = self._claim_any() * width
        except BaseException:
            os.close(self._handle)
            raise

    def claim(self, slot: int) -> bool:
        """Take the slot, unless a live worker has it."""
        return try_lock_part(self._handle, slot * self._bytes, self._bytes)

    def give_back(self, slot: int) -> None:
        """Release the slot."""
        unlock_part(self._handle, slot * self._bytes, self._bytes)

    def close(self) -> None:
        """Release everything; the numbers stay in the file."""
        self.numbers.release()
        self._all.release()
        self._memory.close()
        os.close(self._handle)

    def _claim_any(self) -> int:
        for slot in range(self._count):
            if self.claim(slot):
                return slot
        raise OSError(f"all {self._count} places are taken")


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
