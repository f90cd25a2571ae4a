"""Lets a store make and drop the indexes that queries ask for, as background work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.storage.base import GraphSession
from twinframe.storage.indexes import IndexUpkeep

_KEY: Final = "properties"
_SECONDS: Final = 60.0


class IndexKind:
    """The upkeep of indexes as background work. Each worker brings what its own queries did."""

    name = "indexes"

    def __init__(self, context: GraphContext, upkeep: IndexUpkeep) -> None:
        self._context = context
        self._upkeep = upkeep

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """List itself, when the store has something to decide."""
        return (_KEY,) if self._upkeep.is_index_upkeep_due(session) else ()

    async def run(self, key: str, lease: Lease) -> None:
        """Plan beside other queries, then write."""
        del key
        runner = self._context.runner
        for function in await runner.scan(self._upkeep.plan_index_upkeep, _SECONDS):
            await runner.write(ServiceWrite(lease.guard(function)))
