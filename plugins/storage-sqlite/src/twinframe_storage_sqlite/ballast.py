"""A file that only takes room, so that there is some to be had when the disk is full.

A full disk also stops deletions, which have to write before they can free anything. Whoever removes
this file lets them go on. It is never removed by the service: writes would take the room at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from pathlib import Path
from typing import Final

NAME: Final = "ballast"
_ROOM: Final = 10
"""Times its size that must be free when it is made: it must not be what fills the disk."""

_log = logging.getLogger(__name__)


def keep_ballast(directory: Path, size: int) -> bool:
    """Make the file where it is missing and there is room for it; whether it is there.

    NOTE: several processes may come here at once; all of them make the same.
    """
    path = directory / NAME
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size >= size:
            return True
    if size == 0 or shutil.disk_usage(directory).free < size * _ROOM:
        return False
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, size)  # a hole would take no room
        finally:
            os.close(handle)
    except OSError as error:
        _log.warning("%s cannot be made: %s", path, error.strerror)
        return False
    return True
