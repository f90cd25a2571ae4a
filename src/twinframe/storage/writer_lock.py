"""The writer lock of one file: a bounded, fair lock between processes, for storage drivers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy
from twinframe.runtime.locks import (
    open_lock,
    try_lock_part,
    unlock,
    unlock_part,
    wait_for_lock,
)

# PERF: those in line poll often, since a late look leaves the disk idle; those who are not yet in
# line poll seldom.
_NEXT_WAIT: Final = 0.0001
_QUEUE_WAIT: Final = 0.001

_PLACES: Final = (1, 0)
"""Bytes of the file `queue` that stand for the places in line, the last one first.

With two workers and an import, each waits in line for the two others; with a single place, one of
them was overtaken time and again: a tenth of its writes waited for 4 ms, in place of 3 ms.
"""


class WriterLock:
    """Held by at most one holder on this machine; the system frees it when a process ends.

    A lock alone is unfair: a holder that comes back at once overtakes those that sleep, and waits
    of seconds were measured. Here all processes pass the places of a line in order, and each waiter
    keeps its place until it has the next. The first in line keeps its place until it has the lock
    of the file `path`. Only processes that find the whole line taken overtake each other. One
    object serves one thread at a time.
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
        place = -1
        try:
            for following in _PLACES:
                pause = _QUEUE_WAIT if place < 0 else _NEXT_WAIT
                while not try_lock_part(self._queue, following, 1):
                    if time.monotonic() >= end:
                        raise self._build_busy(timeout)
                    time.sleep(pause)
                if place >= 0:
                    unlock_part(self._queue, place, 1)
                place = following
            if not wait_for_lock(self.file, end - time.monotonic(), pause=_NEXT_WAIT):
                raise self._build_busy(timeout)
        finally:
            if place >= 0:
                unlock_part(self._queue, place, 1)
        try:
            yield
        finally:
            unlock(self.file)

    def _build_busy(self, timeout: float) -> StorageBusy:
        return StorageBusy(
            f"Another process has been writing for more than {timeout:g} s "
            f"({self._path}); nothing was changed, try again."
        )

    def close(self) -> None:
        """Close the files; a held lock is released."""
        os.close(self.file)
        os.close(self._queue)
