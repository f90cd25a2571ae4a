"""A file that reserves disk space, for the operator to delete when the disk is full.

A full disk also stops deletions, which have to write before they can free anything; deleting this
file lets them continue. The service never removes it: writes would take the space at once.
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
"""The file is only made if this many times its size is free, so that it does not fill the disk."""

_log = logging.getLogger(__name__)


def keep_ballast(directory: Path, size: int) -> bool:
    """Create the file if it is missing and there is space for it; return whether it exists.

    NOTE: several processes may call this at once; all of them create the same file.
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
            os.posix_fallocate(handle, 0, size)  # a sparse file would reserve no space
        finally:
            os.close(handle)
    except OSError as error:
        _log.warning("%s cannot be made: %s", path, error.strerror)
        return False
    return True
