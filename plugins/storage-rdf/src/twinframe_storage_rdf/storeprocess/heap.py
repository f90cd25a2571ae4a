"""Heap settings of the store process, which return free memory to the operating system.

Texts of megabytes are allocated and freed on the threads of all clients. With the C library's
defaults some hundred megabytes of free memory would stay, and each forked child would start with
them.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from twinframe.runtime.footprint import read_own_memory

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_ARENAS: Final = 2
_LARGE: Final = 256 * 1024
"""Allocations of this size in bytes and larger are mapped, and returned to the system when
freed.
"""
_GROWTH: Final = 16 * 1024**2
"""Growth in bytes since the last trim after which the heap is trimmed."""


class Heap:
    """Heap settings and trimming of this process; they do nothing if the C library lacks the
    functions.
    """

    def __init__(self) -> None:
        self._library: Any = ctypes.CDLL(None)
        self._kept = 0

    def set_up(self) -> None:
        """Set the allocator's parameters. Call it before threads are started."""
        if hasattr(self._library, "mallopt"):
            self._library.mallopt(_ARENA_MAX, _ARENAS)
            self._library.mallopt(_MMAP_THRESHOLD, _LARGE)
            self._library.mallopt(_TRIM_THRESHOLD, _LARGE)

    def trim(self) -> None:
        """Return free memory to the system if the process has grown.

        PERF: 10 us when it has not.
        """
        if read_own_memory() < self._kept + _GROWTH or not hasattr(self._library, "malloc_trim"):
            return
        self._library.malloc_trim(0)
        self._kept = read_own_memory()
