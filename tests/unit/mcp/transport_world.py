"""A small MCP server behind the real endpoint, and an ASGI client: for tests of the transports."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer

from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated
from twinframe.http.exchange import Message, Scope
from twinframe.mcp.access import (
    CURRENT_CALLER,
    CURRENT_REQUEST_INFO,
    GateAccess,
    OpenAccess,
    ToolAccess,
)
from twinframe.mcp.app import McpEndpoint
from twinframe.settings import Settings
from twinframe_auth_claims.plugin import ClaimsProvider

MODERN = "2026-07-28"
HOST = "127.0.0.1:8082"
ACCEPT = "application/json, text/event-stream"


def caller(subject: str = "ada", **more: Any) -> Caller:
    """A caller who may use MCP, unless told otherwise."""
    made = {
        "claims": {"permissions": ["mcp/*"], "iss": "https://issuer.example/"},
        "scopes": frozenset(("mcp:tools",)),
    }
    return Caller(subject, **(made | more))


class Tokens(Authenticator):
    """Knows bearer tokens by heart."""

    def __init__(self, known: Mapping[str, Caller]) -> None:
        self.known = dict(known)

    async def authenticate(self, headers: Headers) -> Caller:
        sent = [value for name, value in headers if name == b"authorization"]
        if len(sent) != 1:
            raise Unauthenticated(MISSING)
        found = self.known.get(sent[0].decode().removeprefix("Bearer "))
        if found is None:
            raise Unauthenticated("the token is not known")
        return found


@dataclass
class Seen:
    """What the tools and the gate saw."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    audit: list[AuditEntry] = field(default_factory=list)
    reads: int = 0


class Counting(ClaimsProvider):
    """Counts how often permissions are asked for."""

    def __init__(self, seen: Seen) -> None:
        super().__init__("permissions")
        self._seen = seen

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        self._seen.reads += 1
        return await super().read_permissions(caller)


def build_tools(seen: Seen, access: ToolAccess) -> MCPServer:
    """A server with a few tools that show what a transport does."""
    server = MCPServer("fixture", version="1")

    @server.tool()
    async def echo(text: str) -> str:
        return text

    @server.tool()
    async def whoami() -> str:
        who, request_info = CURRENT_CALLER.get(), CURRENT_REQUEST_INFO.get()
        assert request_info is not None
        return f"{who.subject if who else None} {request_info.action}"

    @server.tool()
    async def check(needed: list[str]) -> list[bool]:
        await access.check(needed[0], "tools/call check")
        return [await access.holds(one) for one in needed]

    @server.tool()
    async def wait(context: Context) -> str:
        seen.started.set()
        try:
            await context.report_progress(1, 2, "half")
            await seen.release.wait()
        except asyncio.CancelledError:
            seen.cancelled.set()
            raise
        return "done"

    return server


@dataclass
class World:
    """An endpoint and what it saw."""

    endpoint: McpEndpoint
    seen: Seen
    tokens: Tokens


@asynccontextmanager
async def open_world(
    settings: Settings | None = None,
    known: Mapping[str, Caller] | None = None,
    relay: Path | None = None,
) -> AsyncIterator[World]:
    """An endpoint between its start and stop; `known` None asks nobody for credentials."""
    seen = Seen()
    tokens = Tokens(known or {})
    gate = Gate(tokens, Counting(seen), seen.audit.append) if known else None
    chosen = settings or Settings()
    access = OpenAccess() if gate is None else GateAccess(gate)
    server = build_tools(seen, access)._lowlevel_server
    endpoint = McpEndpoint(server, chosen, gate, binds=[chosen.mcp.bind], relay=relay)
    await endpoint.start()
    try:
        yield World(endpoint, seen, tokens)
    finally:
        await endpoint.stop()


@asynccontextmanager
async def open_worlds(
    folder: Path, known: Mapping[str, Caller] | None = None
) -> AsyncIterator[tuple[World, World]]:
    """Two endpoints that relay to each other, as two workers do."""
    os.chmod(folder, 0o700)  # noqa: PTH101  (no call of pathlib in a coroutine)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(open_world(known=known, relay=folder))
        second = await stack.enter_async_context(open_world(known=known, relay=folder))
        yield first, second


# --- requests -------------------------------------------------------------------------------------


@dataclass
class Answer:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body parsed."""
        return json.loads(self.body)


class Request:
    """One request to an ASGI application, whose answer may never end."""

    def __init__(
        self,
        app: McpEndpoint,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",
    ) -> None:
        path, _, query = target.partition("?")
        fields = {"host": HOST, **headers}
        self._scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.encode(), v.encode()) for k, v in fields.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8082),
        }
        self._app = app
        self._body = body
        self._is_sent = False
        self._left = asyncio.Event()
        self._buffer = b""
        self.events: asyncio.Queue[Message] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None

    def start(self) -> Request:
        """Send it."""
        self.task = asyncio.create_task(self._app(self._scope, self._receive, self.events.put))
        return self

    async def _receive(self) -> Message:
        if not self._is_sent:
            self._is_sent = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def leave(self) -> None:
        """As a client does whose connection broke."""
        self._left.set()
        assert self.task is not None
        await asyncio.wait_for(self.task, 120)

    async def next(self) -> Message:
        """The next event of the answer."""
        return await asyncio.wait_for(self.events.get(), 120)

    async def read_event(self) -> tuple[str, str]:
        """Name and data of the next event of an event stream; ('', '') at its end."""
        while b"\r\n\r\n" not in self._buffer:
            message = await self.next()
            if message["type"] == "http.response.start":
                assert message["status"] == 200, message
                continue
            self._buffer += message.get("body", b"")
            if not message.get("more_body", False):
                return "", ""
        text, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in text.decode().split("\r\n"))
        return lines["event"], lines["data"]

    async def read_message(self) -> Any:
        """The next JSON-RPC message of an event stream."""
        name, data = await self.read_event()
        assert name == "message", name
        return json.loads(data)

    async def read_answer(self) -> Answer:
        """The whole answer."""
        assert self.task is not None
        await asyncio.wait_for(self.task, 120)
        start, body = await self.next(), b""
        while not self.events.empty():
            body += self.events.get_nowait().get("body", b"")
        headers = {k.decode(): v.decode() for k, v in start["headers"]}
        return Answer(start["status"], headers, body)


async def call(
    app: McpEndpoint,
    method: str,
    target: str,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answer:
    """Send a request and read the whole answer."""
    return await Request(app, method, target, headers or {}, body).start().read_answer()


def build_call(name: str, arguments: Mapping[str, Any] | None = None, number: int = 1) -> Any:
    """A `tools/call` of the era with per-request metadata."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": dict(arguments or {}), "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def build_headers(token: str | None = None, name: str = "echo", **more: str) -> dict[str, str]:
    """The headers of a `tools/call` by streamable HTTP."""
    headers = {
        "content-type": "application/json",
        "accept": ACCEPT,
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return headers | {key.replace("_", "-"): value for key, value in more.items()}


async def call_tool(
    app: McpEndpoint,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    token: str | None = None,
    target: str = "/mcp",
    **headers: str,
) -> Answer:
    """Call a tool by streamable HTTP."""
    body = json.dumps(build_call(name, arguments)).encode()
    return await call(app, "POST", target, build_headers(token, name, **headers), body)


def read_text(message: Any) -> str:
    """The text of a tool's result."""
    return str(message["result"]["content"][0]["text"])


class Client:
    """A client of the SSE transport: its stream, and the address it was given for messages."""

    def __init__(self, stream: Request, address: str, headers: Mapping[str, str]) -> None:
        self.stream = stream
        self.address = address
        self._headers = {"content-type": "application/json", **headers}

    @classmethod
    async def open(cls, app: McpEndpoint, token: str | None = None, path: str = "/sse") -> Client:
        """Open a session."""
        headers = {"accept": "text/event-stream"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        stream = Request(app, "GET", path, headers).start()
        name, address = await stream.read_event()
        assert name == "endpoint"
        return cls(stream, address, headers)

    async def post(self, app: McpEndpoint, message: Any, token: str | None = None) -> Answer:
        """Post a message to whichever worker `app` is."""
        headers = self._headers
        if token is not None:
            headers = headers | {"authorization": f"Bearer {token}"}
        return await call(app, "POST", self.address, headers, json.dumps(message).encode())


def in_an_hour() -> float:
    """A moment as tokens state it."""
    return time.time() + 3600


def names_of(entries: Sequence[AuditEntry]) -> list[tuple[bool, str, str]]:
    """Allowed, subject and what was needed, of each entry."""
    return [(entry.allowed, entry.subject, entry.needed) for entry in entries]
