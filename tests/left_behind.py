"""Ends what a test process leaves behind when it ends, however it ends: servers and their workers.

What the process starts inherits a mark in its environment, also over forks and new sessions. A
process apart waits for the end of the one that it watches, then kills all that carry the mark.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

_MARK = "TWINFRAME_STARTED_BY"
_watchers: list[subprocess.Popen[bytes]] = []


def end_with_this_process() -> None:
    """From now on, what this process starts ends no later than it does itself (on Linux)."""
    # NOTE: a test that runs tests in this process comes here again.
    if not hasattr(os, "pidfd_open") or os.environ.get(_MARK, "").startswith(f"{os.getpid()}-"):
        return
    os.environ[_MARK] = mark = f"{os.getpid()}-{time.time_ns()}"
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid()), mark]
    _watchers.append(subprocess.Popen(command, env={}, start_new_session=True))


def _watch(process: int, mark: str) -> None:
    with contextlib.suppress(ProcessLookupError):
        watched = os.pidfd_open(process)
        if os.getppid() == process:
            select.select([watched], [], [])
    while left := _find(f"{_MARK}={mark}".encode()):
        for each in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.05)


def _find(entry: bytes) -> list[int]:
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if entry in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parent.name))
    return found


if __name__ == "__main__":
    _watch(int(sys.argv[1]), sys.argv[2])
