"""Backups of a graph: an optional ability of stores besides the storage interface."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from twinframe.errors import StorageDamaged, StorageError, StorageFull
from twinframe.runtime.files import sync_open
from twinframe.runtime.locks import acquire_lock, hold_abandoned

_MARK: Final = b"twinframe backup sha256 "
_SEAL: Final = re.compile(re.escape(_MARK) + rb"([0-9a-f]{64})\n")
_SEAL_BYTES: Final = len(_MARK) + 65
_BLOCK: Final = 512
"""A backup's content is whole blocks, so that its size alone shows whether it has a seal."""
_PIECE: Final = 1024**2
_UNFINISHED: Final = ".twinframe-part"
"""The suffix of unfinished files."""


class Backups(ABC):
    """The backup ability of a store whose graph is in files of this machine.

    Calls may block for long.
    """

    @abstractmethod
    def back_up(self, target: Path) -> None:
        """Write the graph as of one moment to the new file `target`, while writes go on.

        The store must be open. When the file has its name, it is sealed, complete and on stable
        storage.
        """

    @abstractmethod
    def restore(self, source: Path, timeout: float) -> None:
        """Replace the graph by that of the backup `source`, in a new epoch (`epochs.renew_epoch`).

        The store must not be open, here or elsewhere: raises `StorageBusy` when it is not closed
        everywhere within `timeout` seconds. A file that is no valid backup, or whose content does
        not match its seal, raises `StorageDamaged` and changes nothing. Interrupted at any point,
        it leaves the old graph or the new one.
        """

    @abstractmethod
    def measure(self) -> int:
        """Return the bytes that the graph takes on disk now."""


@contextmanager
def making_file(target: Path) -> Iterator[Path]:
    """Create an empty file next to `target`, renamed to it once it is complete.

    It is locked meanwhile, and removed afterwards if it was not renamed, with the logs that SQLite
    may leave. Unfinished files in that folder whose processes have ended are removed first.
    """
    remove_unfinished(target.parent)
    path = target.with_name(f"{target.name}.{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        handle = acquire_lock(path)
    except OSError as error:
        kind = StorageFull if error.errno == errno.ENOSPC else StorageError
        raise kind(f"The file {target} cannot be made: {error.strerror}.") from error
    try:
        yield path
    finally:
        _remove_with_logs(path)
        # NOTE: closed last: closing a file releases all of the process's SQLite locks on it.
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Remove unfinished files whose processes were killed: they are not locked."""
    for path in folder.glob(f"*{_UNFINISHED}"):
        # An error: it was finished meanwhile, or belongs to another user.
        with suppress(OSError), hold_abandoned(path) as is_abandoned:
            if is_abandoned:
                _remove_with_logs(path)


def _remove_with_logs(path: Path) -> None:
    for ending in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def seal_backup(path: Path) -> None:
    """Append the digest of a new backup's content to it, and sync it."""
    size = path.stat().st_size
    if size % _BLOCK:
        raise ValueError(f"{path} has {size} bytes, which are no whole blocks")
    seal = _MARK + _read_digest(path, size).encode() + b"\n"
    with path.open("ab") as file:
        file.write(seal)
        sync_open(file)


def check_seal(path: Path) -> bool:
    """Return whether a backup matches its seal; False for one without a seal.

    Those of releases before seals have none. Raises `StorageDamaged` for a damaged file.
    """
    try:
        size = path.stat().st_size
        if size % _BLOCK == 0:
            return False
        with path.open("rb") as file:
            file.seek(max(size - _SEAL_BYTES, 0))
            seal = _SEAL.fullmatch(file.read())
        if size % _BLOCK != _SEAL_BYTES % _BLOCK:
            raise _build_damaged(path, "it is no backup, or was cut, or something was added to it")
        if seal is None:
            raise _build_damaged(path, "the digest at its end cannot be read")
        found = _read_digest(path, size - _SEAL_BYTES)
    except OSError as error:
        raise _build_damaged(path, f"it cannot be read ({error.strerror})") from error
    if found != seal[1].decode():
        raise _build_damaged(path, "its content is not what it was: the digest at its end differs")
    return True


def _read_digest(path: Path, size: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (piece := file.read(min(size, _PIECE))):
            digest.update(piece)
            size -= len(piece)
    return digest.hexdigest()


def _build_damaged(path: Path, reason: str) -> StorageDamaged:
    return StorageDamaged(f"The backup {path} is damaged: {reason}. Take another backup.")
