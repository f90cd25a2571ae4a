"""The use lock of a database: shared by all processes that have it open, exclusive for replacing
it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy

_PAUSE: Final = 0.02
_LONGEST_NOTE: Final = 64
_SETTLED: Final = b" settled"

Settle = Callable[[], None]
"""Checks files that nobody has open, before they are opened."""


class UseLock:
    """Shared between all processes that have the database open, exclusive for its removal or
    replacement.

    The system frees it when a process ends. One object serves one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object's store has the database open."""
        return self._handle is not None

    def share(self, timeout: float, settle: Settle) -> None:
        """Take the lock shared. Raises `StorageBusy` while another process holds it exclusively for
        long.

        The first holder has it exclusively while `settle` runs, and raises what `settle` raises:
        the next process is the first then.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        deadline = time.monotonic() + timeout
        boot = _read_boot()
        while self._handle is None:
            self._handle = self._begin(boot, settle) or self._join(boot)
            if self._handle is None:
                _pause(self._path, deadline, timeout)

    def _begin(self, boot: bytes, settle: Settle) -> int | None:
        handle = _try(self._path, fcntl.LOCK_EX)
        if handle is None:
            return None
        try:
            before = os.pread(handle, _LONGEST_NOTE, 0).removesuffix(_SETTLED)
            _write_note(handle, before)
            settle()
            _write_note(handle, boot + _SETTLED)
            fcntl.flock(handle, fcntl.LOCK_SH)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _join(self, boot: bytes) -> int | None:
        """NOTE: another process may just have found the file unfit to open; then it was not
        settled.
        """
        handle = _try(self._path, fcntl.LOCK_SH)
        if handle is not None and os.pread(handle, _LONGEST_NOTE, 0) != boot + _SETTLED:
            os.close(handle)
            return None
        return handle

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @contextmanager
    def alone(self, timeout: float) -> Iterator[None]:
        """Hold the lock exclusively.

        Raises `StorageBusy` when a process does not close the database in time.
        """
        handle = _take(self._path, fcntl.LOCK_EX, timeout)
        try:
            yield
        finally:
            os.close(handle)

    def forget(self) -> None:
        """Remove the lock's file. Only inside of `alone`, and as the last step."""
        self._path.unlink(missing_ok=True)


def is_of_this_boot(path: Path) -> bool:
    """Return whether the machine was not restarted since the database of this lock was opened."""
    try:
        noted = path.read_bytes()
    except FileNotFoundError:
        return False
    return noted.removesuffix(_SETTLED) == _read_boot() != b""


def _read_boot() -> bytes:
    """Return an id of this boot of the machine; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return b""


def _write_note(handle: int, note: bytes) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, note, 0)


def _take(path: Path, kind: int, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    while True:
        handle = _try(path, kind)
        if handle is not None:
            return handle
        _pause(path, deadline, timeout)


def _try(path: Path, kind: int) -> int | None:
    """Take the lock, or return None while other holders exclude it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        if _is_there(path, handle):
            return handle
        os.close(handle)  # its last holder removed it: the path is another file now


def _pause(path: Path, deadline: float, timeout: float) -> None:
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
