"""Streamed answers, which end when their client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, Protocol

from falcon.asgi import Response

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
