"""Whole copies of a store on disk as single files: making them, putting one in place.

A copy is a tar archive of the store's own files as they were at one moment. It reads no triple.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from twinframe.errors import StorageDamaged, StorageFull
from twinframe.storage.backups import check_seal, making_file, seal_backup

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_LEFT_SECONDS: Final = 86_400
_PIECE: Final = 4 * 1024**2
"""Bytes of an archive that are written between two syncs."""


class _SyncedFile(io.FileIO):
    """A file of which each piece is on the disk before the next one is written.

    PERF: the log of a store that is written meanwhile is synced behind whatever the file system
    has to write first. An archive of 320 MB that was synced at its end alone held a sync of the
    log up for 150 to 240 ms, in pieces for 30 to 90 ms; it takes 1.3 s then instead of 0.6 s.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        """Bytes that were written, and are synced."""
        count = super().write(data)
        os.fdatasync(self.fileno())
        return count


def write_archive(source: Path, target: Path) -> None:
    """Write the files of a directory into the new file `target`, which is durable then."""
    with making_file(target) as unfinished:
        with (
            io.BufferedWriter(_SyncedFile(unfinished, "w"), _PIECE) as file,
            tarfile.open(fileobj=file, mode="w") as archive,
        ):
            for path in sorted(source.iterdir()):
                archive.add(path, path.name, recursive=False)
            archive.close()
            file.flush()
            os.fsync(file.fileno())
        seal_backup(unfinished)
        unfinished.replace(target)
        sync_directory(target.parent)


def read_archive(source: Path, target: Path) -> None:
    """Put the files of an archive into the new directory `target`, synced.

    SEC: only plain files with plain names are taken out of it, whoever made it.
    Raises `StorageDamaged` when it is no such archive, or not what its seal says.
    """
    check_seal(source)
    target.mkdir(mode=0o700)
    try:
        with tarfile.open(source, mode="r:") as archive:
            for member in archive:
                name = Path(member.name)
                content = archive.extractfile(member) if member.isreg() else None
                if content is None or name.name != member.name or name.name in ("", ".", ".."):
                    raise StorageDamaged(f"{source} is no backup: it holds {member.name!r}.")
                with (target / name).open("xb") as file:
                    shutil.copyfileobj(content, file)
                    file.flush()
                    os.fsync(file.fileno())
    except (tarfile.TarError, OSError, EOFError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise StorageFull("No space is left for the backup to be restored.") from error
        raise StorageDamaged(f"{source} is damaged or no backup: {error}") from error
    if not any(target.iterdir()):
        raise StorageDamaged(f"{source} is damaged: there is no backup in it.")
    sync_directory(target)


def put_in_place(draft: Path, store: Path, old: Path) -> None:
    """Have `draft` be the store; nobody has either open. Cut off, `mend_place` ends it."""
    if store.exists():
        store.rename(old)
        sync_directory(store.parent)
    draft.rename(store)
    sync_directory(store.parent)
    shutil.rmtree(old, ignore_errors=True)


def mend_place(store: Path, old: Path) -> None:
    """Undo a `put_in_place` that was cut off before the new store was there; else tidy up."""
    if not store.exists() and old.exists():
        old.rename(store)
        sync_directory(store.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove_leftovers(place: Path) -> None:
    """Remove what backups that were cut off left; not that of one that is being put together."""
    for path in place.glob("backup-*"):
        if time.time() - path.stat().st_mtime > _LEFT_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def measure_directory(place: Path) -> int:
    """Bytes of the files in a directory; they may come and go meanwhile."""
    total = 0
    if place.is_dir():
        for entry in os.scandir(place):
            try:
                total += entry.stat(follow_symlinks=False).st_size
            except FileNotFoundError:
                continue
    return total


def sync_directory(place: Path) -> None:
    """Have the names in a directory on stable storage."""
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
