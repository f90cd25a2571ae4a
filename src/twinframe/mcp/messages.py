"""One request over HTTP: reads its body within a limit, and sends its answer with our headers."""

from __future__ import annotations

import orjson

from twinframe.http.errors import ErrorAnswer
from twinframe.http.exchange import Message, Receive, Send
from twinframe.mcp.hosts import Header

_NO_STORE: Header = (b"cache-control", b"no-store")


class Outbound:
    """An ASGI `send`. `headers` are added to the head of the answer; nothing is buffered."""

    def __init__(self, send: Send) -> None:
        self.headers: list[Header] = []
        self.is_started = False
        self.is_ended = False
        self._send = send

    async def __call__(self, message: Message) -> None:
        """Send one event."""
        if message["type"] == "http.response.start":
            self.is_started = True
            head = list(message.get("headers", ()))
            if not any(name == b"cache-control" for name, _ in head):
                head.append(_NO_STORE)
            message["headers"] = [*head, *self.headers]
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self.is_ended = True
        await self._send(message)

    async def answer(self, answer: ErrorAnswer) -> None:
        """Send a complete answer."""
        headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers
        ]
        if not any(name == b"content-length" for name, _ in headers):
            headers.append((b"content-length", b"%d" % len(answer.body)))
        await self({"type": "http.response.start", "status": answer.status, "headers": headers})
        await self({"type": "http.response.body", "body": answer.body})

    async def finish(self) -> None:
        """End an answer that was cut short, so that its client sees an end and not a broken
        connection.
        """
        if self.is_started and not self.is_ended:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the body of a request; None when it is larger than `limit`, or its client has
    disconnected.
    """
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        size += len(piece)
        if size > limit:
            return None
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


def repeat_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI `receive` that gives a body that was read, then what `receive` gives."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def wants_answer(body: bytes) -> bool:
    """Return whether the JSON-RPC message is a request; notifications and answers expect no answer.

    An invalid message is refused by its parser.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(message, dict) and "method" in message and "id" in message
