"""Makes the C library return memory that a worker has freed to the system.

NOTE: only glibc has these functions; with another C library nothing happens.
"""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import Any, Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_LARGE: Final = 256 * 1024
_ARENAS: Final = 2
_GROWTH: Final = 32 * 1024 * 1024
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def tame_allocator() -> None:
    """Return large blocks as soon as they are freed, and share few arenas between threads.

    Call it before threads start. By default, glibc raises the size of blocks that it returns at
    once to 32 MiB, and has eight arenas per processor that keep freed memory.
    """
    library = _find_library()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_TRIM_THRESHOLD, _LARGE)
        library.mallopt(_ARENA_MAX, _ARENAS)


class Trimmer:
    """Returns freed memory to the system when a process has grown."""

    def __init__(self) -> None:
        self._library = _find_library()
        self._after = 0

    def look(self) -> None:
        """Trim in a thread of its own if the process is much larger than after the last time."""
        resident = _read_resident()
        if not self._after:
            self._after = resident
        elif self._library is not None and resident - self._after > _GROWTH:
            self._after = resident  # for concurrent checks
            threading.Thread(target=self._trim, name="trim", daemon=True).start()

    def _trim(self) -> None:
        self._library.malloc_trim(0)
        self._after = _read_resident()


def _find_library() -> Any:
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None


def _read_resident() -> int:
    """Return the bytes of memory of this process; 0 where it is unknown."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except OSError:
        return 0
