"""Uploads as job locations: `upload:` URLs, read piece by piece from the graph's own store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Final
from urllib.parse import SplitResult

from twinframe.errors import LocationFailed, UrlNotAllowed
from twinframe.graph.context.context import GraphRunner
from twinframe.graph.transfer.locations.base import JobLocation, OpenSource
from twinframe.graph.transfer.uploads.records import (
    SCHEME,
    find_upload,
    find_upload_id,
    parse_upload_id,
    read_piece,
)
from twinframe.storage.base import GraphSession

_SECONDS: Final = 60.0


class UploadLocation(JobLocation):
    """The uploads of one graph, which jobs read and never write."""

    def __init__(self, runner: GraphRunner) -> None:
        self._runner = runner

    def takes(self, url: SplitResult) -> bool:
        """Return whether it has the scheme `upload`."""
        return url.scheme == SCHEME

    def check(self, url: str) -> None:
        """Check the form of its id."""
        find_upload_id(url)

    def open_source(self, url: str) -> AbstractContextManager[OpenSource]:
        """Open the upload; called on the event loop, to which the reads are handed over."""
        return self._open(_require_id(url), asyncio.get_running_loop())

    def write(self, url: str, pieces: Iterable[bytes]) -> None:
        """Refuse: there is no log in an upload."""
        del pieces
        raise UrlNotAllowed(f"{url} is an upload, which jobs only read.")

    @contextmanager
    def _open(self, upload_id: str, loop: asyncio.AbstractEventLoop) -> Iterator[OpenSource]:
        stream = _Pieces(self._runner, upload_id, loop)
        size = stream.read_size()
        yield OpenSource(stream, f"{upload_id}-{size}", size)


class _Pieces:
    """The pieces of an upload as a stream that another thread reads."""

    def __init__(
        self, runner: GraphRunner, upload_id: str, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._runner = runner
        self._upload_id = upload_id
        self._loop = loop
        self._next = 0
        self._rest = memoryview(b"")
        self._left = 0

    def read_size(self) -> int:
        """Return how many bytes the upload has; `LocationFailed`."""

        def read(session: GraphSession) -> int | None:
            upload = find_upload(session, self._upload_id)
            return None if upload is None else upload.size

        size = asyncio.run_coroutine_threadsafe(self._runner.read(read), self._loop).result(
            _SECONDS
        )
        if size is None:
            raise self._build_error()
        self._left = size
        return size

    def read(self, size: int, /) -> bytes:
        """Return at most this many bytes; none at the end. Raises `LocationFailed`."""
        if not self._rest and self._left:
            read = partial(read_piece, upload_id=self._upload_id, number=self._next)
            found = asyncio.run_coroutine_threadsafe(self._runner.read(read), self._loop).result(
                _SECONDS
            )
            if found is None:
                raise self._build_error()
            self._rest = memoryview(found)
            self._next += 1
            self._left -= len(found)
        piece = bytes(self._rest[:size])
        self._rest = self._rest[size:]
        return piece

    def _build_error(self) -> LocationFailed:
        return LocationFailed(f"The upload {self._upload_id} was deleted before it was imported.")


def _require_id(url: str) -> str:
    return find_upload_id(url) or parse_upload_id("")
