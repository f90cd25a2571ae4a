"""Bolt within WebSocket, as browsers speak it: a transport whose bytes are those of its messages.

SPEC: RFC 6455. A client sends the bytes of Bolt in binary messages, cut as it likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

FIRST: Final = b"GET "
"""The first bytes of a client that speaks HTTP."""
_MOST_UNSENT: Final = 64 * 1024
"""SEC: bytes that a client may leave unread before it gets no more answers to its pings."""
_REFUSAL: Final = b"This port speaks Bolt, for the drivers of Neo4j, over TCP or WebSocket.\n"
_FOREIGN: Final = b"Pages of this origin may not connect; Cors__Origins lists those that may.\n"
_PLAIN: Final = [(b"content-type", b"text/plain; charset=utf-8")]


class WebSocketTransport:
    """The part of `asyncio.Transport` that the Bolt server uses, over a WebSocket."""

    def __init__(self, transport: asyncio.Transport, origins: Collection[str]) -> None:
        """`origins` are those of the pages that may connect; `*` is any."""
        self._transport = transport
        self._origins = origins
        self._web = WSConnection(ConnectionType.SERVER)
        self._is_open = False

    def receive(self, data: bytes) -> bytes:
        """Return the bytes of Bolt within bytes of the connection; answer all else."""
        try:
            self._web.receive_data(data)
            return b"".join([self._take(event) for event in self._web.events()])
        except RemoteProtocolError as error:
            self._refuse(error)
        return b""

    def _take(self, event: Event) -> bytes:
        match event:
            case Request():
                self._answer(event)
            case BytesMessage(data=data):
                return bytes(data)
            case Ping():
                if self._transport.get_write_buffer_size() > _MOST_UNSENT:
                    self._transport.abort()
                else:
                    self._send(event.response())
            case CloseConnection():
                self._is_open = False
                self._send(event.response())
                self._transport.close()
            case TextMessage():
                self.close(CloseReason.UNSUPPORTED_DATA)
        return b""

    def _answer(self, request: Request) -> None:
        origin = dict(request.extra_headers).get(b"origin")
        # SEC: browsers let any page connect to any address, this machine's too, and would show it
        # an open graph. Programs send no origin.
        if origin is not None and not {"*", origin.decode("latin-1")} & set(self._origins):
            self._reject(403, _FOREIGN)
        else:
            self._send(AcceptConnection())
            self._is_open = True

    def _refuse(self, error: RemoteProtocolError) -> None:
        hint = error.event_hint
        if self._is_open and isinstance(hint, CloseConnection):
            self._send(hint)
            self._transport.close()
        elif isinstance(hint, RejectConnection):
            self._reject(hint.status_code, _REFUSAL)
        else:
            self._transport.abort()

    def _reject(self, status: int, text: bytes) -> None:
        self._send(RejectConnection(status_code=status, headers=_PLAIN, has_body=True))
        self._send(RejectData(data=text, body_finished=True))
        self._transport.close()

    def _send(self, event: Event) -> None:
        try:
            data = self._web.send(event)
        except LocalProtocolError:
            self._transport.abort()  # the state of the connection has no room for it
        else:
            if not self._transport.is_closing():
                self._transport.write(data)

    # --- what the server uses of a transport ------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send bytes of Bolt, as a message."""
        self._send(BytesMessage(data=data))

    def close(self, code: int = CloseReason.NORMAL_CLOSURE) -> None:
        """Say so, and close the connection when all is sent."""
        if self._is_open and not self._transport.is_closing():
            self._is_open = False
            self._send(CloseConnection(code=code))
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait for the client."""
        return self._transport.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Read no more for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._transport.resume_reading()
