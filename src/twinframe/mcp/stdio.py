"""The stdio transport: one client, which started this process and needs no credentials."""

from __future__ import annotations

from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the process's standard input and output until the input ends.

    NOTE: meanwhile both are redirected for all other code: accidental prints go to standard error.
    """
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())
