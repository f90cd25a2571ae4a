"""The MCP servers of all hosted graphs of a worker: one endpoint that finds the graph of each
message.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any, Final, cast

from twinframe.access.gate import Audit
from twinframe.access.rates import CallerRates
from twinframe.control.hosting.graphs import HostedGraphEntry
from twinframe.control.hosting.journal import Change, GraphJournal
from twinframe.errors import GraphNotFound, TwinframeError
from twinframe.graph import Graph
from twinframe.http.errors import build_answer
from twinframe.http.exchange import Receive, Scope, Send
from twinframe.http.guard import write_answer
from twinframe.mcp.access import (
    CURRENT_CALLER,
    CURRENT_REQUEST_INFO,
    GateAccess,
    OpenAccess,
    ToolAccess,
)
from twinframe.mcp.app import McpEndpoint
from twinframe.mcp.guard import CARRIED_KEY, GRAPH, METADATA, AccessGuard
from twinframe.mcp.server import build_server
from twinframe.settings import Settings


@dataclass(frozen=True, slots=True)
class _Served:
    """The graph of the present message."""

    graph: Graph
    guard: AccessGuard
    access: ToolAccess
    journal: GraphJournal


_SERVED: Final[ContextVar[_Served]] = ContextVar("mcp_served")


class _CurrentGraph:
    """A proxy for the graph of the present message, with its use cases."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_SERVED.get().graph, name)


class _CurrentAccess:
    """Checks with the gate of the present message's graph, and logs changes in its journal."""

    async def check(self, permission: str, tool: str) -> None:
        """Check with the graph's own gate."""
        await _SERVED.get().access.check(permission, tool)

    async def check_scope(self, scope: str, tool: str) -> None:
        """Check with the graph's own gate."""
        await _SERVED.get().access.check_scope(scope, tool)

    async def holds(self, permission: str) -> bool:
        """Ask the graph's own gate."""
        return await _SERVED.get().access.holds(permission)

    def note_change(self, tool: str, *, done: bool) -> None:
        """Write it to the audit log of the graph, if its owner wants one."""
        journal = _SERVED.get().journal
        if not journal.audits:
            return
        caller, request_info = CURRENT_CALLER.get(), CURRENT_REQUEST_INFO.get()
        change = Change(
            time(),
            "" if caller is None else caller.subject,
            "none" if caller is None else caller.kind,
            tool.split(" ", 2)[1],
            "MCP",
            tool,
            200 if done else 400,
            "" if request_info is None else request_info.request_id,
            "" if request_info is None else request_info.client,
        )
        journal.note_change(change)


class HostedMcpEndpoint(McpEndpoint):
    """Both HTTP transports for each hosted graph, below its own address.

    `find_graph` returns the graph of an id. The graph's gate decides who may use it, as for its
    other operations; `audit` logs what tools do where no credentials are required.
    """

    def __init__(
        self,
        find_graph: Callable[[str], HostedGraphEntry | None],
        settings: Settings,
        *,
        binds: Iterable[str],
        audit: Audit | None = None,
        relay: Path | None = None,
        rates: CallerRates | None = None,
    ) -> None:
        server = build_server(cast("Graph", _CurrentGraph()), settings, _CurrentAccess(), rates)
        super().__init__(server, settings, None, binds=binds, relay=relay, prefix="")
        self._find_graph = find_graph
        self._settings = settings
        self._audit = audit

    @property
    def _guard(self) -> AccessGuard:
        return _SERVED.get().guard

    def find_scope(self, scope: Scope, base: str, path: str, metadata: str) -> Scope | None:
        """Return the scope of a request for the MCP server of a graph; None if it is for something
        else.

        `base` is the address of the graph below the origin, `path` the rest after it, `metadata`
        the URL of the graph's discovery document.
        """
        graph = {CARRIED_KEY: {METADATA: metadata}, "path": path or "/", "root_path": base}
        own = {**scope, **graph}
        return own if self.serves(own) else None

    async def serve(self, resource_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose scope comes from `find_scope`.

        Raises `GraphNotFound`, and `StorageError` and `TooManyConnections` as the use of the graph
        does.
        """
        carried = {**scope[CARRIED_KEY], GRAPH: resource_id}
        async with self._serving(resource_id):
            await self({**scope, CARRIED_KEY: carried}, receive, send)

    async def _answer_relayed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message for a graph that another worker received."""
        try:
            async with self._serving(scope[CARRIED_KEY].get(GRAPH, "")):
                await super()._answer_relayed(scope, receive, send)
        except TwinframeError as error:
            await write_answer(send, build_answer(error))

    @asynccontextmanager
    async def _serving(self, resource_id: str) -> AsyncIterator[None]:
        """Open this graph, for the messages inside."""
        hosted = self._find_graph(resource_id)
        if hosted is None:
            raise GraphNotFound
        gate = hosted.gate
        access = OpenAccess(self._audit) if gate is None else GateAccess(gate)
        guard = AccessGuard(gate, self._settings)
        async with hosted.use() as api:
            token = _SERVED.set(_Served(api.graph, guard, access, hosted.journal))
            try:
                yield
            finally:
                _SERVED.reset(token)
