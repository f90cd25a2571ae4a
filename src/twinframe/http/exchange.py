"""One HTTP request and its answer as the guard sees them: id, target, body and status."""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, cast

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from twinframe.access.gate import Gate
from twinframe.access.permissions import Caller
from twinframe.http.errors import BodyTooLarge, ClientDisconnected, UnsupportedMediaType
from twinframe.http.paths import Target
from twinframe.http.whole_answer import DONE, find_cycle, is_whole, take_whole, write_whole
from twinframe.runtime.memory import Hold

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

SCOPE_KEY = "twinframe.exchange"

_NO_TARGET = Target("", [])
_WATCHED = frozenset(
    (
        b"content-encoding",
        b"content-length",
        b"host",
        b"traceparent",
        b"transfer-encoding",
        b"x-request-id",
    )
)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._~:+/=\-]{1,128}")
_NOSNIFF = (b"x-content-type-options", b"nosniff")
"""SEC: headers of every answer: a browser must not treat private data as a script or a page."""
_FIRST_WITHOUT_BODY: Message = {"type": "http.request", "body": b"", "more_body": False}
_FIRST_WITH_BODY: Message = {"type": "http.request", "body": b"", "more_body": True}


class Exchange:
    """The guard's record of one HTTP request; the scope has it under `SCOPE_KEY`."""

    __slots__ = (
        "_begun",
        "_body_limit",
        "_body_setting",
        "_coding",
        "_cycle",
        "_length",
        "_receive",
        "_send",
        "_start",
        "_trace",
        "caller",
        "gate",
        "graph",
        "has_body",
        "hold",
        "host",
        "own_host",
        "request_id",
        "route",
        "scope",
        "sent",
        "started",
        "status",
        "target",
        "traceparent",
    )

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, new_id: bytes, body_limit: int
    ) -> None:
        self.scope = scope
        self.started = perf_counter()
        self.request_id = new_id
        self.status = 0
        self.sent = 0
        self.target = _NO_TARGET
        self.has_body = False
        self.host = b""
        self.own_host = False  # whether the host name is the address, so that links must keep it
        self.caller: Caller | None = None
        self.gate: Gate | None = None  # that admitted it; None: authentication is off
        self.route = ""  # the template of its path, once found
        self.graph = ""  # the hosted graph it addresses, once it is known to exist
        self._receive = receive
        self._send = send
        self._cycle = find_cycle(send)
        self._start: Message | None = None
        self._begun = False
        self._body_limit = body_limit
        self._body_setting = "Server__MaxBodyBytes"
        self.hold: Hold | None = None  # memory held for what was parsed from a large body
        self._coding = b""
        self._length = 0
        self._trace: bytes | None = None
        self.traceparent = ""  # of the request, if well formed
        for name, value in scope["headers"]:
            if name in _WATCHED:
                self._read_header(name, value)

    def _read_header(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self.host = value
        elif name == b"content-length":
            self.has_body = self.has_body or value != b"0"
            self._length = int(value) if value.isdigit() and len(value) < 19 else 0
        elif name == b"transfer-encoding":
            self.has_body = True
        elif name == b"content-encoding":
            self._coding = value
        elif name == b"x-request-id":
            if _REQUEST_ID.fullmatch(value) is not None:
                self.request_id = value
        else:
            self._read_trace()

    def _read_trace(self) -> None:
        found = find_traceparent(self.scope["headers"])
        if found is not None:
            span = b"%016x" % random.getrandbits(64)
            self._trace = b"00-%b-%b-01" % (found.trace_id, span)
            self.traceparent = found.text

    @property
    def is_answered(self) -> bool:
        """Whether the head of the answer was sent."""
        return self.status != 0 and self._start is None

    def read_seconds(self) -> float:
        """Return the seconds since its head arrived."""
        return perf_counter() - self.started

    async def receive(self) -> Message:
        """ASGI `receive` for the application.

        NOTE: the first event is made here and carries no data. Falcon asks for it before it routes,
        and asking the server would send `100 Continue` before the request was checked.
        """
        if self._begun:
            return await self._receive()
        self._begun = True
        return _FIRST_WITH_BODY if self.has_body else _FIRST_WITHOUT_BODY

    def send(self, message: Message) -> Awaitable[None]:
        """ASGI `send`: adds the headers of every answer, records status and size.

        PERF: a plain function that returns an awaitable, so it costs no coroutine; an answer in two
        events, the usual case, is written at once (see `whole_answer`).
        """
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *self._build_headers()]
            message["headers"] = headers
            if self._cycle is None or not is_whole(self.status, headers):
                return self._send(message)
            self._start = message
            return DONE
        body = message.get("body", b"")
        self.sent += len(body)
        start, self._start = self._start, None
        if start is None or self._cycle is None:
            if message.get("more_body", False) and self._cycle is not None:
                return self._send_piece(message, self._cycle)
            return self._send(message)
        if not message.get("more_body", False) and write_whole(
            self._cycle, start["status"], start["headers"], body
        ):
            return DONE
        return self._send_both(start, message)

    async def _send_piece(self, message: Message, cycle: RequestResponseCycle) -> None:
        """Send a piece of a stream, and wait until the client has taken nearly all of it.

        NOTE: the server itself waits only before it sends the next piece, which is then already
        made.
        """
        await self._send(message)
        await cycle.flow.drain()

    async def _send_both(self, start: Message, body: Message) -> None:
        await self._send(start)
        await self._send(body)

    def _build_headers(self) -> Sequence[tuple[bytes, bytes]]:
        own = (b"x-request-id", self.request_id)
        if self._trace is None:
            return _NOSNIFF, own
        return _NOSNIFF, own, (b"traceresponse", self._trace)

    def join_trace(self, trace_id: int, span_id: int, flags: int) -> None:
        """Answer with the trace context of this request's span."""
        self._trace = b"00-%032x-%016x-%02x" % (trace_id, span_id, flags)

    def limit_body(self, limit: int, setting: str) -> None:
        """Lower the limit of the body, in bytes, to that of a setting."""
        if limit <= self._body_limit:
            self._body_limit = limit
            self._body_setting = setting

    def take_body(self) -> bytes | None:
        """Return the whole request body if it is there, as most are; None where it is awaited.

        Raises as `read_body` does.
        """
        if not self.has_body:
            return b""
        if self._coding not in (b"", b"identity"):
            raise UnsupportedMediaType(
                "The content coding of the body is not supported; send it uncompressed."
            )
        if self._length > self._body_limit:
            raise BodyTooLarge(self._body_limit, self._body_setting)
        self._begun = True
        found = None if self._cycle is None else take_whole(self._cycle)
        if found is not None and len(found) > self._body_limit:
            raise BodyTooLarge(self._body_limit, self._body_setting)
        return found

    async def read_body(self) -> bytes:
        """Return the whole request body.

        Raises `BodyTooLarge`, `UnsupportedMediaType` for a content coding, and `ClientDisconnected`
        if the client left before the end.
        """
        found = self.take_body()
        if found is not None:
            return found
        body: bytes | bytearray = b""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected("The client left before its request was complete.")
            piece = message.get("body", b"")
            if len(body) + len(piece) > self._body_limit:
                raise BodyTooLarge(self._body_limit, self._body_setting)
            if not body:
                body = piece
            else:
                if isinstance(body, bytes):
                    body = bytearray(body)  # grows in place; pieces would need twice the memory
                body += piece
            if not message.get("more_body", False):
                return cast("bytes", body)  # it is never hashed

    async def wait_for_disconnect(self) -> None:
        """Return when the client has gone. Call it only after the whole body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            continue


_NAME: Final = b"traceparent"

# SPEC: W3C Trace Context section 3.2.2; version ff and all-zero ids are invalid. A version above 00
# may have more fields after these; of its flags only `sampled` is defined.
_FORM: Final = re.compile(
    rb"(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_SAMPLED: Final = 1


class _TraceParent(NamedTuple):
    """A valid header: `text` is the header to send on, in version 00."""

    trace_id: bytes
    text: str


def _parse_traceparent(value: bytes) -> _TraceParent | None:
    """Return the trace context of a header's value, or None if it is not well formed."""
    found = _FORM.fullmatch(value)
    if found is None:
        return None
    version, trace_id, parent_id, flags, more = found.groups()
    if version == b"00":
        if more is not None:
            return None
    else:
        flags = b"%02x" % (int(flags, 16) & _SAMPLED)
    return _TraceParent(trace_id, (b"00-%b-%b-%b" % (trace_id, parent_id, flags)).decode("ascii"))


def find_traceparent(headers: Iterable[tuple[bytes, bytes]]) -> _TraceParent | None:
    """Return the trace context of a request; None without the header or if it is repeated."""
    values = [value for name, value in headers if name == _NAME]
    return _parse_traceparent(values[0]) if len(values) == 1 else None
