"""Backups of a graph: an ability some stores have beside the seam. It keeps no list of them."""

from __future__ import annotations

import errno
import fcntl
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

_MARK: Final = b"twinframe backup sha256 "
_SEAL: Final = re.compile(re.escape(_MARK) + rb"([0-9a-f]{64})\n")
_SEAL_BYTES: Final = len(_MARK) + 65
_BLOCK: Final = 512
"""A backup's content is whole blocks, so that by its size alone one has a seal or has none."""
_PIECE: Final = 1024**2
_UNFINISHED: Final = ".twinframe-part"
"""The end of the names of files in the making."""


class Backups(ABC):
    """What a store can do whose graph lies in files of this machine. Calls may block for long."""

    @abstractmethod
    def back_up(self, target: Path) -> None:
        """Write the graph as it is at one moment into the new file `target`; writes go on.

        The store must be open. The file is sealed, whole and on stable storage when it has its
        name.
        """

    @abstractmethod
    def restore(self, source: Path, timeout: float) -> None:
        """Put the graph of the backup `source` in the place of what is there, in a new epoch
        (`epochs.renew_epoch`).

        The store must not be open, here or elsewhere: `StorageBusy` when it is not closed
        everywhere within `timeout` seconds. A file that is no sound backup, or whose content is not
        what its seal says, is `StorageDamaged`, and then nothing is changed. Cut off at any point,
        it leaves the old graph or the new one.
        """

    @abstractmethod
    def measure(self) -> int:
        """Bytes that the graph takes on disk now."""


@contextmanager
def making_file(target: Path) -> Iterator[Path]:
    """A new, empty file beside `target`, for a backup or an export, renamed when it is whole.

    It is locked for as long, and it is gone afterwards if it still has its name, with the logs
    that SQLite may leave. What others left in that folder, whose processes have ended, goes first.
    """
    remove_unfinished(target.parent)
    path = target.with_name(f"{target.name}.{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        handle = _lock_new(path)
    except OSError as error:
        kind = StorageFull if error.errno == errno.ENOSPC else StorageError
        raise kind(f"The file {target} cannot be made: {error.strerror}.") from error
    try:
        yield path
    finally:
        _remove_with_logs(path)
        # NOTE: closed last: whoever closes a file drops the locks of SQLite that he has on it.
        os.close(handle)


def _lock_new(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):  # somebody tidied up between the two
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Remove the files in the making whose makers were killed: nobody has them locked."""
    for path in folder.glob(f"*{_UNFINISHED}"):
        with suppress(OSError):  # it was finished meanwhile, or is somebody else's
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_with_logs(path)
            finally:
                os.close(handle)


def _remove_with_logs(path: Path) -> None:
    for ending in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def seal_backup(path: Path) -> None:
    """Put the digest of all that a new backup holds at its end, synced."""
    size = path.stat().st_size
    if size % _BLOCK:
        raise ValueError(f"{path} has {size} bytes, which are no whole blocks")
    seal = _MARK + _read_digest(path, size).encode() + b"\n"
    with path.open("ab") as file:
        file.write(seal)
        file.flush()
        os.fsync(file.fileno())


def check_seal(path: Path) -> bool:
    """Whether a backup is what it was when it was made; False for one that has no seal.

    Those of releases before seals have none. `StorageDamaged` says what is wrong with the file.
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
