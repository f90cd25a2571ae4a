"""The floor of the MCP figures: the SDK's own application with an echo tool, under our server."""

from __future__ import annotations

import os

from mcp.server.mcpserver import MCPServer

from twinframe.settings import ServerSettings

_server = MCPServer("bare", version="1")


@_server.tool()
async def echo(text: str) -> str:
    """The text."""
    return text


class Bare:
    """The application as our worker class wants it: callable, limits, drain."""

    server = ServerSettings.model_validate({"bind": os.environ.get("BARE_BIND", "127.0.0.1:0")})

    def __init__(self) -> None:
        self._app = _server.streamable_http_app(stateless_http=True)

    async def __call__(self, scope: object, receive: object, send: object) -> None:
        await self._app(scope, receive, send)  # type: ignore[arg-type]

    def begin_drain(self) -> None:
        """Nothing to do."""


app = Bare()
