"""How many requests of one graph are under way, over all workers. It refuses nobody by itself."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from pathlib import Path
from typing import Final

_SLOT_BYTES: Final = 4
_SLOTS: Final = 1024
# NOTE: locks of an open file, not of a process: closing another one must not take them away.
_SET_LOCK: Final = getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK)


class SharedCount:
    """A number in each worker's own place of a small file that all have in memory.

    A place belongs to whoever has it locked; what a worker that died left in its place is cleared
    by the next one that meets the limit.
    PERF: a request in and out costs 2 us; a lock a request would cost a system call each.
    """

    def __init__(self, path: Path, workers: int) -> None:
        """`workers` is how many share it; while they are exchanged there may be twice as many."""
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
        try:
            os.ftruncate(self._handle, _SLOTS * _SLOT_BYTES)
            self._memory = mmap.mmap(self._handle, _SLOTS * _SLOT_BYTES)
            self._numbers = memoryview(self._memory).cast("I")
            self._seen = self._numbers[: min(2 * workers + 2, _SLOTS)]
            self._own = self._claim()
        except BaseException:
            os.close(self._handle)
            raise
        self._numbers[self._own] = 0
        self._closed = False

    def enter(self, limit: int) -> bool:
        """Count one more, unless that would be more than `limit` in all."""
        # NOTE: counted first and looked at after: two that come at once may both be refused, but
        # never both be let in.
        self._numbers[self._own] += 1
        if sum(self._seen) <= limit or (self._clear_dead() and sum(self._seen) <= limit):
            return True
        self._numbers[self._own] -= 1
        return False

    def leave(self) -> None:
        """Count one less; without effect once it is closed."""
        if not self._closed:
            self._numbers[self._own] -= 1

    def close(self) -> None:
        """Give the place back. Nothing of this worker is under way."""
        self._closed = True
        self._numbers[self._own] = 0
        self._seen.release()
        self._numbers.release()
        self._memory.close()
        os.close(self._handle)

    def _claim(self) -> int:
        for slot in range(len(self._seen)):
            if self._lock(slot):
                return slot
        raise OSError(f"all {len(self._seen)} places are taken")

    def _clear_dead(self) -> bool:
        found = False
        for slot, number in enumerate(self._seen):
            if number and slot != self._own and self._lock(slot):
                self._numbers[slot] = 0
                self._lock(slot, fcntl.F_UNLCK)
                found = True
        return found

    def _lock(self, slot: int, kind: int = fcntl.F_WRLCK) -> bool:
        wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, slot * _SLOT_BYTES, _SLOT_BYTES, 0)
        try:
            fcntl.fcntl(self._handle, _SET_LOCK, wanted)
        except (BlockingIOError, PermissionError):
            return False
        return True
