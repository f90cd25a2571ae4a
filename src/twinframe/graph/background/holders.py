"""Names the process that holds a lease, and detects whether it is dead.

A process is named by the boot of its machine, its namespaces of process ids and of time, its id and
the moment it began in them, so that a name never recurs. Processes of another machine or container
are never known to be dead.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

UNKNOWN: Final = ""

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_SELF: Final = Path("/proc/self")
_NAMESPACES: Final = Path("/proc/self/ns")
_STATE, _BEGUN = 0, 19
"""Positions of the fields after the program's name in `/proc/<pid>/stat`."""
_DEAD: Final = frozenset("ZXx")


def read_holder() -> str:
    """Return the name of this process; `UNKNOWN` where there is no `/proc`."""
    place = _read_place()
    if place == UNKNOWN:
        return UNKNOWN
    pid = os.getpid()
    fields = _read_fields(pid)
    return UNKNOWN if fields is None else f"{place}/{pid}/{fields[_BEGUN]}"


def is_dead(holder: str) -> bool:
    """Return whether the process of that name is known to have ended.

    A zombie has ended: it runs no code.
    """
    place, pid, begun = ["", "", *holder.rsplit("/", 2)][-3:]
    if place == UNKNOWN or place != _read_place() or not pid.isdecimal():
        return False
    fields = _read_fields(int(pid))
    if fields is None:
        return not _exists(int(pid))
    return fields[_BEGUN] != begun or fields[_STATE] in _DEAD


@cache
def _read_place() -> str:
    """Return machine and namespaces of this process, which its forks share."""
    try:
        if _SELF.readlink().name != str(os.getpid()):
            return UNKNOWN  # a `/proc` of another namespace, with other ids
        boot = _BOOT.read_text(encoding="ascii").strip()
        ids = (_NAMESPACES / "pid").stat().st_ino
        # NOTE: `stat` shows the beginning differently to processes in a time namespace with an
        # offset; kernels before 5.6 have no such namespaces.
        clock = _NAMESPACES / "time"
        times = clock.stat().st_ino if clock.exists() else 0
    except (OSError, UnicodeDecodeError):
        return UNKNOWN
    return f"{boot}/{ids}/{times}" if boot else UNKNOWN


def _read_fields(pid: int) -> list[str] | None:
    """Return the fields after the program's name, which may hold anything; None if unreadable."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text.rpartition(b")")[2].decode("ascii", "replace").split()
    return fields if len(fields) > _BEGUN else None


def _exists(pid: int) -> bool:
    """NOTE: `/proc` may hide processes of others (hidepid), which are alive all the same."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
