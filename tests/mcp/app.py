"""The official suite's fixtures behind the transports and the guard of the service, for gunicorn.

The suite has no way to log in: a shim in front adds the credentials that the guard asks for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp_types import EmptyResult, SetLevelRequestParams, SubscribeRequestParams

from tests.mcp.contents import (
    add_contents,
    add_notifications,
    add_prompts,
    add_resources,
    add_schemas,
)
from tests.mcp.inputs import add_inputs, add_requests_to_clients, add_rounds
from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.gate import Gate
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated
from twinframe.http.exchange import Receive, Scope, Send
from twinframe.http.guard import Guard
from twinframe.mcp.app import McpEndpoint
from twinframe.settings import McpSettings, ServerSettings, Settings
from twinframe_auth_claims.plugin import ClaimsProvider

TOKEN = b"Bearer fixture"
CALLER = Caller("suite", {"permissions": ["mcp/*"]}, scopes=frozenset(("mcp:tools",)))
CACHED: tuple[CacheableMethod, ...] = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)


class OneToken(Authenticator):
    """Knows one token."""

    async def authenticate(self, headers: Headers) -> Caller:
        if [value for name, value in headers if name == b"authorization"] != [TOKEN]:
            raise Unauthenticated(MISSING)
        return CALLER


class Application:
    """What is served: the shim, the endpoint, and the lifespan."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await self._endpoint.start()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._endpoint.stop()
            await send({"type": "lifespan.shutdown.complete"})
            return
        if self._endpoint.serves(scope):
            scope["headers"] = [*scope["headers"], (b"authorization", TOKEN)]
            await self._endpoint(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def build_fixture() -> MCPServer:
    """The server that the suite talks to."""
    server = MCPServer(
        "fixture",
        version="1",
        # NOTE: a key of its own in each worker would refuse what another worker has sealed.
        request_state_security=RequestStateSecurity(keys=[b"0" * 32]),
        cache_hints={method: CacheHint(60_000, "private") for method in CACHED},
    )
    for add in (
        add_contents,
        add_notifications,
        add_schemas,
        add_resources,
        add_prompts,
        add_inputs,
        add_rounds,
        add_requests_to_clients,
    ):
        add(server)
    low = server._lowlevel_server

    async def accept(_context: Any, _params: Any) -> EmptyResult:
        return EmptyResult()

    low.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    low.add_request_handler("resources/unsubscribe", SubscribeRequestParams, accept)
    return server


def build_app() -> Guard:
    """The application of one worker; its surroundings give the address and the relay's place."""
    bind = os.environ["FIXTURE_BIND"]
    settings = Settings(mcp=McpSettings(bind=bind), server=ServerSettings(bind=bind))
    gate = Gate(OneToken(), ClaimsProvider("permissions"), lambda _entry: None)
    endpoint = McpEndpoint(
        build_fixture()._lowlevel_server,
        settings,
        gate,
        binds=[bind],
        relay=Path(os.environ["FIXTURE_RELAY"]),
    )
    guard = Guard(Application(endpoint), settings.server)
    guard.on_drain(endpoint.begin_drain)
    return guard


app = build_app()
