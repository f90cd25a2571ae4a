"""The surroundings of hosted graphs' responders, and the stand-in used before a request's graph is
known.

SEC: all of it is the same for each graph, so it shows nothing about any of them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, NoReturn, cast

import orjson

import twinframe
from twinframe.errors import GraphNotFound
from twinframe.graph import Graph
from twinframe.http.access import list_permissions
from twinframe.http.api_context import GraphApiContext
from twinframe.http.bodies import Bodies
from twinframe.http.discovery import MCP_PATHS, Discovery, Resource
from twinframe.http.explorer import Explorer
from twinframe.http.links import Links
from twinframe.http.openapi import build_document
from twinframe.http.operations import Route
from twinframe.model.json import JsonLimits
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import Settings

HOSTED: Final = "graphs"
"""The first path segment of hosted graphs' addresses."""

_BASE: Final = "/~base~"


class HostedDiscovery(Discovery):
    """Discovery documents for every address that a hosted graph may have.

    SEC: the answer is the same whether the graph exists or not, so it reveals no graph.
    """

    def __init__(self, settings: Settings, links: Links) -> None:
        extra = tuple(map(Resource, MCP_PATHS)) if settings.mcp.enabled else ()
        super().__init__(settings, links, extra)
        base = settings.server.base_path
        graphs = dict.fromkeys((f"/{HOSTED}/{{graph}}", f"{base}/{HOSTED}/{{graph}}"))
        servers = ("", *(MCP_PATHS if settings.mcp.enabled else ()))
        self._templates = tuple(graph + server for graph in graphs for server in servers)
        prefix = f"(?:{re.escape(base)})?" if base else ""
        ends = "|".join(map(re.escape, servers))
        self._form = re.compile(f"{prefix}/{HOSTED}/[^/]+(?:{ends})", re.IGNORECASE)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths below the host names of graphs, and those below the service's own."""
        return (*super().paths, *self._templates)

    def find(self, path: str) -> Resource | None:
        """Return the resource at a path, which need not exist."""
        return Resource(path) if self._form.fullmatch(path) else super().find(path)


class HostedExplorer(Explorer):
    """An explorer that builds its document once for all graphs."""

    def __init__(self, build: Callable[[str], dict[str, Any]]) -> None:
        super().__init__(build)
        self._template: bytes | None = None

    def render_document(self, base: str) -> bytes:
        """Return the document with the address of one graph."""
        if self._template is None:
            self._template = orjson.dumps(self._build(_BASE))
        return self._template.replace(orjson.dumps(_BASE), orjson.dumps(base or "/"))


class NoGraph:
    """Stand-in for the graph of a request that is answered without one."""

    def __getattr__(self, _name: str) -> NoReturn:
        raise GraphNotFound


def build_hosted_api_context(
    settings: Settings,
    routes: Sequence[Route],
    is_ready: Callable[[], Awaitable[bool]],
    bodies: Bodies | None = None,
) -> GraphApiContext:
    """Return the context of the responders of all hosted graphs, without a graph."""
    links = Links(settings, settings.mcp.resource_server_url)
    document = partial(_describe, routes, settings)
    return GraphApiContext(
        graph=cast("Graph", NoGraph()),
        bodies=bodies or Bodies(settings, MemoryAccount()),
        json_limits=JsonLimits(settings.json_.max_depth, settings.json_.max_keys),
        links=links,
        explorer=HostedExplorer(document),
        discovery=HostedDiscovery(settings, links),
        is_ready=is_ready,
        permissions=list_permissions(routes),
    )


def _describe(routes: Sequence[Route], settings: Settings, base: str) -> dict[str, Any]:
    return build_document(
        routes, version=twinframe.__version__, base=base, access=settings.authentication
    )
