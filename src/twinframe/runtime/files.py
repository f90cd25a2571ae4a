"""Writes files durably: completely and on stable storage, or not at all."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO, Final

DRAFT: Final = ".new"
"""The suffix of the file that `write_durably` renames."""


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file by one of mode 0600, on stable storage when this returns. Raises `OSError`.

    Writers of one path exclude each other by a lock: the draft has a fixed name, so that the next
    writer replaces what a killed one left. Each version has a later time than the one before.
    """
    draft = path.with_name(f"{path.name}{DRAFT}")
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
        sync_open(file)
    try:
        before = path.stat().st_mtime_ns
    except FileNotFoundError:
        before = 0
    # NOTE: readers distinguish versions by inode and time. Inodes are reused, and the clock of a
    # file system ticks in milliseconds.
    moment = max(time.time_ns(), before + 1)
    os.utime(draft, ns=(moment, moment))
    rename_durably(draft, path)


def rename_durably(old: Path, new: Path) -> None:
    """Rename a file or directory, replacing a file, and sync the names of the new directory."""
    old.replace(new)
    sync(new.parent)  # without it a power loss may restore the old name


def sync(path: Path) -> None:
    """Sync a file's content, or the names of a directory, to stable storage. Raises `OSError`."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_open(file: int | IO[bytes]) -> None:
    """Sync an open file, or an open directory, with what it still buffers. Raises `OSError`."""
    if isinstance(file, int):
        os.fsync(file)
    else:
        file.flush()
        os.fsync(file.fileno())
