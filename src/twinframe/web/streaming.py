"""Answers that are streamed for as long as their client is there. It makes no bytes itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, Protocol

from falcon.asgi import Response

from twinframe.web.exchange import Exchange


class ByteStream(Protocol):
    """Bytes that come piece by piece, and what is to be given back when nobody wants more."""

    async def read(self) -> bytes:
        """The next piece; empty at the end. An error means that the rest does not come."""

    async def close(self) -> None:
        """Give everything back."""


class _Unread:
    """Stands for a stream that nobody reads."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration


_UNREAD: Final = _Unread()


def leave_out_stream(response: Response) -> None:
    """Answer a HEAD whose GET would be streamed: the same head, and no word on a length.

    SPEC: RFC 9110 section 8.6: a length in it would be that of GET, which only writing it tells.
    """
    response.stream = _UNREAD


async def stream_answer(exchange: Exchange, stream: ByteStream) -> AsyncIterator[bytes]:
    """The pieces of `stream` until its end, or until the client of `exchange` has left.

    The request must have been read whole. The stream is closed in any case.

    NOTE: the server takes what is sent to a client that has gone without a word, so who does not
    look would go on to the end.
    """
    departure = asyncio.ensure_future(exchange.wait_for_departure())
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
            # NOTE: it may fail even so, as where the graph is deleted: for nobody.
            await asyncio.gather(reading, return_exceptions=True)
        await stream.close()
