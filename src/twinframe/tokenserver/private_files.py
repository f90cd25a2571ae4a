"""Writes files for their owner alone, replacing them atomically for readers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twinframe.access.authentication.credentials_file import make_directory
from twinframe.runtime.locks import hold_lock


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold this lock file against other processes; the kernel releases it with the holder.

    Creates file and directory. Raises `OSError`.
    """
    make_directory(path.parent, 0o700)
    with hold_lock(path):
        yield


def write_private(path: Path, content: bytes) -> None:
    """Replace the file, mode 0600, on disk when this returns. Hold the lock. Raises `OSError`.

    NOTE: the new file has a fixed name, so the next process replaces what a killed one left.
    """
    made = path.with_name(f"{path.name}.new")
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(made, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    made.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)  # without it a power loss may restore the old name
    finally:
        os.close(folder)
