"""A small memory-mapped file of numbers that all workers share, with a slot for each of them."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from pathlib import Path
from typing import Final, Literal

_SLOTS: Final = 1024
# NOTE: locks of an open file, not of a process: closing another file must not release them.
_SET_LOCK: Final = getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK)


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
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        return self._lock(slot, fcntl.F_WRLCK)

    def give_back(self, slot: int) -> None:
        """Release the slot."""
        self._lock(slot, fcntl.F_UNLCK)

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

    def _lock(self, slot: int, kind: int) -> bool:
        wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, slot * self._bytes, self._bytes, 0)
        try:
            fcntl.fcntl(self._handle, _SET_LOCK, wanted)
        except (BlockingIOError, PermissionError):
            return False
        return True
