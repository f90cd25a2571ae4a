"""The writer lock of one file: a bounded, fair lock between processes."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy

# PERF: the next in line polls often, since a late look leaves the disk idle; those behind it poll
# seldom.
_NEXT_WAIT: Final = 0.0001
_QUEUE_WAIT: Final = 0.001
_PATIENCE: Final = 0.02


class WriterLock:
    """Held by at most one holder on this machine; the system frees it when a process ends.

    SQLite's own waiting is unfair: it sleeps longer and longer while others take the lock again,
    and waits of seconds were measured. Here the first waiter holds the `queue` file's lock until it
    has the `writer_lock` file's lock, and every process must pass the queue, so a holder that comes
    back at once cannot overtake. One object serves one thread at a time.
    """

    def __init__(self, writer_lock: Path, queue: Path) -> None:
        self._turn_path, self._queue_path = writer_lock, queue
        self._writer_lock = _open(writer_lock)
        self._queue = _open(queue)

    @contextmanager
    def hold(self, timeout: float) -> Iterator[None]:
        """Hold the lock. Raises `StorageBusy` when it is not free within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        self._take(self._queue, deadline, timeout, _QUEUE_WAIT)
        try:
            self._take(self._writer_lock, deadline, timeout, _NEXT_WAIT)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._writer_lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the files; a held lock is released."""
        os.close(self._writer_lock)
        os.close(self._queue)

    def _take(self, lock: int, deadline: float, timeout: float, wait: float) -> None:
        if _try(lock):
            return
        started = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= deadline:
                raise StorageBusy(
                    f"Another process has been writing for more than {timeout:g} s "
                    f"({self._turn_path}); nothing was changed, try again."
                )
            pause = wait if now - started < _PATIENCE else max(wait, _QUEUE_WAIT)
            time.sleep(min(pause, deadline - now))
            if _try(lock):
                return


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
