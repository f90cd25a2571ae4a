"""Marks hosted graphs that may have unfinished background work although no worker has them open.

A file in the graph's directory exists as long as any worker has the graph open; the last one to
close it removes the file, unless work is left. So it also remains after workers died.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from twinframe.runtime.locks import acquire_lock, hold_abandoned, try_lock

_NAME: Final = "work"


class UnfinishedMark:
    """The mark of one graph, held by a worker that has it open. Several may hold it."""

    def __init__(self, directory: Path) -> None:
        """Raises `OSError` when the directory cannot be written."""
        self._path = directory / _NAME
        self._handle = acquire_lock(self._path, shared=True)

    def close(self, *, has_work: bool) -> None:
        """Release the mark. Without work the last holder removes it."""
        try:
            # Otherwise another worker has the graph open and its work in progress.
            if not has_work and try_lock(self._handle):
                self._path.unlink(missing_ok=True)
        finally:
            os.close(self._handle)


def is_left(directory: Path) -> bool:
    """Return whether the graph may have unfinished work while no worker has it open."""
    try:
        with hold_abandoned(directory / _NAME) as is_abandoned:
            return is_abandoned
    except FileNotFoundError:
        return False
