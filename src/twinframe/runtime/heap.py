"""Measures the memory of this process, and makes the C library return freed memory to the system.

NOTE: only glibc has the functions for it; with another C library nothing is returned.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from pathlib import Path
from typing import Any, Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_STATE: Final = Path("/proc/self/statm")
_PAUSE: Final = 0.5
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_ARENAS: Final = 2
_LARGE: Final = 256 * 1024
_LIBRARY: Final[Any] = ctypes.CDLL(None)
_IS_GLIBC: Final = hasattr(_LIBRARY, "malloc_trim") and hasattr(_LIBRARY, "mallopt")


def read_own_memory() -> int:
    """Return the bytes of this process's memory that belong to no file; 0 where it is unknown."""
    try:
        fields = _STATE.read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE


def set_up_heap() -> None:
    """Return large blocks as soon as they are freed, and share few arenas between threads.

    Call it before threads start. By default, glibc raises the size of blocks that it returns at
    once to 32 MiB, and has eight arenas per processor that keep freed memory.
    """
    if _IS_GLIBC:
        _LIBRARY.mallopt(_ARENA_MAX, _ARENAS)
        _LIBRARY.mallopt(_MMAP_THRESHOLD, _LARGE)
        _LIBRARY.mallopt(_TRIM_THRESHOLD, _LARGE)


class HeapTrimmer:
    """Returns freed memory to the system when the process has grown by `growth` bytes."""

    def __init__(self, growth: int) -> None:
        self._growth = growth
        self._kept = 0

    def has_grown(self) -> bool:
        """Return whether `trim` is due. PERF: 10 us."""
        return read_own_memory() > self._kept + self._growth

    def trim(self) -> None:
        """Return all freed memory. PERF: it takes milliseconds, without the interpreter's lock."""
        if _IS_GLIBC:
            _LIBRARY.malloc_trim(0)
        self._kept = read_own_memory()


class Footprint:
    """The memory of this process against its limit. Thread-safe.

    PERF: a check costs 15 us.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._trimmed = 0.0

    def is_over(self) -> bool:
        """Return whether it exceeds the limit, even after freed memory was returned.

        NOTE: always False except on Linux.
        """
        return read_own_memory() > self.most and not self._shrinks()

    def _shrinks(self) -> bool:
        """Return freed memory to the system, at intervals; return whether that helped."""
        with self._lock:
            now = time.monotonic()
            if now - self._trimmed < _PAUSE or not _IS_GLIBC:
                return False
            self._trimmed = now
        _LIBRARY.malloc_trim(0)
        return read_own_memory() <= self.most
