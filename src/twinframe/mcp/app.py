"""The MCP server over HTTP as one ASGI application: chooses the transport and checks the request.

It runs next to the API, independent of its routes and framework. `server` runs the tools.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from mcp.server.lowlevel import Server
from sse_starlette.sse import AppStatus

from twinframe.access.gate import Gate
from twinframe.access.permissions import Caller
from twinframe.errors import InputError, PermissionMissing, ScopeMissing, Unauthenticated
from twinframe.http.bodies import check_count
from twinframe.http.errors import BodyTooLarge, ErrorAnswer, HttpError, build_answer
from twinframe.http.exchange import SCOPE_KEY, Exchange, Receive, Scope, Send
from twinframe.mcp.guard import AccessGuard, acting_as
from twinframe.mcp.hosts import Header, Hosts, build_cors_headers, build_refusal, find_header
from twinframe.mcp.messages import Outbound, read_body, repeat_body
from twinframe.mcp.relay import OwnerGone, Relay
from twinframe.mcp.sessions import Sessions, TooManyCalls, TooManySessions
from twinframe.mcp.sse import MESSAGES, SseTransport
from twinframe.mcp.streamable import StreamableTransport
from twinframe.runtime.instruments.base import Level
from twinframe.settings import Settings

Transport: TypeAlias = Literal["streamable", "sse", "messages"]

STREAMABLE, SSE = "/mcp", "/sse"
_ROUTES: Final[dict[Transport, str]] = {
    "streamable": STREAMABLE,
    "sse": SSE,
    "messages": f"{MESSAGES}/{{session_id}}",
}
_MAX_BODY = 2 * 1024 * 1024
_MOST_VALUES: Final = 10_000
"""The most elements and members of a message.

PERF: the SDK parses one on the event loop in one step, in 2 ms; 2 MB of empty arrays took 1.1 s.
"""
_OWNER = re.compile(rf"{MESSAGES}/([0-9a-f]{{8}})/?")
_LISTEN = b"subscriptions/listen"


class McpEndpoint:
    """Both HTTP transports of an MCP server, behind its checks of host, origin and caller.

    `binds` are the addresses it is served at; `relay` is the directory of the sockets that connect
    the workers of one service, None for a single worker. Call `start` and `stop` in the process
    that serves, and `begin_drain` when it should end.
    """

    def __init__(
        self,
        server: Server[Any],
        settings: Settings,
        gate: Gate | None,
        *,
        binds: Iterable[str],
        relay: Path | None = None,
        prefix: str | None = None,
    ) -> None:
        """`prefix` is the path in front of all paths here; None uses the public URL's."""
        limit = min(_MAX_BODY, settings.server.max_body_bytes)
        self._limit = limit
        self._hosts = Hosts(settings, binds)
        self._own_guard = AccessGuard(gate, settings)
        self._relay = Relay(relay, limit)
        self._prefix = find_prefix(settings.mcp.resource_server_url) if prefix is None else prefix
        self._sessions = Sessions(settings.mcp.max_sessions, settings.mcp.max_sessions_per_caller)
        self._streamable = StreamableTransport(server, limit)
        self._sse = SseTransport(server, self._relay.worker, self._prefix, limit)
        quiet_sdk()

    async def start(self) -> None:
        """Prepare for requests.

        Raises `ConfigurationError` when the relay's directory is unsafe.
        """
        await self._streamable.start()
        await self._relay.start(self._answer_relayed)

    async def stop(self) -> None:
        """End what is still open."""
        await self._sessions.stop()
        await self._relay.stop()
        await self._streamable.stop()

    def begin_drain(self) -> None:
        """End streams as soon as nothing is pending in them; other requests are finished."""
        self._sessions.begin_drain()

    def read_levels(self) -> Mapping[Level, float]:
        """Return the number of open streams."""
        return {Level.MCP_SESSIONS: self._sessions.count}

    @property
    def _guard(self) -> AccessGuard:
        """The guard that admits callers of the present message."""
        return self._own_guard

    def serves(self, scope: Scope) -> bool:
        """Return whether this request is for the MCP server, and not for the API beside it."""
        return self._find_transport(scope) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request that `serves` has accepted."""
        transport = self._find_transport(scope)
        exchange: Exchange | None = scope.get(SCOPE_KEY)
        if exchange is not None and transport is not None:
            exchange.route = _ROUTES[transport]
        scope["headers"] = trim_headers(scope["headers"])
        outbound = Outbound(send)
        refusal = self._hosts.check(scope)
        if refusal is None:
            outbound.headers = build_cors_headers(scope)
            if scope["method"] == "OPTIONS":
                refusal = self._hosts.build_preflight(scope)
        if refusal is None:
            refusal = await self._answer(transport, scope, receive, outbound)
        if refusal is not None:
            await outbound.answer(refusal)

    # --- which transport ------------------------------------------------------------------------

    def _find_transport(self, scope: Scope) -> Transport | None:
        path = self._strip(scope["path"])
        if path == STREAMABLE:
            return "streamable"
        if path == SSE:
            return "sse"
        if path == MESSAGES or path.startswith(MESSAGES + "/"):
            return "messages"
        return _find_at_root(scope) if path == "/" else None

    def _strip(self, path: str) -> str:
        """Return the path without the public URL's own, which a proxy may have removed already."""
        prefix = self._prefix
        if prefix and (path == prefix or path.startswith(prefix + "/")):
            return path[len(prefix) :] or "/"
        return path

    # --- one request ----------------------------------------------------------------------------

    async def _answer(
        self, transport: Transport | None, scope: Scope, receive: Receive, outbound: Outbound
    ) -> ErrorAnswer | None:
        try:
            caller = await self._guard.identify(scope)
            if transport == "messages":
                return await self._relay_or_take(caller, scope, receive, outbound)
            caller = await self._guard.admit(caller, scope)
            if transport == "sse":
                return await self._open_stream(caller, scope, receive, outbound)
            return await self._answer_streamable(caller, scope, receive, outbound)
        except Unauthenticated:
            return self._guard.build_unauthorized(scope)
        except ScopeMissing:
            return self._guard.build_scope_missing(scope)
        except (PermissionMissing, InputError, HttpError) as error:
            return build_answer(error)
        except TooManySessions as error:
            return build_refusal(503, "TooManySessions", error.text, ("retry-after", "5"))
        except TooManyCalls as error:
            return build_refusal(503, "TooManyCalls", str(error), ("retry-after", "1"))

    async def _answer_streamable(
        self, caller: Caller | None, scope: Scope, receive: Receive, outbound: Outbound
    ) -> ErrorAnswer | None:
        if scope["method"] != "POST":
            # NOTE: the SDK would hold a stream open here that nothing ever writes to.
            return build_method_refusal(scope, "POST")
        receive = await self._take_message(receive)
        with acting_as(caller, scope):
            if find_header(scope, b"mcp-method") != _LISTEN:
                await self._streamable.handle(scope, receive, outbound)
                return None
            rest = self._guard.read_rest(caller)
            with self._sessions.open(_find_principal(caller), rest) as session:
                await self._streamable.handle(scope, session.listen(receive), outbound)
            return await self._end(outbound)

    async def _open_stream(
        self, caller: Caller | None, scope: Scope, receive: Receive, outbound: Outbound
    ) -> ErrorAnswer | None:
        if scope["method"] != "GET":
            return build_method_refusal(scope, "GET")
        rest = self._guard.read_rest(caller)
        with (
            acting_as(caller, scope),
            self._sessions.open(_find_principal(caller), rest) as session,
        ):
            state = self._streamable.state
            await self._sse.connect(scope, session.listen(receive), outbound, session, state)
        return await self._end(outbound)

    async def _end(self, outbound: Outbound) -> ErrorAnswer | None:
        if not outbound.is_started:
            return build_refusal(503, "Ending", "This session has ended.", ("retry-after", "1"))
        await outbound.finish()
        return None

    # --- messages for sessions ------------------------------------------------------------------

    async def _relay_or_take(
        self, caller: Caller | None, scope: Scope, receive: Receive, outbound: Outbound
    ) -> ErrorAnswer | None:
        found = _OWNER.fullmatch(self._strip(scope["path"]))
        owner = found[1] if found else ""
        if owner == self._relay.worker:
            caller = await self._guard.admit(caller, scope)
            if scope["method"] == "POST":
                receive = await self._take_message(receive)
            with acting_as(caller, scope):
                await self._sse.post(scope, receive, outbound)
            return None
        if scope["method"] != "POST":
            return build_method_refusal(scope, "POST")
        body = await self._read_message(receive)
        try:
            answer = await self._relay.forward(owner, scope, body)
        except OwnerGone:
            # SEC: in the SDK's words for a session that is missing, or belongs to another caller.
            return ErrorAnswer(
                404, b"Could not find session", (("content-type", "text/plain; charset=utf-8"),)
            )
        headers = tuple((name, value) for name, value in answer.head["headers"])
        return ErrorAnswer(answer.head["status"], answer.body, headers)

    async def _take_message(self, receive: Receive) -> Receive:
        """Return a `receive` that repeats the message, which is small enough for the SDK to parse.

        Raises `BodyTooLarge`, and `InvalidArgument` for too many values.
        """
        body = await self._read_message(receive)
        await check_count(body, _MOST_VALUES, "of a message to an MCP server")
        return repeat_body(body, receive)

    async def _read_message(self, receive: Receive) -> bytes:
        body = await read_body(receive, self._limit)
        if body is None:
            raise BodyTooLarge(self._limit, "of a message to an MCP server")
        return body

    async def _answer_relayed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message that another worker received. It is checked as if it had come here."""
        found = _OWNER.fullmatch(self._strip(scope["path"]))
        outbound = Outbound(send)
        if found is None or found[1] != self._relay.worker:
            await outbound.answer(build_refusal(404, "NotFound", "It is not for this worker."))
            return
        refusal = await self._answer("messages", scope, receive, outbound)
        if refusal is not None:
            await outbound.answer(refusal)


def find_prefix(url: str) -> str:
    """Return the path in front of all our paths: that of the public URL, without the transport's
    own.
    """
    path = urlsplit(url).path.rstrip("/")
    for own in (STREAMABLE, SSE):
        path = path.removesuffix(own)
    return path.rstrip("/")


def _find_at_root(scope: Scope) -> Transport | None:
    """Return the transport for a request to the bare address.

    Clients are configured with it for either. A GET that accepts events is for SSE, unless it shows
    that it comes from a streamable client.
    """
    match scope["method"]:
        case "POST":
            return "streamable"
        case "OPTIONS":
            asked = find_header(scope, b"access-control-request-method")
            return "streamable" if asked is not None else None
        case "GET":
            if b"text/event-stream" not in (find_header(scope, b"accept") or b""):
                return None
            names = {name for name, _ in scope["headers"]}
            if names.isdisjoint((b"mcp-protocol-version", b"mcp-session-id")):
                return "sse"
            return "streamable"
    return None


def _find_principal(caller: Caller | None) -> object:
    return None if caller is None else (caller.kind, caller.claims.get("iss"), caller.subject)


def build_method_refusal(scope: Scope, allowed: str) -> ErrorAnswer:
    """Build the 405 with the one allowed method."""
    text = f"{scope['method']} is not allowed here. Allowed: {allowed}."
    return build_refusal(405, "MethodNotAllowed", text, ("allow", allowed))


def trim_headers(headers: Iterable[Header]) -> list[Header]:
    """Return the headers, with blanks around the protocol's values removed.

    SPEC: RFC 9110 section 5.5: such blanks are not part of the value. The server's parser leaves
    trailing ones.
    """
    return [
        (name, value.strip(b" \t")) if name.startswith(b"mcp-") else (name, value)
        for name, value in headers
    ]


def quiet_sdk() -> None:
    """Keep the SDK from handling the end of streams, and from logging lines that clients could
    write.

    A message that is no JSON is answered with 400; a traceback in the log would be noise.
    """
    AppStatus.enable_automatic_graceful_drain = False
    logging.getLogger("mcp").setLevel(logging.WARNING)
    logging.getLogger("mcp.server.sse").setLevel(logging.CRITICAL)
