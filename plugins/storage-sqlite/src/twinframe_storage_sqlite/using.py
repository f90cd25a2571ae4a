"""The use lock of a database: shared by all who have it open, exclusive to replace it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy
from twinframe.runtime.locks import hold_lock, try_acquire_lock, wait_for_lock

_PAUSE: Final = 0.02
_LONGEST_NOTE: Final = 64
_SETTLED: Final = b" settled"

Settle = Callable[[], None]
"""Checks files that nobody has open, before they are opened."""


class UseLock:
    """Shared by all who have the database open, exclusive for its removal or replacement.

    The system frees it when a process ends. One object serves one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def share(self, timeout: float, settle: Settle) -> None:
        """Take the lock shared. Raises `StorageBusy` after `timeout` seconds.

        The first holder has it exclusively while `settle` runs, and raises what `settle` raises:
        the next process is the first then.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        deadline = time.monotonic() + timeout
        boot = _read_boot()
        while self._handle is None:
            self._handle = self._begin(boot, settle) or self._join(boot)
            if self._handle is None:
                if time.monotonic() >= deadline:
                    raise _build_busy(self._path, timeout)
                time.sleep(_PAUSE)

    def _begin(self, boot: bytes, settle: Settle) -> int | None:
        handle = try_acquire_lock(self._path)
        if handle is None:
            return None
        try:
            before = os.pread(handle, _LONGEST_NOTE, 0).removesuffix(_SETTLED)
            _write_note(handle, before)
            settle()
            _write_note(handle, boot + _SETTLED)
            wait_for_lock(handle, shared=True)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _join(self, boot: bytes) -> int | None:
        """NOTE: a file that another process just found unfit to open is not settled."""
        handle = try_acquire_lock(self._path, shared=True)
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
        with hold_lock(self._path, timeout) as lock:
            if lock is None:
                raise _build_busy(self._path, timeout)
            yield

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


def _build_busy(path: Path, timeout: float) -> StorageBusy:
    return StorageBusy(
        f"{path.with_suffix('').with_suffix('.db')} did not come free in {timeout:g} s: "
        "other processes have it open. Stop them, or try again."
    )
