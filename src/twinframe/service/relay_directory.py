"""Temporary directories that the workers of one service share: for MCP sockets and metrics files.

The process that starts the workers creates them, and removes them when it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from twinframe.runtime.locks import acquire_lock, hold_abandoned

_PREFIX: Final = "twinframe-mcp-"
_LOCK: Final = "lock"


def open_relay() -> AbstractContextManager[Path]:
    """Create a directory for the sockets of this service's workers, removed with this process."""
    return open_private_directory(_PREFIX)


@contextmanager
def open_private_directory(prefix: str) -> Iterator[Path]:
    """Create a directory for the workers of this service alone, removed with this process.

    Directories of this prefix that killed services left are removed first. NOTE: workers leave this
    context too, as copies of this process; they must not remove the directory.
    """
    remove_abandoned(prefix)
    owner = os.getpid()
    directory = Path(tempfile.mkdtemp(prefix=prefix))  # mode 0700
    lock = _lock(directory)
    try:
        yield directory
    finally:
        if os.getpid() == owner:
            shutil.rmtree(directory, ignore_errors=True)
            os.close(lock)


def remove_abandoned(prefix: str = _PREFIX) -> None:
    """Remove the directories of services that were killed: their lock is held no more.

    The workers hold it with the process that started them, until the last of them has ended. SEC:
    in a place where everybody may write, only this user's own directories are considered.
    """
    for directory in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            found = directory.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            with hold_abandoned(directory / _LOCK) as is_abandoned:
                if is_abandoned:
                    shutil.rmtree(directory, ignore_errors=True)


def _lock(directory: Path) -> int:
    """Hold the directory's lock as long as the returned file is open, here or in a fork."""
    new = directory / f"{_LOCK}.new"
    lock = acquire_lock(new)
    # NOTE: it is named once it is locked: until then others find no lock, and leave the directory
    # alone.
    new.rename(directory / _LOCK)
    return lock
