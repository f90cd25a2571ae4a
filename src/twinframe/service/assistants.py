"""Builds the MCP server of an installation: beside the API, alone, or on stdio.

The MCP modules are imported only when they are used.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates
from twinframe.graph import Graph
from twinframe.hooks.installation import Installation
from twinframe.http.discovery import MCP_PATHS, Resource
from twinframe.http.line_log import AuditLog
from twinframe.service.features import load_part
from twinframe.settings import Settings

if TYPE_CHECKING:
    from twinframe.control.hosting.assistants import HostedMcpEndpoint
    from twinframe.control.hosting.service import HostingService
    from twinframe.mcp.app import McpEndpoint


class McpService:
    """An MCP server over HTTP as a lifespan service, with its audit log."""

    def __init__(self, endpoint: McpEndpoint, log: AuditLog | None) -> None:
        self.endpoint = endpoint
        self._log = log

    async def start(self) -> None:
        """Start the log, then the transports."""
        if self._log is not None:
            self._log.start()
        await self.endpoint.start()

    async def stop(self) -> None:
        """End the transports, then write the rest of the log."""
        await self.endpoint.stop()
        if self._log is not None:
            self._log.stop()


def build_service(
    graph: Graph,
    settings: Settings,
    gate: Gate | None,
    bind: str,
    relay: Path | None,
    rates: CallerRates | None = None,
) -> McpService:
    """Build the MCP server over these use cases, served at `bind`.

    A gate has the audit log itself; without one, callers are anonymous, but changes are logged all
    the same.
    """
    log = build_log(settings) if gate is None else None
    endpoint: McpEndpoint = load_part("twinframe.mcp.build").build_mcp(
        graph,
        settings,
        gate,
        binds=[bind],
        audit=None if log is None else log.add,
        relay=relay,
        rates=rates,
    )
    return McpService(endpoint, log)


def build_hosted_service(
    hosting: HostingService,
    settings: Settings,
    bind: str,
    relay: Path | None,
    rates: CallerRates | None = None,
) -> McpService:
    """Build the MCP servers of all hosted graphs, each below the graph's address."""
    log = None if settings.authentication.asks else build_log(settings)
    endpoint: HostedMcpEndpoint = load_part(
        "twinframe.control.hosting.assistants"
    ).HostedMcpEndpoint(
        hosting.graphs.find,
        settings,
        binds=[bind],
        audit=None if log is None else log.add,
        relay=relay,
        rates=rates,
    )
    hosting.endpoint.attach(endpoint)
    return McpService(endpoint, log)


def build_mcp_installation(installation: Installation) -> Installation:
    """Build the installation for `twinframe mcp`: at its own address, without the API's URL."""
    configuration = installation.configuration
    server = configuration.settings.server.model_copy(
        update={"bind": configuration.settings.mcp.bind, "public_url": ""}
    )
    settings = configuration.settings.model_copy(update={"server": server})
    return replace(installation, configuration=replace(configuration, settings=settings))


def list_resources(settings: Settings, *, alone: bool) -> tuple[Resource, ...]:
    """List the discovery documents of the MCP server: one for each URL a client may be given.

    With `alone` the origin is the MCP server's too, and not the API's.
    """
    url, name = settings.mcp.resource_server_url, settings.mcp.server_name
    if not url:
        paths = ("", *MCP_PATHS) if alone else MCP_PATHS
        return tuple(Resource(path, name=name) for path in paths)
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    prefix = next((path.removesuffix(own) for own in MCP_PATHS if path.endswith(own)), path)
    origin = f"{parts.scheme}://{parts.netloc}"
    found = [Resource(prefix + own, origin + prefix + own, name) for own in MCP_PATHS]
    if alone:
        found.append(Resource("", url, name))
    return (*found, Resource(path, url, name))


async def serve_stdio(installation: Installation, graph: Graph) -> bool:
    """Serve one client on standard input and output until the input ends, or a signal comes.

    Returns whether it is over: after a signal a thread still waits for input.
    """
    log = build_log(installation.settings)
    if log is not None:
        log.start()
    server = load_part("twinframe.mcp.build").build_stdio(
        graph, installation.settings, None if log is None else log.add
    )
    serving = asyncio.create_task(load_part("twinframe.mcp.build").serve_stdio(server))
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    waiting = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if log is not None:
            log.stop()
    if serving.done():
        serving.result()
    return serving.done()


def build_log(settings: Settings) -> AuditLog | None:
    """Build the audit log on standard error, if it is enabled."""
    return AuditLog(sys.stderr.buffer) if settings.logging.audit else None
