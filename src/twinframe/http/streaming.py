"""Streamed answers and long work, which end when their client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, Protocol, Self

from falcon.asgi import Response

from twinframe.http.errors import ClientDisconnected
from twinframe.http.exchange import Exchange


class ByteStream(Protocol):
    """A stream of bytes, read piece by piece and closed by its reader."""

    async def read(self) -> bytes:
        """Return the next piece; empty at the end. An error means that the stream is incomplete."""

    async def close(self) -> None:
        """Release all resources of the stream."""


class _Unread:
    """Stands for a stream that is never read."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration


_UNREAD: Final = _Unread()


def leave_out_stream(response: Response) -> None:
    """Answer a HEAD whose GET would be streamed: the same head, without a length.

    SPEC: RFC 9110 section 8.6: the length would be that of GET, which is known only after writing
    it.
    """
    response.stream = _UNREAD


async def stream_answer(exchange: Exchange, stream: ByteStream) -> AsyncIterator[bytes]:
    """Yield the pieces of `stream` until its end, or until the client of `exchange` has left.

    The request must have been read whole. The stream is closed in any case.

    NOTE: the server accepts data for a client that has silently gone, so without this check the
    stream would be written to its end.
    """
    departure = asyncio.ensure_future(exchange.wait_for_disconnect())
    reading: asyncio.Future[bytes] | None = None
    try:
        while True:
            reading = asyncio.ensure_future(stream.read())
            await asyncio.wait((reading, departure), return_when=asyncio.FIRST_COMPLETED)
            if departure.done():
                return
            piece = reading.result()
            if not piece:
                return
            yield piece
    finally:
        departure.cancel()
        if reading is not None:
            reading.cancel()
            # NOTE: it may still fail, for example if the graph is deleted; the client is gone.
            await asyncio.gather(reading, return_exceptions=True)
        await stream.close()


# PERF: a watching task costs more than a short query; shorter requests get none.
_PATIENCE: Final = 0.2


class DisconnectWatch:
    """Context manager that cancels the task in its body when the client of `exchange` leaves.

    The body must have read the whole request, and what it awaits must be safe to cancel.
    `ClientDisconnected` is then raised.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._has_left = False
        self._watch: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        """Start watching the client after a delay."""
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._start)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """Stop watching."""
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._has_left and kind is asyncio.CancelledError and self._task is not None:
            self._task.uncancel()
            raise ClientDisconnected("The client left before it was answered.") from None

    def _start(self) -> None:
        self._watch = asyncio.get_running_loop().create_task(self._wait())

    async def _wait(self) -> None:
        await self._exchange.wait_for_disconnect()
        self._has_left = True
        if self._task is not None:
            self._task.cancel()
