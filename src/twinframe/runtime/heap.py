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
_KEPT_BLOCKS: Final = 4
_LARGEST_KEPT: Final = 32 * 1024**2
_KEEPING: Final = threading.Lock()
_kept = _LARGE
_LIBRARY: Final[Any] = ctypes.CDLL(None)
_IS_GLIBC: Final = hasattr(_LIBRARY, "malloc_trim") and hasattr(_LIBRARY, "mallopt")


class _Usage(ctypes.Structure):
    """glibc's `struct mallinfo2`, in bytes."""

    _fields_ = (
        ("arena", ctypes.c_size_t),
        ("ordblks", ctypes.c_size_t),
        ("smblks", ctypes.c_size_t),
        ("hblks", ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),
        ("usmblks", ctypes.c_size_t),
        ("fsmblks", ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),
        ("fordblks", ctypes.c_size_t),
        ("keepcost", ctypes.c_size_t),
    )


_READ_USAGE: Final[Any] = getattr(_LIBRARY, "mallinfo2", None)  # since glibc 2.33
if _READ_USAGE is not None:
    _READ_USAGE.restype = _Usage


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


def keep_blocks(size: int) -> None:
    """Keep freed blocks of up to `size` bytes, and some of these in all, for those that come next.

    Only a larger size than before changes anything; 32 MiB is the most. PERF: the system clears the
    pages of a block that was returned, which takes several times as long as most work on arrays.
    """
    global _kept  # noqa: PLW0603  # the heap is the process's
    with _KEEPING:
        size = min(size, _LARGEST_KEPT)
        if size > _kept and _IS_GLIBC:
            _kept = size
            _LIBRARY.mallopt(_MMAP_THRESHOLD, size)
            _LIBRARY.mallopt(_TRIM_THRESHOLD, min(_KEPT_BLOCKS * size, _LARGEST_KEPT))


class HeapTrimmer:
    """Returns freed memory to the system once the process keeps some `growth` bytes more of it.

    NOTE: what is kept cannot be read. It is the memory of the process without the heap's blocks in
    use, and without the memory beside the heap, which is known at the start and after each return.
    The memory of the process alone does not show it: at a peak little is free, and afterwards the
    process does not grow.
    """

    def __init__(self, growth: int) -> None:
        self._growth = growth
        self._least = read_own_memory()
        self._beside = self._least - _read_used()

    def is_due(self) -> bool:
        """Return whether there is as much to return.

        PERF: 10 us; some 0.5 ms where the process has grown, by the number of free blocks.
        """
        own = read_own_memory()
        self._least = min(self._least, own)
        if own <= self._least + self._growth:
            return False
        beside = own - _read_used()
        self._beside = min(self._beside, beside)
        return beside > self._beside + self._growth

    def trim(self) -> None:
        """Return all freed memory. PERF: it takes milliseconds, without the interpreter's lock."""
        if _IS_GLIBC:
            _LIBRARY.malloc_trim(0)
        self._beside = read_own_memory() - _read_used()


def _read_used() -> int:
    """Return the bytes of the heap's blocks in use; 0 where the C library does not tell."""
    if _READ_USAGE is None:
        return 0
    usage = _READ_USAGE()
    return int(usage.uordblks + usage.hblkhd)


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
