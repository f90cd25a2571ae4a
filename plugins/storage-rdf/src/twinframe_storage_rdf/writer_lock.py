"""A fair writer lock, for this process and optionally all processes of this machine.

The guard of each change makes writes correct, not this lock: it avoids running a batch twice.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy

_PAUSE: Final = 0.0001
_QUEUE_PAUSE: Final = 0.001
_GROWTH: Final = 1.2
"""Factor between two pauses: the lock is noticed late by a fifth of the wait at most."""
_MOST_PAUSES: Final = 16
"""Largest factor of the pauses: a holder may keep the lock while megabytes are written."""
_MARK: Final = struct.Struct("<q")


class WriterLock:
    """A lock within this process and, if there is a file, between all that lock the same file."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._handle = -1
        self._mark = -1

    @contextmanager
    def taken(self, deadline: float) -> Iterator[None]:
        """Hold the lock.

        Raises `StorageBusy` when it is not free before the `time.monotonic()` moment.
        """
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise StorageBusy("The turn to write did not come in time; nothing was changed.")
        try:
            if self._file is None:
                yield
            else:
                with _locked(self._file, deadline) as self._handle:
                    yield
        finally:
            self._handle = -1
            self._lock.release()

    def read_mark(self) -> int:
        """Return the number that the last holder left, if any, in any process. Requires the lock.

        It is a hint: a holder that died, or that does not lock the same file, left no number.
        """
        if self._handle < 0:
            return self._mark
        held = os.pread(self._handle, _MARK.size, 0)
        return int(_MARK.unpack(held)[0]) if len(held) == _MARK.size else -1

    def leave_mark(self, number: int) -> None:
        """Leave a number for the next holder. Requires the lock."""
        self._mark = number
        if self._handle >= 0:
            os.pwrite(self._handle, _MARK.pack(number), 0)


@contextmanager
def _locked(file: Path, deadline: float) -> Iterator[int]:
    """Lock the file and yield its handle.

    NOTE: all waiters pass a queue first, which the next in line leaves when it gets the lock: a
    writer that comes back at once cannot overtake and starve the others for seconds.
    """
    queue, turn = _open(file.with_name("queue")), _open(file)
    try:
        _lock(queue, deadline, _QUEUE_PAUSE)
        _lock(turn, deadline, _PAUSE)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield turn
    finally:
        os.close(turn)
        os.close(queue)


def _lock(handle: int, deadline: float, pause: float) -> None:
    longest = _MOST_PAUSES * pause
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StorageBusy(
                    "The turn to write did not come in time; nothing was changed."
                ) from None
            time.sleep(pause)
            pause = min(_GROWTH * pause, longest)
        else:
            return


def _open(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
