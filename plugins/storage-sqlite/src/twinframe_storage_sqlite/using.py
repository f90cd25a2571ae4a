"""Who has a database open: a lock that tells, and gives the file to one who would replace it."""

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
"""Looks at files that nobody has open, before somebody opens them."""


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

    def share(self, timeout: float, settle: Settle) -> None:
        """Join those who have it open; `StorageBusy` while somebody has it alone for long.

        Who is the first has it alone while `settle` runs, and what that raises is raised: the next
        one is the first then.
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
        """NOTE: others may just have found it not to be opened; then nobody settled it."""
        handle = _try(self._path, fcntl.LOCK_SH)
        if handle is not None and os.pread(handle, _LONGEST_NOTE, 0) != boot + _SETTLED:
            os.close(handle)
            return None
        return handle

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


def is_of_this_boot(path: Path) -> bool:
    """Whether the machine has run ever since somebody had the database of this lock open."""
    try:
        noted = path.read_bytes()
    except FileNotFoundError:
        return False
    return noted.removesuffix(_SETTLED) == _read_boot() != b""


def _read_boot() -> bytes:
    """What names this run of the machine; nothing where the system does not tell."""
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
    """The lock, or None while others have it in a way that excludes this."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        if _is_there(path, handle):
            return handle
        os.close(handle)  # its last holder removed it: what is there now is another file


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
