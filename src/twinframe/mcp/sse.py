"""The SSE transport: a stream for answers at `/sse`, messages by POST to `/messages/{worker}/`.

The SDK implements the protocol; this counts pending calls. The caller has already found the worker
of a message and checked its credentials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs
from uuid import UUID

from anyio import BrokenResourceError, ClosedResourceError
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.server.sse import SseServerTransport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from twinframe.http.errors import ErrorAnswer
from twinframe.http.exchange import Message, Receive, Scope, Send
from twinframe.http.guard import write_answer
from twinframe.mcp.guard import CARRIED_KEY, GRAPH
from twinframe.mcp.messages import read_body, repeat_body, wants_answer
from twinframe.mcp.sessions import Session

MESSAGES = "/messages"

_SESSION: Final = re.compile(rb"session_id=([0-9a-f]{32})")
_PLAIN: Final = (("content-type", "text/plain; charset=utf-8"),)
_PATIENCE: Final = 4.0
"""Seconds that a call waits for room. NOTE: the SDK's client gives a message five."""


class SseTransport:
    """The sessions of one worker; `prefix` and `worker` form the address for their messages."""

    def __init__(self, server: Server[Any], worker: str, prefix: str, limit: int) -> None:
        self._server = server
        self._limit = limit
        self._open: dict[str, Session] = {}
        self._sdk = SseServerTransport(f"{prefix}{MESSAGES}/{worker}/", max_request_body_size=limit)

    async def connect(
        self, scope: Scope, receive: Receive, send: Send, session: Session, state: object
    ) -> None:
        """Serve a session until its client disconnects.

        `state` is that of the server's lifespan.
        """
        named: list[str] = []
        session.graph = read_graph(scope)

        async def name(message: Message) -> None:
            # NOTE: the SDK sends the id of a session to its client alone, in the first event.
            found = None if named else _SESSION.search(message.get("body", b""))
            if found is not None:
                named.append(found[1].decode())
                self._open[named[0]] = session
            await send(message)

        try:
            async with self._sdk.connect_sse(scope, receive, name) as (reader, writer):
                session.end = writer.close  # written messages are still sent
                await serve_dual_era_loop(
                    self._server,
                    _Incoming(reader, session),
                    _Outgoing(writer, session),
                    lifespan_state=state,
                    init_options=self._server.create_initialization_options(),
                )
        finally:
            for each in named:
                del self._open[each]

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept a message for one of this worker's sessions; its answer comes in the stream.

        A call waits while the session is crowded; raises `TooManyCalls` when it stays so. A message
        without an answer, such as a cancellation, never waits.
        """
        session = self._open.get(find_session(scope))
        if session is not None and session.graph != read_graph(scope):
            # SEC: in the SDK's words for a session that is missing, or belongs to another caller.
            answer = ErrorAnswer(404, b"Could not find session", _PLAIN)
            await write_answer(send, answer)
            return
        if session is None:
            await self._pass_on(scope, receive, send)
            return
        if session.is_crowded:
            body = await read_body(receive, self._limit)
            receive = repeat_body(b"" if body is None else body, receive)
            if body is not None and not wants_answer(body):
                await self._pass_on(scope, receive, send)
                return
        async with session.enter(_PATIENCE):
            await self._pass_on(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        # NOTE: the SDK accepts a message before it hands it to its session, which may end between
        # the two. The end of the stream tells the client then that no answer will come.
        with suppress(ClosedResourceError, BrokenResourceError):
            await self._sdk.handle_post_message(scope, receive, send)


class _Stream:
    """The methods that both directions pass on to the wrapped stream."""

    def __init__(self, inner: Any, session: Session) -> None:
        self._inner = inner
        self._session = session

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        await self.aclose()
        return None


class _Incoming(_Stream):
    """Messages of the client; a request is pending once it is received."""

    @property
    def last_context(self) -> Any:
        """The context of the sender of the last message, in which the SDK runs its handler."""
        return self._inner.last_context

    async def receive(self) -> SessionMessage | Exception:
        return self._see(await self._inner.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._see(await self._inner.__anext__())

    def _see(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, SessionMessage):
            message = item.message
            if isinstance(message, JSONRPCRequest):
                if message.id in self._session.pending:
                    # SPEC: MCP, base protocol: an id is used once in a session. SEC: calls with one
                    # id could not be counted, nor all be cancelled.
                    self._session.cut()
                self._session.begin(message.id)
            elif isinstance(message, JSONRPCNotification):
                self._see_cancellation(message)
        return item

    def _see_cancellation(self, message: JSONRPCNotification) -> None:
        # A cancelled call may get no answer.
        call = (message.params or {}).get("requestId")
        if message.method == "notifications/cancelled" and isinstance(call, str | int):
            self._session.finish(call)


class _Outgoing(_Stream):
    """Messages to the client; a request is pending until its answer is sent."""

    async def send(self, item: SessionMessage, /) -> None:
        with self._session.sending():
            await self._inner.send(item)
        message = item.message
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._session.finish(message.id)


def read_graph(scope: Scope) -> str:
    """Return the id of the hosted graph of a request; empty for the service's own."""
    carried: Mapping[str, str] = scope.get(CARRIED_KEY, {})
    return carried.get(GRAPH, "")


def find_session(scope: Scope) -> str:
    """Return the id of a message's session in its address; empty without one.

    SEC: parsed as the SDK does, in any of the forms that it accepts.
    """
    found = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])
    try:
        return UUID(hex=found[-1]).hex
    except ValueError:
        return ""
