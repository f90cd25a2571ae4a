"""Files of this machine as job locations, in folders that the operator names."""

from __future__ import annotations

import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote

from twinframe.errors import InvalidArgument, LocationFailed, UrlNotAllowed
from twinframe.graph.transfer.locations.base import JobLocation, OpenSource, parse_url
from twinframe.runtime.files import sync_open
from twinframe.runtime.locks import hold_abandoned, is_at, wait_for_lock

# SEC: a symbolic link in place of the file is not followed, and a FIFO does not block.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOG_MARK: Final = b'"jobType"'
_DRAFT: Final = ".twinframe-part"
_DRAFT_NAME: Final = re.compile(rf"\.[0-9a-f]{{32}}{re.escape(_DRAFT)}")


class FileLocation(JobLocation):
    """`file:` URLs under some folders."""

    def __init__(self, directories: Sequence[str]) -> None:
        self._directories = [Path(directory) for directory in directories]

    def takes(self, url: SplitResult) -> bool:
        """Return whether it has the scheme `file`."""
        return url.scheme == "file"

    def check(self, url: str) -> None:
        """Check that the path as written is under a folder; links are checked when it is opened."""
        path = self._parse(url)
        if not any(path.is_relative_to(each) for each in self._directories):
            self._refuse(path)

    @contextmanager
    def open_source(self, url: str) -> Iterator[OpenSource]:
        """Open a regular file; links on the way must stay under the folders."""
        self.check(url)
        path = self._parse(url)
        # SEC: messages name the caller's path, not the targets of links.
        with _open_regular(self._resolve(path), path) as stream:
            found = os.fstat(stream.fileno())
            self._check_opened(stream.fileno(), path)
            identity = f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
            yield OpenSource(_File(stream, path), identity, found.st_size)

    def write(self, url: str, pieces: Iterable[bytes]) -> None:
        """Write a draft next to it and rename it; only the log of an earlier job is replaced."""
        self.check(url)
        path = self._parse(url)
        folder = self._resolve(path.parent)
        target = folder / path.name
        try:
            self._check_replaced(target, path)
            # SEC: relative to the opened folder, so that it cannot be exchanged meanwhile.
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                self._check_opened(held, path)
                _write_at(held, path.name, pieces)
            finally:
                os.close(held)
        except OSError as error:
            raise LocationFailed(f"{path} cannot be written: {error.strerror}.") from error

    def _parse(self, url: str) -> Path:
        parts = parse_url(url)
        if parts.netloc not in ("", "localhost") or parts.query:
            raise InvalidArgument(
                "The URI failed validation: a file is named as file:///folder/name."
            )
        text = unquote(parts.path, errors="replace")
        names = text.split("/")
        is_plain = not any(x < " " or x in "\x7f\ufffd" for x in text)
        if not (is_plain and text.startswith("/") and names[-1]) or {".", ".."} & {*names}:
            raise InvalidArgument(
                "The URI failed validation: the path must be absolute, of a file, without . and .."
            )
        return Path(text)

    def _resolve(self, path: Path) -> Path:
        try:
            resolved = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or "its links go round"
            raise LocationFailed(f"{path} cannot be found: {reason}.") from error
        if not self._is_inside(resolved):
            self._refuse(path)
        return resolved

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(each.resolve()) for each in self._directories)

    def _check_opened(self, descriptor: int, path: Path) -> None:
        """SEC: check that the opened file is at its path, even if folders were moved meanwhile."""
        with suppress(FileNotFoundError):  # where there is no /proc
            if not self._is_inside(Path(os.readlink(f"/proc/self/fd/{descriptor}"))):  # noqa: PTH115
                self._refuse(path)

    def _check_replaced(self, target: Path, shown: Path) -> None:
        try:
            with os.fdopen(os.open(target, _READ), "rb") as stream:
                found = os.fstat(stream.fileno())
                is_log = stat.S_ISREG(found.st_mode) and (
                    not found.st_size or _LOG_MARK in stream.read(4096)
                )
        except FileNotFoundError:
            return
        if not is_log:
            raise UrlNotAllowed(
                f"{shown} is there already and is not the log of a job: it is not overwritten."
            )

    def _refuse(self, path: Path) -> None:
        raise UrlNotAllowed(
            f"{path} is in none of the folders that jobs may use (Jobs__Directories)."
        )


def _open_regular(path: Path, shown: Path) -> FileIO:
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        raise LocationFailed(f"{shown} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UrlNotAllowed(f"{shown} is no regular file.")
    return os.fdopen(descriptor, "rb", buffering=0)


class _File:
    """A file being read.

    NOTE: not a bare descriptor, as a thread may still read after a cancelled job has closed it: by
    then its number may be that of another file.
    """

    def __init__(self, stream: FileIO, path: Path) -> None:
        self._stream, self._path = stream, path

    def read(self, size: int, /) -> bytes:
        """Return at most this many bytes; `LocationFailed` on an error."""
        try:
            return self._stream.read(size) or b""
        except OSError as error:
            raise LocationFailed(f"{self._path} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise LocationFailed(f"{self._path} is read no more: it was closed.") from error


def _write_at(folder: int, name: str, pieces: Iterable[bytes]) -> None:
    _remove_drafts(folder)
    draft, handle = _make_draft(folder)
    with os.fdopen(handle, "wb") as stream:
        try:
            for piece in pieces:
                stream.write(piece)
            sync_open(stream)
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            sync_open(folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            raise


def _make_draft(folder: int) -> tuple[str, int]:
    """Create a file, locked while it is open: that shows others that it is being written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        draft = f".{uuid.uuid4().hex}{_DRAFT}"
        handle = os.open(draft, flags, 0o600, dir_fd=folder)
        with suppress(OSError):  # without locks it is never removed either
            wait_for_lock(handle)
        if is_at(draft, handle, directory=folder):
            return draft, handle
        os.close(handle)  # another process removed drafts in between


def _remove_drafts(folder: int) -> None:
    """Remove the drafts of writers that were killed: they are no longer locked."""
    for name in os.listdir(folder):
        if not _DRAFT_NAME.fullmatch(name):
            continue
        # An error: it was finished meanwhile, or has another owner.
        with suppress(OSError), hold_abandoned(name, directory=folder) as is_abandoned:
            if is_abandoned:
                os.unlink(name, dir_fd=folder)
