"""Fast paths for a request's body that is there, and for an answer that is written in one piece.

PERF: uvicorn takes an answer as two events, checks each header with two regular expressions and
writes twice. With one write and one check of the head, a worker spends 36 us on a GET of a twin
instead of 43, connection included. Other answers (streamed, without a length, or from another kind
of server) are written by uvicorn, with the same bytes on the wire.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from twinframe.http.flow import PIECE_BYTES, PacedFlow

Header = tuple[bytes, bytes]

_BODILESS = (204, 304)
_FRAMING = (b"connection", b"transfer-encoding")


class Done:
    """A completed awaitable, which `send` returns when all is written."""

    def __await__(self) -> Generator[None, None, None]:
        """Return an exhausted iterator."""
        return _NOTHING


_NOTHING = cast("Generator[None, None, None]", iter(()))  # an exhausted iterator
DONE = Done()


def find_cycle(send: object) -> RequestResponseCycle | None:
    """Return uvicorn's record of the exchange of an ASGI `send`, if it is of the known kind."""
    owner = getattr(send, "__self__", None)
    return owner if type(owner) is RequestResponseCycle else None


def take_whole(cycle: RequestResponseCycle) -> bytes | None:
    """Return the body of a request that has arrived whole; None if the server must be asked for it.

    PERF: it does what the server's `receive` does, without its coroutine and its lock: 1 us less.
    """
    if (
        cycle.more_body
        or cycle.disconnected
        or cycle.response_complete
        or cycle.waiting_for_100_continue
    ):
        return None
    cycle.flow.resume_reading()
    cycle.message_event.clear()
    body, cycle.body = bytes(cycle.body), bytearray()
    return body


def is_whole(status: int, headers: Sequence[Header]) -> bool:
    """Return whether an answer with this head has its body at once, as one with a length does.

    NOTE: the head of a stream must not wait for its first piece.
    """
    if status in _BODILESS:
        return True
    return any(name == b"content-length" for name, _ in headers)


def write_whole(
    cycle: RequestResponseCycle, status: int, headers: Sequence[Header], body: bytes
) -> bool:
    """Write the answer and end the exchange; return False if uvicorn must write it.

    SEC: a field that contains a line end or NUL is left to uvicorn, which refuses it.
    """
    if cycle.response_started or cycle.flow.write_paused or cycle.disconnected:
        return False
    parts = [STATUS_LINE[status]]
    length = None
    for name, value in (*cycle.default_headers, *headers):
        parts += (name, b": ", value, b"\r\n")
        if name == b"content-length":
            length = value
        elif name in _FRAMING:
            return False
    if cycle.scope["method"] == "HEAD" or status in _BODILESS:
        body = b""
    elif length is None or int(length) != len(body):
        return False
    parts.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
    head = b"".join(parts)
    lines = len(parts) // 4 + (2 if cycle.keep_alive else 3)
    if head.count(b"\n") != lines or head.count(b"\r") != lines or b"\0" in head:
        return False
    cycle.response_started = True
    cycle.waiting_for_100_continue = False
    if len(body) > PIECE_BYTES:  # PERF: it is not copied to follow its head in one piece
        _write_large(cycle, head, body)
    else:
        cycle.transport.write(head + body)
    cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True


def _write_large(cycle: RequestResponseCycle, head: bytes, body: bytes) -> None:
    """Write an answer that stays in memory as a whole until its client has taken all of it."""
    flow = cycle.flow
    if not isinstance(flow, PacedFlow):
        cycle.transport.writelines((head, body))
        return
    flow.piece = len(body)
    cycle.transport.writelines((head, body))
    flow.piece = 0
