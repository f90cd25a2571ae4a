"""What processes that died left of a write-ahead log, looked at before SQLite plays it.

SQLite plays a log up to the first frame that does not fit, and forgets what is behind it. That is
right for a transaction that was cut off, and wrong where a frame was damaged later.
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
    """Transactions in a log that SQLite would not play: `played` frames are whole, then it breaks.

    `transactions` is how many are known behind; 0 where the frames themselves are gone.
    `copied` is how many frames had been copied into the database, as far as that is known.
    """

    played: int
    transactions: int
    copied: int
    page_size: int

    def render(self) -> str:
        """As the reason of a damage."""
        lost = f"{self.transactions} transactions" if self.transactions else "transactions"
        return (
            f"its write-ahead log holds {self.played} whole frames, and {lost} that were committed "
            "behind them cannot be read"
        )


@dataclass(frozen=True, slots=True)
class _Index:
    """What the log's index says: written after each commit was on the disk as it was promised."""

    frames: int
    salts: bytes
    copied: int


def settle_remains(files: DatabaseFiles, settings: SqliteSettings) -> None:
    """`StorageDamaged` where a log lacks what was committed. Nobody has the database open.

    The log is kept as it is, and in a copy beside it. With `Storage__Sqlite__DamagedLog=accept` it
    is cut to what SQLite can play instead; so it is with relaxed durability when the machine was
    started anew, which may take the last writes.
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
    """What SQLite would drop of a log that nobody has open, if that can be proven.

    NOTE: frames behind the first one that does not fit prove nothing by themselves. A transaction
    that was cut off leaves some, in any order, even its last; so does one whose writer was killed
    while others went on. These two prove it: a frame that continues the chain of sums of a commit
    was written after that commit held; and the index names the last frame of the last commit.
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
        # NOTE: SQLite has made the index anew; the next look needs what it said.
        _write_start(_name_index(files), found)
    return loss


def read_log(connection: apsw.Connection, wal: Path) -> bytes:
    """The part of a log that readers use now. The caller has the turn, so that it stays so."""
    played, _copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    size = _LOG_HEAD + max(played, 0) * (_FRAME_HEAD + int(connection.pragma("page_size")))
    return _read_start(wal, size if played > 0 else 0)


def find_broken_frame(log: bytes, page_size: int) -> str:
    """Where what `read_log` gave is not as it was written; nothing where it is."""
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
        if index is not None and (is_of_this_boot(files.use) or frames.salts == index.salts):
            lacks = played < index.frames or frames.salts != index.salts
            commits = frames.count_commits(played, index.salts, index.frames)
        if not lacks:
            if not frames.has_successor(played):
                return None
            commits = frames.count_commits(played, frames.salts, frames.count)
    return Loss(played, commits, index.copied if index is not None else 0, page_size)


class _Frames:
    """The frames of a log, counted from 1. `salts` are what those of this log carry."""

    def __init__(self, log: BinaryIO, size: int, page_size: int) -> None:
        self._log = log
        self._frame = _FRAME_HEAD + page_size
        self.count = max(size - _LOG_HEAD, 0) // self._frame
        head = self._read(0, _LOG_HEAD)
        _sums, order = _read_head(head)
        self._order = order or "="
        # NOTE: a head is on the disk before the first frame is written, and no loss of power tears
        # its 32 bytes: where it is not whole, the first frame tells of what log it was.
        self.salts = head[16:24] if order else self._read(_LOG_HEAD, _FRAME_HEAD)[_SALTS]

    def count_commits(self, after: int, salts: bytes, last: int) -> int:
        """Ends of transactions with these salts behind frame `after`."""
        numbers = range(after + 1, min(last, self.count) + 1)
        return sum(self._ends_transaction(number, salts) for number in numbers)

    def has_successor(self, after: int) -> bool:
        """Whether behind frame `after` one was written in the knowledge of a commit there."""
        return any(
            self._ends_transaction(number, self.salts) and self._continues(number)
            for number in range(after + 1, self.count)
        )

    def _ends_transaction(self, number: int, salts: bytes) -> bool:
        head = self._read(self._place(number), _FRAME_HEAD)
        return head[_SALTS] == salts and head[4:8] != bytes(4)

    def _continues(self, number: int) -> bool:
        """Whether the next frame's sums follow from those that this one states."""
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
    """The frames that SQLite plays; None where it uses no log, or does not get as far.

    It changes neither the database nor the log; the index is made anew.
    """
    try:
        connection = apsw.Connection(
            str(database), flags=apsw.SQLITE_OPEN_READWRITE, vfs=choose_vfs(str(database))
        )
    except EngineError:
        return None
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        with suppress(*EngineError):  # the log is played all the same
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
    """What the start of an index says, if it is whole. It has its head twice."""
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
    """The sums that the first frame continues and the order of bytes; '' for one not whole."""
    magic = int.from_bytes(head[:4], "big")
    order = {_BIG_ENDIAN_SUMS: ">", _LITTLE_ENDIAN_SUMS: "<"}.get(magic, "")
    if not order or len(head) < _LOG_HEAD:
        return (0, 0), ""
    sums = _sum((0, 0), head[:24], order)
    return sums, order if sums == _pair(head[24:]) else ""


def _sum(seed: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    """SQLite's sums over words of four bytes, continued from `seed`."""
    first, second = seed
    for one, other in struct.iter_unpack(f"{order}II", data):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return first, second


def _pair(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")


def _keep_copy(wal: Path) -> Path | None:
    """A copy of the log beside it, made once; None where there is no log or no room."""
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
    """Leave what SQLite can play, or nothing where the database is further already."""
    end = _LOG_HEAD + loss.played * (_FRAME_HEAD + loss.page_size)
    if loss.played == 0 or loss.copied > loss.played:
        end = 0
    with suppress(FileNotFoundError), files.wal.open("r+b") as log:
        log.truncate(end)
        os.fsync(log.fileno())
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
