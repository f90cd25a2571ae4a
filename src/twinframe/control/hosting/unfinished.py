"""Marks hosted graphs that may have unfinished background work although no worker has them open.

A file in the graph's directory exists as long as any worker has the graph open; the last one to
close it removes the file, unless work is left. So it also remains after workers died.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

_NAME: Final = "work"


class UnfinishedMark:
    """The mark of one graph, held by a worker that has it open. Several may hold it."""

    def __init__(self, directory: Path) -> None:
        """Raises `OSError` when the directory cannot be written."""
        self._path = directory / _NAME
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_SH)
                if self._is_in_place(handle):
                    break
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # it was removed just now
        self._handle = handle

    def close(self, *, has_work: bool) -> None:
        """Release the mark. Without work the last holder removes it."""
        try:
            if not has_work:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._path.unlink(missing_ok=True)
        except BlockingIOError:
            pass  # another worker has the graph open and its work in progress
        finally:
            os.close(self._handle)

    def _is_in_place(self, handle: int) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        own = os.fstat(handle)
        return (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)


def is_left(directory: Path) -> bool:
    """Return whether the graph may have unfinished work while no worker has it open."""
    try:
        handle = os.open(directory / _NAME, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
