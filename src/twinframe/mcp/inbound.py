"""The body of one request on its way in: read within a limit, looked at. It parses no tool call."""

from __future__ import annotations

import orjson

from twinframe.web.exchange import Message, Receive


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """The body of a request; None when it is larger than `limit`, or its client has left."""
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
    """An ASGI `receive` that gives a body that was read, then what `receive` gives."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def wants_answer(body: bytes) -> bool:
    """Whether the JSON-RPC message is a request; notifications and answers want none.

    What is no message at all is refused by who parses it.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(message, dict) and "method" in message and "id" in message
