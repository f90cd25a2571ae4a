"""Builds the MCP server from the use cases: over HTTP, or for one client on stdio.

Importing this imports the SDK: half a second and 60 MiB, so it is only imported to serve MCP.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from twinframe.access.gate import Audit, Gate
from twinframe.access.rates import CallerRates
from twinframe.graph import Graph
from twinframe.mcp.access import GateAccess, OpenAccess
from twinframe.mcp.app import McpEndpoint
from twinframe.mcp.server import build_server
from twinframe.settings import Settings


def build_mcp(
    graph: Graph,
    settings: Settings,
    gate: Gate | None,
    *,
    binds: Iterable[str],
    audit: Audit | None = None,
    relay: Path | None = None,
    rates: CallerRates | None = None,
) -> McpEndpoint:
    """Build the MCP server over HTTP; see `McpEndpoint` for `binds` and `relay`.

    `gate` None requires no credentials; then `audit` logs what tools do. `rates` None sets no rate
    limits.
    """
    access = OpenAccess(audit) if gate is None else GateAccess(gate)
    server = build_server(graph, settings, access, rates)
    return McpEndpoint(server, settings, gate, binds=binds, relay=relay)


def build_stdio(graph: Graph, settings: Settings, audit: Audit | None) -> Server[Any]:
    """Build the MCP server for the user who started the process, who may do everything."""
    return build_server(graph, settings, OpenAccess(audit))


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the process's standard input and output until the input ends.

    NOTE: meanwhile both are redirected for all other code: accidental prints go to standard error.
    """
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())
