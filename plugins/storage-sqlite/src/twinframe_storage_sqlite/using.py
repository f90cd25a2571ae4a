"""Who has a database open: a lock that tells, and gives the file to one who would replace it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy

_PAUSE: Final = 0.02


class UseLock:
    """Held shared by everybody who has the database open, alone by who removes or replaces it.

    The system frees it when a process ends. One object serves one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object's store has the database open."""
        return self._handle is not None

    def share(self, timeout: float) -> None:
        """Join those who have it open; `StorageBusy` while somebody has it alone for long."""
        self._path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._handle = _take(self._path, fcntl.LOCK_SH, timeout)

    def release(self) -> None:
        """Have it open no more."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @contextmanager
    def alone(self, timeout: float) -> Iterator[None]:
        """Nobody has it open inside; `StorageBusy` when somebody does not close it in time."""
        handle = _take(self._path, fcntl.LOCK_EX, timeout)
        try:
            yield
        finally:
            os.close(handle)

    def forget(self) -> None:
        """Remove the lock's file. Only inside of `alone`, and as the last thing."""
        self._path.unlink(missing_ok=True)


def _take(path: Path, kind: int, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
        else:
            if _is_there(path, handle):
                return handle
            os.close(handle)  # its last holder removed it: what is there now is another file
            continue
        if time.monotonic() >= deadline:
            raise StorageBusy(
                f"{path.with_suffix('').with_suffix('.db')} did not come free in {timeout:g} s: "
                "other processes have it open. Stop them, or try again."
            )
        time.sleep(_PAUSE)


def _is_there(path: Path, handle: int) -> bool:
    mine = os.fstat(handle)
    with suppress(FileNotFoundError):
        found = path.stat()
        return (found.st_ino, found.st_dev) == (mine.st_ino, mine.st_dev)
    return False
