"""Reads what a process uses: memory, CPU time, open files, threads."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_STATM: Final = Path("/proc/self/statm")
_FILES: Final = Path("/proc/self/fd")


def read_process() -> Mapping[str, float]:
    """Return what this process uses now, without what the system does not report."""
    used = os.times()
    found: dict[str, float] = {
        "cpu_seconds": used.user + used.system,
        "threads": threading.active_count(),
        "max_fds": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            found["resident_bytes"] = int(_STATM.read_text().split()[1]) * _PAGE
        with contextlib.suppress(OSError):
            found["open_fds"] = sum(1 for _ in _FILES.iterdir())
    return found
