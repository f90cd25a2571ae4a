"""The context shared by the use cases of one graph: store, settings, models, clock; writes go
through it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from twinframe.graph.context.model_cache import ModelCache, PinnedModels
from twinframe.graph.context.own import OwnWork
from twinframe.graph.context.paging import Listing, PageSizes
from twinframe.graph.context.ports import StoreRunner
from twinframe.graph.context.signal import WriteSignal
from twinframe.graph.context.stamps import Stamps
from twinframe.graph.context.tokens import TokenSigner
from twinframe.graph.events.recorder import Happenings
from twinframe.model.clock import Clock, read_clock
from twinframe.model.values import JsonValue
from twinframe.runtime.instruments.base import CURRENT_TRACE
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import Settings
from twinframe.storage.base import GraphTransaction, Work

T = TypeVar("T")


@dataclass(slots=True)
class GraphContext:
    """One graph as a worker serves it; without `happenings` no events are kept of its writes.

    `clock` is for lifetimes, `stamps` gives the recorded times of writes. `memory` is what the
    worker may hold for all its graphs together.
    """

    runner: StoreRunner
    settings: Settings
    clock: Clock = read_clock
    models: ModelCache = field(default_factory=ModelCache)
    happenings: Happenings | None = None
    signal: WriteSignal = field(default_factory=WriteSignal)
    memory: MemoryAccount = field(default_factory=MemoryAccount)
    stamps: Stamps = field(default_factory=partial(Stamps, read_clock))
    _signer: TokenSigner | None = None

    async def write(self, work: Work[T]) -> T:
        """Run a write function, which may ask `stamps` for its time; returns when it is
        committed.
        """
        stamps = self.stamps
        mark = 0

        def marked(transaction: GraphTransaction) -> T:
            nonlocal mark
            stamps.begin(transaction)
            result = work(transaction)
            mark = stamps.end(transaction)
            return result

        is_own = isinstance(work, OwnWork)
        result = await self.runner.write(OwnWork(marked) if is_own else marked)
        stamps.confirm(mark)
        return result

    def pin_models(self, transaction: GraphTransaction) -> GraphContext:
        """Return a context for several commands of one transaction, as long as it changes no
        model.
        """
        return replace(self, models=PinnedModels(self.models.open(transaction)))

    def join_trace(self) -> GraphContext:
        """Return a context for the present request: its events carry its trace."""
        trace = CURRENT_TRACE.get()
        if not trace or self.happenings is None:
            return self
        return replace(self, happenings=self.happenings.join_trace(trace))

    async def read_signer(self) -> TokenSigner:
        """Return the signer of continuation tokens; its secret is the setting's or the graph's
        own.
        """
        if self._signer is None:
            key = self.settings.secrets.token_key.get_secret_value()
            instance = await self.runner.read(lambda session: session.read_instance())
            self._signer = TokenSigner(
                # The instance is included so that graphs under one key do not accept each other's
                # tokens.
                f"{instance.id}:{key}".encode() if key else instance.secret,
                self.settings.graph.token_lifetime,
                self.clock,
            )
        return self._signer

    async def open_listing(self, operation: str, *arguments: JsonValue) -> Listing:
        """Open a listing of the data plane; its tokens are bound to the operation and its
        arguments.
        """
        graph = self.settings.graph
        sizes = PageSizes(graph.page_size, graph.max_page_size, graph.max_page_bytes)
        return Listing(await self.read_signer(), sizes, operation, list(arguments))
