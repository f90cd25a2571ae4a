"""Reads the body of one request within a limit and checks whether it expects an answer."""

from __future__ import annotations

import orjson

from twinframe.http.exchange import Message, Receive


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
