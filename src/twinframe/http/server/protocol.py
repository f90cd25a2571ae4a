"""The guarded HTTP/1.1 protocol: uvicorn's httptools protocol with limits and time-outs.

It refuses what is malformed, too large or too slow before the application sees it.
"""

from __future__ import annotations

import asyncio
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from twinframe.errors import MemoryExhausted, MemoryLimitExceeded
from twinframe.http.flow import PIECE_BYTES, PacedFlow
from twinframe.http.server.connections import (
    ConnectionTable,
    Followers,
    ReadPacer,
    is_delivered,
    read_address,
)
from twinframe.http.server.framing import (
    BODY_LARGE,
    BUSY,
    CHUNK_OVERHEAD_BYTES,
    CHUNKING,
    CROWDED,
    HEAD_LARGE,
    MALFORMED,
    MAX_PIPELINED,
    SHORT_OF_MEMORY,
    TIMED_OUT,
    TRAILERS,
    URL_LONG,
    Fault,
    Limits,
    build_limits,
    check_head,
)
from twinframe.runtime.memory import Hold, MemoryAccount, Part
from twinframe.settings import ServerSettings

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application
    from uvicorn.config import Config
    from uvicorn.server import ServerState


# A refused client may still be sending; closing at once could reset the connection before it has
# read the refusal (RFC 9112 section 9.6).
LINGER_SECONDS = 2.0
LINGER_BYTES = 1024 * 1024
"""Bytes of a refused client that are read at most."""
LEAVING_SECONDS = 0.5
"""Seconds that an ending worker waits for the next request of a client that asked just now, and for
the close_notify of a TLS client.
"""
FREE_BYTES = 16 * 1024
"""The bytes of a body that are not charged.

PERF: most bodies are smaller, and cost no accounting.
"""
LARGE_BYTES = 64 * 1024
"""Bodies larger than this are read in turns with others."""
SLICE_BYTES = 2048
"""Bytes parsed at once. PERF: one read of 256 KiB may have 8,000 requests: 100 ms of work."""
PIPELINED_BYTES = 4096
"""The bytes charged for a request that waits for an earlier one on its connection."""
LOOK_SECONDS = 0.1
READING_SECONDS = 0.01
SLOW_SECONDS = 1.0
"""A client that is late by more than this is closed when the memory is used up."""

_REFUSED_PATIENCE = 1e6


class Refused(Exception):
    """Stops the parser inside a callback; the connection's fault gives the reason."""


class Phase(IntEnum):
    """The party or data that a connection waits for."""

    HEAD = 1  # the rest of a request's head
    BODY = 2  # the rest of a request's body
    ANSWER = 3  # the application
    IDLE = 4  # the next request
    LINGERING = 5  # the client, to read a refusal and leave
    CLOSING = 6  # the client, to take what was written


class Sweeper:
    """Timer that checks all connections of a process and ends those that are too slow.

    PERF: one timer per process instead of one or two per request (stock uvicorn arms one per
    response).
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._connections: set[GuardedProtocol] = set()
        self._next_look = 0.0
        self._due = 0.0
        self._was_late = False
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, connection: GuardedProtocol, loop: asyncio.AbstractEventLoop) -> None:
        """Check this connection until it is forgotten."""
        self._connections.add(connection)
        if self._timer is None:
            self._arm(loop, self._seconds)

    def _arm(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._due = loop.time() + seconds
        self._timer = loop.call_later(seconds, self._sweep, loop)

    def forget(self, connection: GuardedProtocol) -> None:
        """Forget a closed connection."""
        self._connections.discard(connection)

    def end_slow_upload(self, now: float) -> bool:
        """Refuse the largest body whose client is late; return False if there is none."""
        if now < self._next_look:  # PERF: hundreds of calls that find none may come at once
            return False
        slow = [
            one for one in self._connections if one.held_bytes and one.read_lag(now) > SLOW_SECONDS
        ]
        if not slow:
            self._next_look = now + LOOK_SECONDS
            return False
        max(slow, key=lambda one: one.held_bytes).end_upload()
        return True

    def end_slow_reader(self, now: float) -> bool:
        """Close the connection with the most unread answer bytes; return False if there is none."""
        slow = [one for one in self._connections if one.read_owed(now) > 0]
        if not slow:
            return False
        max(slow, key=lambda one: one.read_owed(now)).end_answer()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now, self._timer = loop.time(), None
        # NOTE: if the process itself was held up, what clients have sent meanwhile is read first.
        self._was_late = not self._was_late and now - self._due > self._seconds
        if self._was_late:
            self._arm(loop, READING_SECONDS)
            return
        for connection in tuple(self._connections):
            connection.check_time(now)
        if self._connections and self._timer is None:
            self._arm(loop, self._seconds)


class GuardedProtocol(HttpToolsProtocol):
    """One connection. Use `build_protocol`, which sets what all connections of a process share.

    SEC: what a connection holds is charged to `memory`: bodies as they arrive, queued requests, and
    the unread bytes of an answer. Nothing is read or computed for a client that does not read its
    earlier answers.
    """

    limits: ClassVar[Limits]
    sweeper: ClassVar[Sweeper]
    pacer: ClassVar[ReadPacer]
    followers: ClassVar[Followers]
    connection_table: ClassVar[ConnectionTable[GuardedProtocol]]
    memory: ClassVar[MemoryAccount]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._phase = Phase.HEAD
        self._since = 0.0  # time of the phase's last progress, in seconds of the loop's clock
        self._begun = 0  # requests begun on this connection
        self._received = 0  # bytes of the present piece of data
        self._head_bytes = 0
        self._head_fields = 0
        self._body_bytes = 0
        self._chunk_overhead = 0
        self._unsent = 0
        self._unsent_since = 0.0
        self._piece = 0  # bytes of which none is free before the client has taken all of them
        self._found: Fault | None = None  # by a parser callback, in the present request
        self._fault: Fault | None = None  # the connection ends with this answer
        self._upgraded = False
        self._leaving = False
        self._ignored = 0  # bytes that came after a refusal was written
        self._served: RequestResponseCycle | None = None  # the request that is being answered
        self._waiting: tuple[RequestResponseCycle, ASGI3Application] | None = None  # for the client
        self._rest = b""  # what has been read and not parsed
        self._held: Hold = self.memory.hold(Part.REQUESTS)
        self._owed: Hold = self.memory.hold(Part.ANSWERS)
        self.address = ""

    # --- connection -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        super().connection_made(transport)
        self.flow: PacedFlow = PacedFlow(transport)
        if transport.can_write_eof():  # not TLS, which would be paused for ever
            transport.set_write_buffer_limits(high=0)  # whatever is not sent at once is charged
        self._since = now = self.loop.time()
        self.sweeper.watch(self, self.loop)
        self.address = read_address(transport)
        most = self.limits.connections
        if not self.connection_table.join(self, now, full=len(self.connections) > most):
            if len(self.connections) > most + most // 4:
                transport.abort()  # those that linger after their refusal have a limit too
            else:
                self._refuse(BUSY)

    def connection_lost(self, exc: Exception | None) -> None:
        self.sweeper.forget(self)
        self.followers.leave(self)
        self.connection_table.leave(self)
        super().connection_lost(exc)
        self._waiting, self._rest = None, b""
        self._held.release()
        self._owed.release()
        if self._served is not None and not self._served.response_complete:
            # NOTE: uvicorn notifies only the last request of a connection; the one that is being
            # answered may have others after it, and would be written to a closed connection.
            self._served.disconnected = True
            self._served.message_event.set()

    def shutdown(self) -> None:
        """Close the connection as its worker ends.

        NOTE: a client that sends request after request would find it closed under its next one. The
        answer to that one says that it is the last; a silent client is not waited for.
        """
        waits = self._phase in (Phase.HEAD, Phase.BODY, Phase.IDLE) and self._fault is None
        if waits and self.loop.time() - self._since < LEAVING_SECONDS:
            self._leaving = True
            self.loop.call_later(LEAVING_SECONDS, super().shutdown)
            self.loop.call_later(2 * LEAVING_SECONDS, self._leave)
        else:
            super().shutdown()
            self.loop.call_later(LEAVING_SECONDS, self._leave)

    def _leave(self) -> None:
        """Abort without the close_notify of a client that has received all that was written to it.

        NOTE: a TLS client that keeps an idle connection does not read, so it sends no close_notify
        either; one of them would delay the end of its worker until the graceful time-out.
        """
        if self.transport.is_closing() and is_delivered(self.transport):
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._fault is not None or self._upgraded:
            if self._phase is Phase.LINGERING:
                self._ignored += len(data)
                if self._ignored > LINGER_BYTES:
                    self.transport.abort()
            return
        if len(data) > SLICE_BYTES:
            self._take_slices(data)
            return
        begun = self._begun
        self._received = len(data)
        if self._phase is Phase.BODY:
            # Each byte is worth its part of a second: a client below the rate falls ever further
            # behind.
            now, rate = self.loop.time(), self.limits.body_rate
            self._since = min(now, self._since + len(data) / rate) if rate else now
            self._chunk_overhead += len(data)
        elif self._phase is Phase.IDLE:
            self._phase = Phase.HEAD
            self._since = self.loop.time()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The request itself was served as plain HTTP/1.1; what follows it is not HTTP.
            self._upgraded = True
            self.cycle.keep_alive = False
        except httptools.HttpParserError:
            self._refuse(self._found or MALFORMED)
            return
        if self._phase is Phase.HEAD:
            self._check_partial_head(begun)
        elif self._chunk_overhead > CHUNK_OVERHEAD_BYTES and self._phase is Phase.BODY:
            self._refuse(CHUNKING)

    def _take_slices(self, data: bytes) -> None:
        """Parse a piece of data, until the request queue of the connection is full."""
        for at in range(0, len(data), SLICE_BYTES):
            if self not in self.connections:  # it is closed
                return
            if len(self.pipeline) >= MAX_PIPELINED and self._fault is None:
                self._rest = data[at:]
                self._hold_rest()
                return
            self.data_received(data[at : at + SLICE_BYTES])

    def _hold_rest(self) -> None:
        try:
            self._held.grow(len(self._rest))
        except (MemoryExhausted, MemoryLimitExceeded):
            self._rest = b""
            self._refuse(SHORT_OF_MEMORY)

    def _go_on(self) -> None:
        """Parse the rest, then resume reading."""
        if self not in self.connections or self.transport.is_closing():
            return
        self.flow.blocked = False
        rest, self._rest = self._rest, b""
        if rest:
            self._held.shrink(len(rest))
            self._take_slices(rest)
        if len(self.pipeline) < MAX_PIPELINED:
            self.flow.resume_reading()

    # --- parser callbacks -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun += 1
        self._head_bytes = 0
        self._body_bytes = 0
        self._found = None
        if self._phase is not Phase.HEAD:
            self._phase = Phase.HEAD
            self._since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        self.url += url
        if len(self.url) > self.limits.url_bytes:
            self._stop(URL_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        # NOTE: replaces uvicorn's method of this name. SPEC: RFC 9110 section 5.5: blanks around a
        # value are not part of it; the parser leaves the trailing ones.
        name, value = name.lower(), value.strip(b" \t")
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        headers = self.headers
        fault = check_head(
            self.parser.get_http_version(), self.parser.get_method(), headers, self.limits
        )
        if fault is None and self._head_bytes + self._received > self.limits.head_bytes:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in headers)
            fault = HEAD_LARGE if size > self.limits.head_bytes else None
        if fault is not None:
            self._stop(fault)
        before: RequestResponseCycle | None = self.cycle  # None before the first request
        if before is not None and not before.response_complete:
            self._charge(PIPELINED_BYTES)
            if len(self.pipeline) + 1 >= MAX_PIPELINED:
                self.flow.block()
        if self.url == b"*":
            self.url = b"/*"  # SPEC: RFC 9110 section 9.3.7, a target that no route has
        self._head_fields = len(headers)
        self._chunk_overhead = 0
        self._phase = Phase.BODY
        super().on_headers_complete()
        if self._leaving:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self._chunk_overhead -= len(body)
        if self._body_bytes > self.limits.body_bytes:
            self._stop(BODY_LARGE)
        size = self._body_bytes
        if not self.cycle.response_complete and (size > FREE_BYTES or self.pipeline):
            begun = size - len(body) > FREE_BYTES or bool(self.pipeline)
            self._charge(len(body) if begun else size)
        super().on_body(body)
        if size > LARGE_BYTES and not self.flow.blocked:
            self.flow.block()
            self.pacer.line_up(self._go_on, self.loop)

    def on_message_complete(self) -> None:
        if len(self.headers) != self._head_fields:
            self._stop(TRAILERS)
        super().on_message_complete()
        answered = self.cycle.response_complete and not self.pipeline
        self._phase = Phase.IDLE if answered else Phase.ANSWER
        if answered:
            self._since = self.loop.time()

    def on_response_complete(self) -> None:
        # NOTE: replaces uvicorn's method of this name, without its keep-alive timer.
        self.server_state.total_requests += 1
        self.followers.leave(self)
        if self._held.size and not (self.pipeline or self._rest):
            self._held.release()
        if self.transport.is_closing():
            return
        if self.flow.blocked and len(self.pipeline) == MAX_PIPELINED // 2:
            self.loop.call_soon(self._go_on)
        self.flow.resume_reading()
        if self.pipeline:
            self.followers.line_up(self)
        else:
            self._end_requests()

    def begin_next(self) -> bool:
        """Begin the waiting request; return False if there is none, or its client reads nothing."""
        is_answered = self._served is None or self._served.response_complete
        if self.transport.is_closing() or not is_answered:
            return False
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
        elif self.pipeline:
            waiting = cycle, _ = self.pipeline.pop()
            self._held.shrink(PIPELINED_BYTES + len(cycle.body))
        else:  # it was refused meanwhile
            self._end_requests()
            return False
        self._start_asgi_task(*waiting)
        return self._waiting is None

    def _end_requests(self) -> None:
        """Finish after the last answer: write a pending fault or wait for the next request."""
        if self._fault is not None:
            self._write_fault(self._fault)
        elif self._phase is Phase.ANSWER:
            self._phase = Phase.IDLE
            self._since = self.loop.time()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self.flow.write_paused:
            self._waiting = (cycle, app)
            self.flow.pause_reading()
            return
        self._served = cycle
        super()._start_asgi_task(cycle, app)

    # --- memory ---------------------------------------------------------------------------------

    @property
    def held_bytes(self) -> int:
        """The bytes charged for bodies and queued requests of this connection."""
        return self._held.size

    def read_lag(self, now: float) -> float:
        """Return the seconds by which the awaited body is late."""
        return now - self._since if self._phase is Phase.BODY and not self.flow.read_paused else 0.0

    def read_owed(self, now: float) -> int:
        """Return the answer bytes that the client has not read though it had time to."""
        return self._owed.size if now - self._unsent_since > SLOW_SECONDS else 0

    def end_upload(self) -> None:
        """Refuse the awaited body, since others need the memory."""
        self._refuse(SHORT_OF_MEMORY)

    def end_answer(self) -> None:
        """Close the connection, since others need the memory of its unread answer."""
        self._owed.release()
        self.transport.abort()

    def _charge(self, size: int) -> None:
        """Charge memory for received data, or stop the parser."""
        try:
            try:
                self._held.grow(size)
            except MemoryExhausted:
                if not self.sweeper.end_slow_upload(self.loop.time()):
                    raise
                self._held.grow(size)
        except (MemoryExhausted, MemoryLimitExceeded):
            self._stop(SHORT_OF_MEMORY)

    def _owe(self, unsent: int) -> None:
        """Charge memory for unsent data, or close the connection."""
        try:
            try:
                self._owed.grow(unsent - self._owed.size)
            except MemoryExhausted:
                if not self.sweeper.end_slow_reader(self.loop.time()):
                    raise
                self._owed.grow(unsent - self._owed.size)
        except (MemoryExhausted, MemoryLimitExceeded):
            # NOTE: not at once: the transport is in the middle of a write.
            self.loop.call_soon(self.transport.abort)

    # --- time -----------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._unsent_since = self.loop.time()
        self._piece = max(self.flow.piece, PIECE_BYTES)
        self._owe(max(self._unsent, self._piece))

    def resume_writing(self) -> None:
        super().resume_writing()
        self._owed.release()
        if self._waiting is not None and not self.transport.is_closing():
            self.flow.resume_reading()
            self.followers.line_up(self)

    # --- making room ----------------------------------------------------------------------------

    def read_patience(self, now: float) -> float:
        """Return the seconds without a request; refused connections come first.

        See `connection_table.Connection`.
        """
        match self._phase:
            case Phase.HEAD | Phase.IDLE if self._fault is None:
                return now - self._since
            case Phase.LINGERING | Phase.CLOSING:
                return _REFUSED_PATIENCE + now - self._since
        return -1.0

    def give_way(self) -> None:
        """Close the connection, with an answer if the client has begun a request."""
        if self._phase in (Phase.LINGERING, Phase.CLOSING):
            self.transport.abort()
            return
        self._fault = CROWDED
        if self._phase is Phase.HEAD and self._begun:
            self.transport.write(CROWDED.answer)
        self.transport.close()

    # --- ending what is late --------------------------------------------------------------------

    def check_time(self, now: float) -> None:
        """End the connection if what it waits for takes too long; called by the sweeper."""
        waited = now - self._since
        match self._phase:
            case Phase.CLOSING:
                delivered = waited > LINGER_SECONDS and is_delivered(self.transport)
                if delivered or waited > self.limits.write_seconds:
                    self.transport.abort()
                return
            case _ if self.transport.is_closing():
                self._phase = Phase.CLOSING
                self._since = now
                return
            case Phase.LINGERING:
                if waited > LINGER_SECONDS:
                    self.transport.close()
            case Phase.IDLE:
                if waited > self.limits.idle_seconds:
                    self.transport.close()
            case Phase.HEAD | Phase.BODY if self.flow.read_paused:
                self._since = now  # reading is paused by this side
            case Phase.HEAD:
                if waited > self.limits.header_seconds:
                    self._time_out()
            case Phase.BODY:
                if waited > self.limits.body_seconds:
                    self._time_out()
        if self.flow.write_paused:
            self._check_progress(now)

    def _time_out(self) -> None:
        if self._begun == 0:
            self.transport.close()  # there is no request to answer
        else:
            self._refuse(TIMED_OUT)

    def _check_progress(self, now: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent < self._unsent:
            self._unsent_since = now
            self._owed.shrink(max(0, self._owed.size - max(unsent, self._piece)))
        elif now - self._unsent_since > self.limits.write_seconds:
            self.transport.abort()
        self._unsent = unsent

    # --- refusing -------------------------------------------------------------------------------

    def _stop(self, fault: Fault) -> None:
        self._found = fault
        raise Refused

    def _check_partial_head(self, begun: int) -> None:
        # With several requests in a piece of data the share of the last head is unknown: not
        # counted.
        if self._begun - begun <= 1:
            self._head_bytes += self._received
        if self._head_bytes > self.limits.head_bytes + self.limits.url_bytes:
            self._refuse(HEAD_LARGE)

    def _refuse(self, fault: Fault) -> None:
        """Answer with the fault and close, after the answers to earlier requests."""
        self._fault = fault
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        if cycle is not None and self._phase is Phase.BODY and not cycle.response_complete:
            # The faulty bytes are this request's own body: the application must not finish it.
            cycle.disconnected = True
            cycle.message_event.set()
            if self.pipeline:
                self.pipeline.popleft()
            elif cycle.response_started:
                self.transport.close()
                return
            else:
                self._write_fault(fault)
                return
        if self.pipeline or (cycle is not None and not cycle.response_complete):
            return  # on_response_complete goes on
        self._write_fault(fault)

    def _write_fault(self, fault: Fault) -> None:
        self._held.release()
        self.transport.write(fault.answer)
        if not self.transport.can_write_eof():  # TLS
            self.transport.close()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._phase = Phase.LINGERING
        self._since = self.loop.time()


def build_protocol(
    settings: ServerSettings, memory: MemoryAccount | None = None
) -> type[GuardedProtocol]:
    """Return a protocol class with these limits, for uvicorn's `http` option; one per process.

    `memory` is the memory account of the process; None makes a new one.
    """
    memory = memory or MemoryAccount()
    limits = build_limits(settings, memory)
    namespace = {
        "limits": limits,
        "sweeper": Sweeper(limits.sweep_seconds),
        "pacer": ReadPacer(),
        "followers": Followers(),
        "connection_table": ConnectionTable(limits.address_connections),
        "memory": memory,
    }
    return type("GuardedProtocol", (GuardedProtocol,), namespace)
