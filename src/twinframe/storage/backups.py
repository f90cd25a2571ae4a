"""Backups of a graph: an ability some stores have beside the seam. It keeps no list of them."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final

from twinframe.errors import StorageDamaged

_MARK: Final = b"twinframe backup sha256 "
_SEAL: Final = re.compile(re.escape(_MARK) + rb"([0-9a-f]{64})\n")
_SEAL_BYTES: Final = len(_MARK) + 65
_BLOCK: Final = 512
"""A backup's content is whole blocks, so that by its size alone one has a seal or has none."""
_PIECE: Final = 1024**2


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
