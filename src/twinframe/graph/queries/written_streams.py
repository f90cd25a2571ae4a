"""Streams answers of any length: a thread writes them to a file, from which the client reads at its
own pace.

The snapshot that is read is released as soon as everything is written, however slow the client is.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from twinframe.errors import LimitExceeded, StorageError, StorageFull, TwinframeError
from twinframe.graph.queries.spool import find_temporary

_PIECE: Final = 256 * 1024


class StreamClosed(TwinframeError):
    """The reader has closed the stream; ends the writing, and is not reported."""


class WrittenStream:
    """Bytes from a thread to the event loop through an unnamed file.

    NOTE: the file is removed from the directory before it has any content, so nothing is left
    behind, however the process ends.
    """

    def __init__(self, directory: Path | None, limit: int, setting: str) -> None:
        """`setting` names the limit of bytes. Raises `StorageError` when no file can be made."""
        self._limit = limit
        self._setting = setting
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lock = threading.Lock()
        self._size = 0
        self._taken = 0
        self._writing: asyncio.Future[None] | None = None
        self._closed = False
        try:
            if directory is not None:
                directory.mkdir(mode=0o700, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=directory or find_temporary(), buffering=0)  # noqa: SIM115  (closed by `close`)
        except OSError as error:
            raise StorageError(f"The answer cannot be written down: {error.strerror}.") from error

    # --- in the thread --------------------------------------------------------------------------

    def write(self, pieces: Iterable[bytes]) -> None:
        """Write all pieces; see `append`."""
        for piece in pieces:
            self.append(piece)

    def append(self, piece: bytes) -> None:
        """Write a piece.

        Raises `StreamClosed` once the reader is gone, `LimitExceeded`, `StorageFull`.
        """
        if self._size + len(piece) > self._limit:
            raise LimitExceeded(f"The answer has more than {self._limit} bytes ({self._setting}).")
        with self._lock:
            if self._closed:
                raise StreamClosed("The client left before it had the whole answer.")
            self._write(piece)
        self._loop.call_soon_threadsafe(self._news.set)

    def _write(self, piece: bytes) -> None:
        try:
            view = memoryview(piece)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise StorageFull(f"The answer cannot be written down: {error.strerror}.") from error
        self._size += len(piece)

    # --- on the event loop ----------------------------------------------------------------------

    async def begin(self, writing: asyncio.Future[None]) -> None:
        """Wait for the first bytes of `writing`; raise its errors until then."""
        self._writing = writing
        writing.add_done_callback(self._end)
        await self._wait()

    async def read(self, size: int = _PIECE) -> bytes:
        """Return the next bytes; none at the end.

        Errors of the writing are raised where its bytes end.
        """
        if not await self._wait():
            return b""
        piece = await asyncio.to_thread(os.pread, self._file.fileno(), size, self._taken)
        self._taken += len(piece)
        return piece

    async def close(self) -> None:
        """Stop the writing if it continues, and close the file."""
        with self._lock:
            self._closed = True
        if self._writing is not None and not self._writing.done():
            self._writing.cancel()
            await asyncio.wait([self._writing])
        with self._lock:
            self._file.close()

    def _end(self, writing: asyncio.Future[None]) -> None:
        if not writing.cancelled():
            writing.exception()  # raised where the bytes end, if anybody reads so far
        self._news.set()

    async def _wait(self) -> bool:
        """Wait until there is something to read; return False at the end."""
        assert self._writing is not None, "begin comes first"  # noqa: S101
        while self._taken >= self._size:
            if self._writing.done():
                if self._taken < self._size:  # written between the two checks
                    return True
                self._writing.result()
                return False
            self._news.clear()
            if self._taken < self._size or self._writing.done():
                continue
            await self._news.wait()
        return True
