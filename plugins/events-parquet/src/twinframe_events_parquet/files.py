"""Where the files go: a directory, or any storage that fsspec reaches.

A file appears as a whole, and is on stable storage when `put` returns.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import fsspec

from twinframe.runtime.files import DRAFT, rename_durably, sync, sync_open
from twinframe_events_parquet.settings import LOCAL

_WHOLE: Final = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "memory"})
"""The storages that show an object only when all of it was uploaded."""
_PROBE: Final = ".twinframe"


class Files(ABC):
    """A place for files. Its methods block, and raise what its library does."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error unless files can be put here."""

    @abstractmethod
    def put(self, path: Sequence[str], content: bytes) -> None:
        """Create or replace a file."""


class LocalFiles(Files):
    """A directory of this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def check(self) -> None:
        """Create the directory, and a file in it, which is removed again."""
        _make_directory(self._root)
        probe = self._root / f"{_PROBE}-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()

    def put(self, path: Sequence[str], content: bytes) -> None:
        """Write a draft and rename it.

        The draft has a fixed name: the next attempt replaces what a killed one left.
        """
        target = self._root.joinpath(*path)
        _make_directory(target.parent)
        draft = target.with_name(f"{target.name}{DRAFT}")
        with draft.open("wb") as file:
            file.write(content)
            sync_open(file)
        rename_durably(draft, target)


class RemoteFiles(Files):
    """A folder of a storage that fsspec reaches."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._scheme = urlsplit(url).scheme
        self._files: Any = None
        self._root = ""

    def check(self) -> None:
        """Look whether the folder can be reached; object stores make folders as needed."""
        self._open().exists(self._root)

    def put(self, path: Sequence[str], content: bytes) -> None:
        """Upload it, to other storages than object stores under another name first."""
        files = self._open()
        target = "/".join((self._root, *path))
        if self._scheme in _WHOLE:
            files.pipe_file(target, content)
            return
        files.makedirs(target.rpartition("/")[0], exist_ok=True)
        files.pipe_file(target + DRAFT, content)
        files.mv(target + DRAFT, target)

    def _open(self) -> Any:
        if self._files is None:
            files, root = fsspec.url_to_fs(self._url)
            self._files, self._root = files, str(root).rstrip("/")
        return self._files


def build_files(location: str) -> Files:
    """Build the place at a location, without touching it."""
    if "://" not in location:
        return LocalFiles(Path(location))
    url = urlsplit(location)
    return LocalFiles(Path(unquote(url.path))) if url.scheme in LOCAL else RemoteFiles(location)


def _make_directory(path: Path) -> None:
    """Create a directory with those above it, all of them durably."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for one in missing:
        sync(one.parent)
