"""Checks the machine of the service: its clock, open files, processors, libraries."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from twinframe.runtime.diagnosis.findings import Finding, build_error, build_fine, build_warning

_OTHER_FILES: Final = 128
_WORKERS_PER_CPU: Final = 4
# 2024-01-01: no release of this service is older, so a clock before it was never set.
_EARLIEST: Final = 1_704_067_200
_SERVING: Final = ("httptools", "uvloop", "uvicorn", "gunicorn")


def check_libraries(needed: Sequence[str] = _SERVING) -> Iterator[Finding]:
    """Check that the libraries that serving needs are installed.

    SEC: without httptools another HTTP parser would be used, which allows request smuggling.
    """
    for name in needed:
        try:
            found = version(name)
        except PackageNotFoundError:
            yield build_error(
                "versions",
                f"{name} is not installed; the service does not serve without it.",
                f"pip install {name}",
            )
        else:
            yield build_fine("versions", f"{name} {found}")
    yield build_fine("versions", f"Python {sys.version.split()[0]}")


def check_plugins(core: str, plugins: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Check that this project's plugins are of the core's release, given (name, version)."""
    for name, found in plugins:
        if name.startswith("twinframe-") and found != core:
            yield build_warning(
                "versions",
                f"{name} is {found}, twinframe is {core}: they are made and tested together.",
                f"pip install --upgrade twinframe=={core} {name}=={core}",
            )


def check_open_files(connections: int, graphs: int = 0) -> Finding:
    """Check that a worker may open as many files as its connections and graphs may need."""
    needed = connections + graphs + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # NOTE: the service raises the soft limit itself only as far as hosted graphs need it.
    if soft in (resource.RLIM_INFINITY, -1) or soft >= needed:
        return build_fine("open files", f"A worker may have {soft} files open.")
    text = f"A worker may have {soft} files open (at most {hard}), and may need {needed}."
    return build_warning(
        "open files",
        text,
        f"Allow more (ulimit -n {needed}; LimitNOFILE={needed} in a systemd unit), or lower "
        "Server__MaxConnections.",
    )


def check_workers(workers: int) -> Finding:
    """Check that there are enough processors for the workers."""
    cpus = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    if workers > cpus * _WORKERS_PER_CPU:
        return build_warning(
            "workers",
            f"Server__Workers={workers} share {cpus} processors: they cost memory for nothing.",
            f"Set Server__Workers={cpus * 2} or less.",
        )
    return build_fine("workers", f"{workers} workers on {cpus} processors.")


def read_memory_limit(root: Path = Path("/")) -> int | None:
    """Return the most bytes of memory for this process: the machine's or control group's.

    None where it is unknown. `root` is where the kernel's files are.
    """
    # NOTE: inside of a container the path of the group is not visible there.
    groups = _list_groups(root / "proc/self/cgroup")
    found = [
        _read_machine_memory(root / "proc/meminfo"),
        *(_read_bytes(root / "sys/fs/cgroup" / one / "memory.max") for one in groups),
        *(
            _read_bytes(root / "sys/fs/cgroup/memory" / one / "memory.limit_in_bytes")
            for one in groups
        ),
    ]
    return min((one for one in found if one is not None), default=None)


def _read_machine_memory(path: Path) -> int | None:
    try:
        line = path.read_text().partition("\n")[0]
        return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None


def _list_groups(path: Path) -> list[str]:
    """List the control groups of this process and all above them, the outermost first."""
    try:
        names = [line.rpartition(":")[2].strip("/") for line in path.read_text().splitlines()]
    except OSError:
        names = []
    groups = [""]
    for name in names:
        parts = name.split("/")
        groups += ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    return groups


def _read_bytes(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # `max` is no limit
        return None


def check_clock(newest: Path | None = None, now: float | None = None) -> Iterator[Finding]:
    """Check that the clock is set, and not before the time of the data.

    `newest` is a file that was written when the service ran last.
    """
    moment = time.time() if now is None else now
    fix = "Have a time service set it (timedatectl set-ntp true)."
    if moment < _EARLIEST:
        text = f"The clock says {time.strftime('%Y-%m-%d', time.gmtime(moment))}: it was never set."
        yield build_error("clock", text, fix)
        return
    try:
        written = newest.stat().st_mtime if newest is not None else 0.0
    except OSError:
        return
    if written > moment + 60:
        yield build_warning(
            "clock",
            f"The clock is {(written - moment) / 60:.0f} min before the last change of {newest}.",
            fix,
        )


def check_temporary() -> Finding:
    """Check that temporary files can be created."""
    try:
        with tempfile.TemporaryFile():
            pass
    except OSError as error:
        return build_error(
            "temporary files",
            f"No file can be made in {tempfile.gettempdir()}: {error.strerror}.",
            "Free some space there, or name another place in TMPDIR.",
        )
    return build_fine("temporary files", f"{tempfile.gettempdir()} can be used.")
