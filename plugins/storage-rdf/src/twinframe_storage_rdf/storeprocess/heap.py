"""The heap of the store process: what is free is given back to the system, as far as that can be.

Texts of megabytes come and go on the threads of all clients. With the defaults of the C library
some hundred megabytes of free memory stay, and each forked child begins with them.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from twinframe.footprint import read_own_memory

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_ARENAS: Final = 2
_LARGE: Final = 256 * 1024
"""A piece of memory from this size on is the system's own, and goes back when it is free."""
_GROWTH: Final = 16 * 1024**2
"""How much more memory than at the last look is looked at for what is free in it."""


class Heap:
    """Settings and upkeep of this process's heap; where the C library has none, nothing happens."""

    def __init__(self) -> None:
        self._library: Any = ctypes.CDLL(None)
        self._kept = 0

    def set_up(self) -> None:
        """Call it before there are threads."""
        if hasattr(self._library, "mallopt"):
            self._library.mallopt(_ARENA_MAX, _ARENAS)
            self._library.mallopt(_MMAP_THRESHOLD, _LARGE)
            self._library.mallopt(_TRIM_THRESHOLD, _LARGE)

    def trim(self) -> None:
        """Give back what is free, if the process has grown. PERF: 10 us when it has not."""
        if read_own_memory() < self._kept + _GROWTH or not hasattr(self._library, "malloc_trim"):
            return
        self._library.malloc_trim(0)
        self._kept = read_own_memory()
