"""What processes take of a machine, as Linux tells it. It starts nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tests.reliability.judging import NotRun


def read_resident(pids: Iterable[int]) -> int:
    """Bytes of memory that these processes have of their own, all together."""
    return sum(_read_own(pid) for pid in pids)


def _read_own(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    try:
        lines = rollup.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        raise NotRun("it reads the memory of processes in /proc, which is not here") from None
    private = [line for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:"))]
    return sum(int(line.split()[1]) for line in private) * 1024


def read_time(pid: int) -> float:
    """Seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_files(pid: int) -> int:
    """Open files of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def count_threads(pid: int) -> int:
    """Threads of a process."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def read_anonymous(pids: Iterable[int]) -> int:
    """Bytes of anonymous memory of these processes; cheap enough to look often."""
    return sum(_read_anonymous(pid) for pid in pids)


def _read_anonymous(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it has ended
    kilobytes = [line.split()[1] for line in text.splitlines() if line.startswith("RssAnon:")]
    return sum(map(int, kilobytes)) * 1024


def list_descendants(pid: int) -> list[int]:
    """The ids of all processes below one."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(child) for child in text.split()]
    return children + [below for child in children for below in list_descendants(child)]
