"""Answers of any length: a thread writes them to a file, and the client reads from it as it likes.

The state that is read is let go as soon as all is written, however slow the client is. It knows no
HTTP, and nothing of what is written.
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
from twinframe.graph.spool import find_temporary

_PIECE: Final = 256 * 1024


class StreamClosed(TwinframeError):
    """Nobody reads any more; ends the writing, and is told to nobody."""


class WrittenStream:
    """Bytes from a thread to the event loop through a file without a name.

    NOTE: the file is gone from the directory before the first byte is in it, so nothing is left
    behind, whatever ends the process.
    """

    def __init__(self, directory: Path | None, limit: int, setting: str) -> None:
        """`setting` names the limit of bytes. `StorageError` when no file can be made."""
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
        """Take all pieces; see `append`."""
        for piece in pieces:
            self.append(piece)

    def append(self, piece: bytes) -> None:
        """Take a piece. `StreamClosed` once nobody reads, `LimitExceeded`, `StorageFull`."""
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
        """Wait for the first bytes of `writing`, whose errors until then are raised here."""
        self._writing = writing
        writing.add_done_callback(self._end)
        await self._wait()

    async def read(self, size: int = _PIECE) -> bytes:
        """The next bytes; none at the end. Errors of the writing come where its bytes end."""
        if not await self._wait():
            return b""
        piece = await asyncio.to_thread(os.pread, self._file.fileno(), size, self._taken)
        self._taken += len(piece)
        return piece

    async def close(self) -> None:
        """End the writing if it goes on, and give the file back."""
        with self._lock:
            self._closed = True
        if self._writing is not None and not self._writing.done():
            self._writing.cancel()
            await asyncio.wait([self._writing])
        with self._lock:
            self._file.close()

    def _end(self, writing: asyncio.Future[None]) -> None:
        if not writing.cancelled():
            writing.exception()  # told where the bytes end, or to nobody when nobody reads so far
        self._news.set()

    async def _wait(self) -> bool:
        """Wait until there is something to read; False at the end."""
        assert self._writing is not None, "begin comes first"  # noqa: S101
        while self._taken >= self._size:
            if self._writing.done():
                if self._taken < self._size:  # written between the two looks
                    return True
                self._writing.result()
                return False
            self._news.clear()
            if self._taken < self._size or self._writing.done():
                continue
            await self._news.wait()
        return True
