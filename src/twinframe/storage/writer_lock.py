"""The writer lock of one file: a bounded, fair lock between processes, for storage drivers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy
from twinframe.runtime.locks import open_lock, unlock, wait_for_lock

# PERF: the next in line polls often, since a late look leaves the disk idle; those behind it poll
# seldom.
_NEXT_WAIT: Final = 0.0001
_QUEUE_WAIT: Final = 0.001


class WriterLock:
    """Held by at most one holder on this machine; the system frees it when a process ends.

    A lock alone is unfair: a holder that comes back at once overtakes those that sleep, and waits
    of seconds were measured. Here the first waiter holds the lock of the file `queue` until it has
    that of the file `path`, and every process must pass the queue. One object serves one thread at
    a time.
    """

    def __init__(self, path: Path, queue: Path) -> None:
        """Raises `OSError`."""
        self._path = path
        self.file = open_lock(path)
        """The descriptor of the locked file, in which holders may leave notes."""
        self._queue = open_lock(queue)

    @contextmanager
    def hold(self, timeout: float) -> Iterator[None]:
        """Hold the lock. Raises `StorageBusy` when it is not free within `timeout` seconds."""
        end = time.monotonic() + timeout
        try:
            if not (
                wait_for_lock(self._queue, timeout, pause=_QUEUE_WAIT)
                and wait_for_lock(self.file, end - time.monotonic(), pause=_NEXT_WAIT)
            ):
                raise StorageBusy(
                    f"Another process has been writing for more than {timeout:g} s "
                    f"({self._path}); nothing was changed, try again."
                )
        finally:
            unlock(self._queue)
        try:
            yield
        finally:
            unlock(self.file)

    def close(self) -> None:
        """Close the files; a held lock is released."""
        os.close(self.file)
        os.close(self._queue)
