"""Derived properties as background work of a graph."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.derivations.computing import Computing
from twinframe.graph.derivations.keeper import Keeper
from twinframe.graph.derivations.progress import read_all_progress
from twinframe.graph.documents.derivations import read_derivations
from twinframe.runtime.instruments.base import Level
from twinframe.storage.base import GraphSession

_KEY: Final = "values"


class DerivationKind:
    """Derived properties as background work: one worker at a time keeps all of a graph.

    `idle_seconds` is how long it stays when there is nothing to do; None is for ever.
    """

    name = "derivations"

    def __init__(
        self, context: GraphContext, computing: Computing, *, idle_seconds: float | None = None
    ) -> None:
        self._context = context
        self._computing = computing
        self.idle_seconds = idle_seconds
        self._keeper: Keeper | None = None

    def read_levels(self) -> Mapping[Level, float]:
        """Return how many twins wait for values, since when, and how many derivations are halted;
        of the worker that keeps them.
        """
        keeper = self._keeper
        kept = [] if keeper is None else keeper.kept
        since = min((one.since for one in kept if one.dirty), default=None)
        waited = 0.0 if since is None else asyncio.get_running_loop().time() - since
        return {
            Level.DERIVED_WAITING: sum(len(one.dirty) + one.missing for one in kept),
            Level.DERIVED_BEHIND: max(waited, 0.0),
            Level.DERIVED_ERRORS: sum(one.progress.errors for one in kept),
            Level.DERIVATIONS_HALTED: 0 if keeper is None else len(keeper.halted),
        }

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """List itself, when there is a derivation; where it does not stay, when it is behind."""
        if self.idle_seconds is None:
            return (_KEY,) if read_derivations(session, limit=1) else ()
        _, last = session.read_event_bounds()
        found = read_all_progress(session)
        return (_KEY,) if any(one.is_behind(last) for one in found) else ()

    async def run(self, key: str, lease: Lease) -> None:
        """Keep all values true until there are no derivations, or there is nothing to do."""
        del key
        try:
            while True:
                self._keeper = Keeper(self._context, self._computing, lease, self.idle_seconds)
                if not await self._keeper.follow():
                    return
        finally:
            self._keeper = None
