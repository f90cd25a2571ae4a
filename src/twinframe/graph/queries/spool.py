"""Stores results longer than a page in files from which all workers of a graph read pages.

A file has one row a line and, once it is complete, a last line that is no row. Its name is random
and only travels in signed tokens; no client input becomes part of a path.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, Self

import orjson

from twinframe.errors import (
    InvalidContinuationToken,
    LimitExceeded,
    QueryInvalid,
    QueryTimeout,
    StorageError,
    TwinframeError,
)
from twinframe.runtime.locks import try_lock, unlock, wait_for_lock

_SUFFIX: Final = ".rows"
_NAME: Final = re.compile(r"[0-9a-f]{32}")
_END: Final = b".\n"
_ERROR: Final = b"!"
_NO_ROW: Final = frozenset(b".!")
_KEPT_ERRORS: Final = (LimitExceeded, QueryTimeout, QueryInvalid)
_BUFFER: Final = 256 * 1024
_TIDIES_A_LIFETIME: Final = 10
_LINES_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """`result`: bytes of one result. `total`: bytes of all. `lifetime`: seconds after last use."""

    result: int
    total: int
    lifetime: float


@dataclass(frozen=True, slots=True)
class SpooledPage:
    """Rows of a result, and the offset of the next one; None after the last."""

    rows: tuple[bytes, ...]
    following: int | None


class SpoolWriter:
    """A result under construction: a context, after which an unfinished one counts as lost.

    NOTE: it holds a lock on its file, which the kernel releases when the process ends: readers
    learn from it whether missing rows will still come.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.name = path.stem
        self._limit = limit
        self._size = 0
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(handle, "wb", _BUFFER)
        wait_for_lock(self._file)

    def write(self, rows: Iterable[bytes]) -> int:
        """Append rows (JSON has no line break in it), soon visible; return the bytes so far.

        Raises `LimitExceeded` when the result is too large.
        """
        write = self._file.write
        size, limit = self._size, self._limit
        try:
            for row in rows:
                size += len(row) + 1
                if size > limit:
                    raise LimitExceeded(
                        f"The result has more than {limit} bytes (Query__MaxResultBytes). "
                        "Ask for fewer rows or columns, or page through a plain scan."
                    )
                write(row + b"\n")
        finally:
            self._size = size
        return size

    def finish(self, error: TwinframeError | None = None) -> None:
        """Mark the end of the result, or `error` as its end."""
        if error is None:
            self._file.write(_END)
        else:
            kind = error.kind if isinstance(error, QueryInvalid) else ""
            self._file.write(_ERROR + orjson.dumps([error.code, error.public, kind]) + b"\n")

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Write buffered rows, and let readers know that no more come."""
        self._file.close()


class ResultSpool:
    """The results in one directory, which processes share. Thread-safe.

    Results that were unused for the lifetime are deleted, and the longest unused when there is too
    much.
    """

    def __init__(self, directory: Path | None, limits: SpoolLimits) -> None:
        """Without a directory: one of this user's own among the system's temporary files."""
        self.limits = limits
        self._directory = directory
        self._lock = threading.Lock()
        self._next_tidy = 0.0

    def open_writer(self) -> SpoolWriter:
        """Create a new, empty result.

        Raises `StorageError` when the directory cannot be written.
        """
        try:
            directory = self._make_directory()
            self.tidy(self.limits.result)
            return SpoolWriter(directory / f"{secrets.token_hex(16)}{_SUFFIX}", self.limits.result)
        except OSError as error:
            raise StorageError(
                f"The result cannot be kept for its next page: {error.strerror}."
            ) from error

    def read(self, name: str, offset: int, count: int, most_bytes: int) -> SpooledPage | None:
        """Return the next `count` rows from `offset`, fewer when they have more than `most_bytes`.

        None while they are still being written. Raises `InvalidContinuationToken` when the result
        is gone. Where the rows end with the error that ended the query, it is raised.
        """
        if not _NAME.fullmatch(name):
            raise _build_gone()
        self._tidy_now_and_then()
        path = (self._directory or find_temporary()) / f"{name}{_SUFFIX}"
        try:
            os.utime(path)
            with path.open("rb") as file:
                unfinished = _is_locked(file)  # checked before reading: rows missing then are lost
                file.seek(offset)
                lines = _read_lines(file, count + 1, most_bytes)
        except OSError as error:
            raise _build_gone() from error
        return _build_page(
            lines, offset, _count_fitting(lines[:count], most_bytes), unfinished=unfinished
        )

    def measure(self) -> tuple[int, int]:
        """Return bytes and number of the stored results."""
        directory = self._directory or find_temporary()
        size = count = 0
        with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if entry.name.endswith(_SUFFIX):
                        size += entry.stat().st_size
                        count += 1
        return size, count

    def tidy(self, room: int = 0) -> None:
        """Delete expired results, and the longest unused until `room` bytes more fit."""
        found = []
        oldest = time.time() - self.limits.lifetime
        for entry in os.scandir(self._make_directory()):
            try:
                if entry.name.endswith(_SUFFIX):
                    state = entry.stat()
                    found.append((state.st_mtime, state.st_size, entry.path))
            except FileNotFoundError:  # another process deleted it
                continue
        found.sort()
        size = sum(each for _, each, _ in found)
        for used, each, path in found:
            if used > oldest and size + room <= self.limits.total:
                break
            Path(path).unlink(missing_ok=True)
            size -= each

    def _tidy_now_and_then(self) -> None:
        with self._lock:
            if time.monotonic() < self._next_tidy:
                return
            self._next_tidy = time.monotonic() + self.limits.lifetime / _TIDIES_A_LIFETIME
        self.tidy()

    def _make_directory(self) -> Path:
        if self._directory is None:
            return find_temporary()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._directory


def find_temporary() -> Path:
    """Return this user's directory of results among the temporary files, creating it if missing."""
    path = Path(tempfile.gettempdir()) / f"twinframe-results-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    state = path.lstat()
    # SEC: any user can create a directory of this name there.
    if state.st_uid != os.getuid() or state.st_mode & 0o77 or path.is_symlink():
        raise StorageError(f"{path} is not a directory of this user alone.")
    return path


def _is_locked(file: BinaryIO) -> bool:
    """Return whether a writer is still at work."""
    if not try_lock(file, shared=True):
        return True
    unlock(file)
    return False


def _read_lines(file: BinaryIO, count: int, most_bytes: int) -> list[bytes]:
    """Read up to `count` lines, stopping once they exceed `most_bytes`."""
    lines: list[bytes] = []
    while most_bytes >= 0 and (some := list(islice(file, min(_LINES_AT_ONCE, count - len(lines))))):
        lines += some
        most_bytes -= sum(map(len, some))
    return lines


def _count_fitting(lines: Sequence[bytes], most_bytes: int) -> int:
    """Return how many of the lines a page has; at least one."""
    room = most_bytes + len(lines)  # without the ends of lines
    for at, line in enumerate(lines):
        room -= len(line)
        if room < 0:
            return max(at, 1)
    return max(len(lines), 1)


def _build_page(
    lines: list[bytes], offset: int, count: int, *, unfinished: bool
) -> SpooledPage | None:
    whole = [line for line in lines if line.endswith(b"\n")]  # the last may be half written
    rows = [line for line in whole[:count] if line[0] not in _NO_ROW]
    if len(whole) == len(rows):
        if unfinished:
            return None
        raise _build_gone()
    behind = whole[len(rows)]
    following: int | None = None
    if behind != _END:
        if not rows:
            raise _parse_error(behind)
        following = offset + sum(map(len, rows))
    return SpooledPage(tuple(row[:-1] for row in rows), following)


def _parse_error(line: bytes) -> TwinframeError:
    code, message, *kind = orjson.loads(line[1:])
    if code == QueryInvalid.code and kind:
        return QueryInvalid(message, kind=kind[0])
    for known in _KEPT_ERRORS:
        if known.code == code:
            return known(message)
    return InvalidContinuationToken(
        f"The result has no further rows: its query ended early ({code}). Run it again."
    )


def _build_gone() -> InvalidContinuationToken:
    return InvalidContinuationToken(
        "The result that the continuation token belongs to is no longer kept. Run the query again."
    )
