"""Checks a write-ahead log that a dead process left for lost commits, before SQLite replays it.

SQLite replays a log up to the first invalid frame, and discards the rest. That is right for an
interrupted transaction, and wrong where a frame was damaged later.
"""

from __future__ import annotations

import logging
import os
import shutil
import struct
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

import apsw

from twinframe.runtime.files import sync_open
from twinframe_storage_sqlite.checksums import choose_vfs
from twinframe_storage_sqlite.errors import EngineError, build_damaged
from twinframe_storage_sqlite.files import DatabaseFiles
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.using import is_of_this_boot

# SPEC: file format of SQLite, section 4.1; its document `walformat`, sections 2.1 and 2.2.
_LOG_HEAD: Final = 32
_FRAME_HEAD: Final = 24
_SALTS: Final = slice(8, 16)
_INDEX_HEAD: Final = 48
_INDEX_BYTES: Final = 136
_BIG_ENDIAN_SUMS: Final = 0x377F0683
_LITTLE_ENDIAN_SUMS: Final = 0x377F0682
_WORD: Final = 0xFFFFFFFF

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loss:
    """Committed transactions that SQLite would not replay: it plays `played` frames.

    `transactions` is how many are known to follow; 0 where the frames themselves are missing.
    `copied` is how many frames had been copied into the database, as far as that is known.
    """

    played: int
    transactions: int
    copied: int
    page_size: int

    def render(self) -> str:
        """Render the loss as the reason of a damage."""
        lost = f"{self.transactions} transactions" if self.transactions else "transactions"
        return (
            f"its write-ahead log holds {self.played} whole frames, and {lost} that were committed "
            "behind them cannot be read"
        )


@dataclass(frozen=True, slots=True)
class _Index:
    """The contents of the log's index, which is written after each commit is on the disk."""

    frames: int
    salts: bytes
    copied: int


def settle_remains(files: DatabaseFiles, settings: SqliteSettings) -> None:
    """Raise `StorageDamaged` where a log lacks committed writes. Nobody has the database open.

    The log is kept unchanged, and in a copy next to it. With `Storage__Sqlite__DamagedLog=accept`
    it is instead cut to the part that SQLite can replay; so it is with relaxed durability after a
    restart of the machine, which may lose the last writes.
    """
    loss = find_loss(files)
    if loss is None:
        return
    kept = _keep_copy(files.wal)
    where = f"; a copy is kept in {kept}" if kept else ""
    may_lose = settings.durability == "relaxed" and not is_of_this_boot(files.use)
    if settings.damaged_log == "accept" or may_lose:
        _log.warning("%s: %s%s. It is cut there.", files.database, loss.render(), where)
        _cut(files, loss)
        return
    raise build_damaged(
        str(files.database),
        f"{loss.render()}{where}. Nothing was changed. To go on without them start once with "
        "Storage__Sqlite__DamagedLog=accept",
    )


def find_loss(files: DatabaseFiles) -> Loss | None:
    """Return the commits that SQLite would drop of a log that nobody has open, if they are
    provable.

    NOTE: frames after the first invalid one prove nothing by themselves. An interrupted transaction
    leaves some, in any order, even its last; so does one whose writer was killed while others went
    on. There are two proofs: a frame that continues the checksum chain of a commit was written
    after that commit; and the index names the last frame of the last commit.
    """
    found = _read_start(_name_index(files), _INDEX_BYTES)
    index = _read_index(found)
    size = _read_size(files.wal)
    if (index is None and size <= _LOG_HEAD) or not _read_size(files.database):
        return None
    played = _count_played(files.database)
    if played is None or (index is not None and played == 0 and index.copied >= index.frames):
        return None  # there is no log, or all of it is in the database
    loss = _compare(files, played, index)
    if loss is not None:
        # NOTE: SQLite has rebuilt the index; a later check needs its old contents.
        _write_start(_name_index(files), found)
    return loss


def read_log(connection: apsw.Connection, wal: Path) -> bytes:
    """Read the part of a log that readers use now.

    The caller holds the writer lock, so it is stable.
    """
    played, _copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    size = _LOG_HEAD + max(played, 0) * (_FRAME_HEAD + int(connection.pragma("page_size")))
    return _read_start(wal, size if played > 0 else 0)


def find_broken_frame(log: bytes, page_size: int) -> str:
    """Return where the result of `read_log` is not as it was written; empty if it is."""
    sums, order = _read_head(log[:_LOG_HEAD])
    if log and not order:
        return "the head of the write-ahead log is damaged"
    size = _FRAME_HEAD + page_size
    for number, place in enumerate(range(_LOG_HEAD, len(log), size), start=1):
        frame = log[place : place + size]
        sums = _sum(_sum(sums, frame[:8], order), frame[_FRAME_HEAD:], order)
        if len(frame) < size or sums != _pair(frame[16:]) or frame[_SALTS] != log[16:24]:
            return f"frame {number} of the write-ahead log is damaged"
    return ""


def _compare(files: DatabaseFiles, played: int, index: _Index | None) -> Loss | None:
    page_size = _read_page_size(files.database)
    with _open_log(files.wal) as log:
        frames = _Frames(log, _read_size(files.wal), page_size)
        lacks, commits = False, 0
        # NOTE: a new log begins in the index, with new salts and no frame, before the file is
        # written. A writer killed in between leaves the log before it, all of which is in the
        # database.
        is_current = index is not None and (
            is_of_this_boot(files.use) or frames.salts == index.salts
        )
        if index is not None and index.frames > 0 and is_current:
            lacks = played < index.frames or frames.salts != index.salts
            commits = frames.count_commits(played, index.salts, index.frames)
        if not lacks:
            if not frames.has_successor(played):
                return None
            commits = frames.count_commits(played, frames.salts, frames.count)
    return Loss(played, commits, index.copied if index is not None else 0, page_size)


class _Frames:
    """The frames of a log, counted from 1. `salts` are those of this log's frames."""

    def __init__(self, log: BinaryIO, size: int, page_size: int) -> None:
        self._log = log
        self._frame = _FRAME_HEAD + page_size
        self.count = max(size - _LOG_HEAD, 0) // self._frame
        head = self._read(0, _LOG_HEAD)
        _sums, order = _read_head(head)
        self._order = order or "="
        # NOTE: a header is on the disk before the first frame is written, and a power loss does not
        # tear its 32 bytes: where it is invalid, the first frame shows which log it was.
        self.salts = head[16:24] if order else self._read(_LOG_HEAD, _FRAME_HEAD)[_SALTS]

    def count_commits(self, after: int, salts: bytes, last: int) -> int:
        """Count the ends of transactions with these salts after frame `after`."""
        numbers = range(after + 1, min(last, self.count) + 1)
        return sum(self._ends_transaction(number, salts) for number in numbers)

    def has_successor(self, after: int) -> bool:
        """Return whether a frame after `after` was written on top of a commit there."""
        return any(
            self._ends_transaction(number, self.salts) and self._continues(number)
            for number in range(after + 1, self.count)
        )

    def _ends_transaction(self, number: int, salts: bytes) -> bool:
        head = self._read(self._place(number), _FRAME_HEAD)
        return head[_SALTS] == salts and head[4:8] != bytes(4)

    def _continues(self, number: int) -> bool:
        """Return whether the next frame's checksums follow from those in this one."""
        seed = _pair(self._read(self._place(number), _FRAME_HEAD)[16:])
        frame = self._read(self._place(number + 1), self._frame)
        if frame[_SALTS] != self.salts:
            return False
        sums = _sum(_sum(seed, frame[:8], self._order), frame[_FRAME_HEAD:], self._order)
        return sums == _pair(frame[16:_FRAME_HEAD])

    def _place(self, number: int) -> int:
        return _LOG_HEAD + (number - 1) * self._frame

    def _read(self, place: int, size: int) -> bytes:
        return os.pread(self._log.fileno(), size, place)


def _count_played(database: Path) -> int | None:
    """Count the frames that SQLite replays; None where it uses no log, or cannot open the database.

    It changes neither the database nor the log; the index is rebuilt.
    """
    try:
        connection = apsw.Connection(
            str(database), flags=apsw.SQLITE_OPEN_READWRITE, vfs=choose_vfs(str(database))
        )
    except EngineError:
        return None
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        with suppress(*EngineError):  # the log is replayed all the same
            connection.pragma("schema_version")
        played, _copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    except EngineError:
        return None
    finally:
        connection.close(force=True)
    return played if played >= 0 else None


def _name_index(files: DatabaseFiles) -> Path:
    return files.database.with_name(f"{files.database.name}-shm")


def _read_page_size(database: Path) -> int:
    size = int.from_bytes(_read_start(database, 18)[16:], "big")
    return 65536 if size == 1 else size


def _read_index(found: bytes) -> _Index | None:
    """Parse the start of an index, if it is valid. It has two copies of its header."""
    if len(found) < _INDEX_BYTES:
        return None
    for start in (0, _INDEX_HEAD):
        head = found[start : start + _INDEX_HEAD]
        if head[12] and struct.pack("=II", *_sum((0, 0), head[:40], "=")) == head[40:]:
            (frames,) = struct.unpack_from("=I", head, 16)
            (copied,) = struct.unpack_from("=I", found, 2 * _INDEX_HEAD)
            return _Index(frames, head[32:40], copied)
    return None


def _read_head(head: bytes) -> tuple[tuple[int, int], str]:
    """Return the checksums that the first frame continues and the byte order; '': invalid."""
    magic = int.from_bytes(head[:4], "big")
    order = {_BIG_ENDIAN_SUMS: ">", _LITTLE_ENDIAN_SUMS: "<"}.get(magic, "")
    if not order or len(head) < _LOG_HEAD:
        return (0, 0), ""
    sums = _sum((0, 0), head[:24], order)
    return sums, order if sums == _pair(head[24:]) else ""


def _sum(seed: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    """Compute SQLite's checksums over words of four bytes, continued from `seed`."""
    first, second = seed
    for word in struct.unpack(f"{order}{len(data) // 4}I", data):
        first, second = second, (first + second + word) & _WORD
    return first, second


def _pair(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")


def _keep_copy(wal: Path) -> Path | None:
    """Copy the log to a file next to it, once; None where there is no log or no space."""
    try:
        written = datetime.fromtimestamp(wal.stat().st_mtime, UTC)
        kept = wal.with_name(f"{wal.name}.damaged-{written:%Y%m%dT%H%M%S}")
        if not kept.exists():
            unfinished = kept.with_name(f"{kept.name}.part")
            shutil.copy2(wal, unfinished)
            unfinished.replace(kept)
    except OSError:
        return None
    return kept


def _cut(files: DatabaseFiles, loss: Loss) -> None:
    """Cut the log to what SQLite can replay, to nothing where the database is newer."""
    end = _LOG_HEAD + loss.played * (_FRAME_HEAD + loss.page_size)
    if loss.played == 0 or loss.copied > loss.played:
        end = 0
    with suppress(FileNotFoundError), files.wal.open("r+b") as log:
        log.truncate(end)
        sync_open(log)
    _name_index(files).unlink(missing_ok=True)


def _open_log(wal: Path) -> BinaryIO:
    try:
        return wal.open("rb")
    except FileNotFoundError:
        return Path(os.devnull).open("rb")


def _read_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read_start(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except FileNotFoundError:
        return b""


def _write_start(path: Path, content: bytes) -> None:
    with suppress(FileNotFoundError), path.open("r+b") as file:
        file.write(content)
