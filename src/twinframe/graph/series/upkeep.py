"""Keeps the points of a graph small and readable, as background work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from twinframe.graph.background.leases import Lease
from twinframe.graph.series.runner import PointRunner
from twinframe.storage.base import GraphSession

_KEY: Final = "upkeep"


class PointKind:
    """The upkeep of points as background work.

    Two workers at once would do no harm, but the same work twice; each knows what was written by
    itself, and looks for the rest at times.
    """

    name = "points"

    def __init__(self, runner: PointRunner) -> None:
        self._runner = runner

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """List itself, when there may be something to do."""
        del session
        return (_KEY,) if self._runner.is_upkeep_due() else ()

    async def run(self, key: str, lease: Lease) -> None:
        """Do all that there is to do, in short parts."""
        del key, lease
        while await self._runner.keep_up():
            pass
