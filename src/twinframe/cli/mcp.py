"""`twinframe mcp`: runs the MCP server alone, under gunicorn, or for one client on stdio."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import ClassVar

import click

from twinframe.cli.console import config_option
from twinframe.cli.serve import Service, run_service
from twinframe.hooks.installation import Installation, load_installation
from twinframe.http.guard import Guard
from twinframe.service.application import build_mcp_app
from twinframe.service.assistants import build_mcp_installation, serve_stdio
from twinframe.service.logs import configure_logging
from twinframe.service.opening import open_graph


@click.command()
@click.option(
    "--stdio",
    is_flag=True,
    help="Serve the process that started this one, on standard input and output.",
)
@config_option
def mcp(config: Path | None, *, stdio: bool) -> None:
    """Serve the graph to AI assistants by the Model Context Protocol.

    It listens at MCP__Bind: streamable HTTP at /mcp, SSE at /sse, both at /. The API can run at the
    same time on the same store. SIGHUP reloads the settings; SIGTERM finishes running requests and
    stops.
    """
    installation = load_installation(config)
    if stdio:
        configure_logging(installation.settings.logging)
        asyncio.run(_serve_stdio(installation))
        return
    installation = build_mcp_installation(installation)
    run_service(McpService(installation, config), installation)


async def _serve_stdio(installation: Installation) -> None:
    async with open_graph(installation) as graph:
        is_over = await serve_stdio(installation, graph)
    if not is_over:
        # NOTE: a signal came. The thread that reads the input waits for a line and cannot be ended
        # otherwise, and all accepted writes are stored.
        os._exit(0)


class McpService(Service):
    """The MCP server as a gunicorn service."""

    section: ClassVar = "MCP"
    name: ClassVar = "twinframe-mcp"

    def read_installation(self) -> Installation:
        """Return the installation with the current settings, at the address of this server."""
        return build_mcp_installation(load_installation(self._config))

    def list_pages(self) -> list[str]:
        """Return none: assistants need no page."""
        return []

    def uses_mcp(self) -> bool:
        """Return True."""
        return True

    def build(self) -> Guard:
        """Build the ASGI application of the installation."""
        return build_mcp_app(self._installation, self._relay, self._buckets)
