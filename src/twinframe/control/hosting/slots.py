"""A small memory-mapped file of numbers that all workers share, with a slot for each of them."""

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
