"""Hosted graphs as databases of the Bolt server, by their ids."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import time
from typing import Final

from twinframe.access.gate import RequestInfo
from twinframe.access.permissions import Caller
from twinframe.bolt.graphs import Database, Databases, OwnDatabase, Ran
from twinframe.control.hosting.graphs import HostedGraphEntry, HostedGraphs
from twinframe.control.hosting.journal import Change
from twinframe.errors import GraphNotFound
from twinframe.model.ids import is_resource_id

_QUERY: Final = "Bolt_Query"
_WRITE: Final = "Bolt_Write"


class HostedDatabases(Databases):
    """The service's own graph and all hosted ones."""

    def __init__(self, own: OwnDatabase, graphs: HostedGraphs) -> None:
        self.home = own.home
        self._own = own
        self._graphs = graphs

    def use(
        self, name: str, caller: Caller | None, request_info: RequestInfo
    ) -> AbstractAsyncContextManager[Database]:
        """Return the own graph, or open the other one if the caller may know that it exists."""
        own = self._own
        return (own.use if name == own.home else self._use_hosted)(name, caller, request_info)

    @asynccontextmanager
    async def _use_hosted(
        self, name: str, caller: Caller | None, request_info: RequestInfo
    ) -> AsyncIterator[Database]:
        hosted = self._graphs.find(name) if is_resource_id(name) else None
        if hosted is None:
            raise GraphNotFound
        gate = hosted.gate
        if gate is not None and caller is not None:
            # SEC: a caller without any permission gets the same answer as for a missing graph.
            caller = await gate.enter(caller, lambda: request_info)
            if caller is None:
                raise GraphNotFound
        async with hosted.use() as api:
            yield Database(name, api.graph, gate, caller, lambda ran: _note(hosted, ran))


def _note(hosted: HostedGraphEntry, ran: Ran) -> None:
    operation = _WRITE if ran.writes else _QUERY
    journal = hosted.journal
    journal.note_answer(operation, ran.status, ran.seconds, ran.charge)
    if ran.writes and journal.audits:
        method, _, path = ran.request_info.action.partition(" ")
        caller = ran.caller
        journal.note_change(
            Change(
                time(),
                "" if caller is None else caller.subject,
                "none" if caller is None else caller.kind,
                operation,
                method,
                path,
                ran.status,
                ran.request_info.request_id,
                ran.request_info.client,
            )
        )
