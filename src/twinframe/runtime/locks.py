"""File locks between processes, which the system releases when their holder ends.

A lock belongs to an open file: it is released when the descriptor and its copies in forked
processes are closed. NOTE: filelock and portalocker do not serve: they poll at one fixed interval,
do not notice that the file was removed, and hide the descriptor, which workers inherit here and in
which holders leave notes.
"""

from __future__ import annotations

import fcntl
import math
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Final, cast

_PATIENCE: Final = 0.02
_LATER_PAUSE: Final = 0.001
_PAUSE: Final = 0.01
_SHARED_NOW: Final = fcntl.LOCK_SH | fcntl.LOCK_NB
_ALONE_NOW: Final = fcntl.LOCK_EX | fcntl.LOCK_NB
# NOTE: locks of an open file, not of a process: closing another file must not release them.
_SET_LOCK: Final = getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK)


def open_lock(path: Path) -> int:
    """Open a file for locking, created for this user alone if it is missing. Raises `OSError`."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(file: int | IO[bytes], *, shared: bool = False) -> bool:
    """Lock an open file now; return False while others hold a lock that excludes this one.

    Replaces the lock that the open file has, if any.
    """
    try:
        fcntl.flock(file, _SHARED_NOW if shared else _ALONE_NOW)
    except (BlockingIOError, PermissionError):
        return False
    return True


def wait_for_lock(
    file: int | IO[bytes],
    timeout: float = math.inf,
    *,
    shared: bool = False,
    pause: float = _PAUSE,
) -> bool:
    """Lock an open file; return False if it is not free within `timeout` seconds.

    With a timeout, the lock is tried every `pause` seconds, after the first 20 ms at most every
    millisecond.
    """
    if try_lock(file, shared=shared):
        return True
    if timeout == math.inf:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        return True
    started = time.monotonic()
    while not try_lock(file, shared=shared):
        waited = time.monotonic() - started
        if waited >= timeout:
            return False
        step = pause if waited < _PATIENCE else max(pause, _LATER_PAUSE)
        time.sleep(min(step, timeout - waited))
    return True


def unlock(file: int | IO[bytes]) -> None:
    """Release the lock of an open file, which stays open."""
    fcntl.flock(file, fcntl.LOCK_UN)


def acquire_lock(path: Path, *, shared: bool = False) -> int:
    """Lock the file at `path` as `try_acquire_lock` does, however long it takes."""
    return cast("int", try_acquire_lock(path, math.inf, shared=shared))


def try_acquire_lock(path: Path, timeout: float = 0.0, *, shared: bool = False) -> int | None:
    """Lock the file at `path`, created if it is missing, and return its descriptor.

    None if it is not free within `timeout` seconds. A holder may remove the file as its last step:
    what is returned is always the file that has the path now. Raises `OSError`.
    """
    end = time.monotonic() + timeout
    while True:
        handle = open_lock(path)
        try:
            is_ours = wait_for_lock(handle, max(end - time.monotonic(), 0.0), shared=shared)
            if is_ours and is_at(path, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if not is_ours:
            return None


@contextmanager
def hold_lock(
    path: Path, timeout: float = math.inf, *, shared: bool = False
) -> Iterator[int | None]:
    """Hold what `try_acquire_lock` returns, and close it."""
    handle = try_acquire_lock(path, timeout, shared=shared)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def hold_abandoned(path: Path | str, *, directory: int | None = None) -> Iterator[bool]:
    """Yield whether nobody has the existing file locked, which is locked meanwhile.

    `directory` is the open directory that a relative path starts from. SEC: no link is followed.
    Raises `OSError`.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, dir_fd=directory)
    try:
        yield try_lock(handle)
    finally:
        os.close(handle)


def is_at(path: Path | str, handle: int, *, directory: int | None = None) -> bool:
    """Return whether the path still names this open file."""
    with suppress(FileNotFoundError):
        found = os.stat(path, dir_fd=directory)
        return os.path.samestat(found, os.fstat(handle))
    return False


def try_lock_part(file: int, start: int, length: int) -> bool:
    """Lock `length` bytes of an open file from `start` on, unless others have them locked."""
    return _set_part(file, fcntl.F_WRLCK, start, length)


def unlock_part(file: int, start: int, length: int) -> None:
    """Release these bytes."""
    _set_part(file, fcntl.F_UNLCK, start, length)


@lru_cache(maxsize=64)
def _render_part(kind: int, start: int, length: int) -> bytes:
    """Render a `struct flock`. PERF: the writer lock asks for the same ones with each batch."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def _set_part(file: int, kind: int, start: int, length: int) -> bool:
    try:
        fcntl.fcntl(file, _SET_LOCK, _render_part(kind, start, length))
    except (BlockingIOError, PermissionError):
        return False
    return True
