"""The context shared by the use cases of one graph: store, settings, models, clock; writes go
through it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from twinframe.graph.context.model_cache import ModelCache, PinnedModels
from twinframe.graph.context.paging import Listing, PageSizes
from twinframe.graph.context.ports import GraphRunner
from twinframe.graph.context.service_writes import ServiceWrite
from twinframe.graph.context.signal import WriteSignal
from twinframe.graph.context.tokens import TokenSigner
from twinframe.graph.context.write_clock import WriteClock
from twinframe.graph.events.recorder import EventRecorder
from twinframe.model.clock import Clock, read_clock
from twinframe.model.values import JsonValue
from twinframe.runtime.instruments.base import CURRENT_TRACE
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import Settings
from twinframe.storage.base import GraphTransaction, WriteFunction

T = TypeVar("T")


@dataclass(slots=True)
class GraphContext:
    """One graph as a worker serves it; without `recorder` no events are kept of its writes.

    `clock` is for lifetimes, `write_clock` gives the recorded times of writes. `memory` is what the
    worker may hold for all its graphs together.
    """

    runner: GraphRunner
    settings: Settings
    clock: Clock = read_clock
    models: ModelCache = field(default_factory=ModelCache)
    recorder: EventRecorder | None = None
    signal: WriteSignal = field(default_factory=WriteSignal)
    memory: MemoryAccount = field(default_factory=MemoryAccount)
    write_clock: WriteClock = field(default_factory=partial(WriteClock, read_clock))
    _signer: TokenSigner | None = None

    async def write(self, function: WriteFunction[T]) -> T:
        """Run a write function, which may ask `write_clock` for its time; returns when it is
        committed.
        """
        write_clock = self.write_clock
        mark = 0

        def marked(transaction: GraphTransaction) -> T:
            nonlocal mark
            write_clock.begin(transaction)
            result = function(transaction)
            mark = write_clock.end(transaction)
            return result

        is_own = isinstance(function, ServiceWrite)
        result = await self.runner.write(ServiceWrite(marked) if is_own else marked)
        write_clock.confirm(mark)
        return result

    def pin_models(self, transaction: GraphTransaction) -> GraphContext:
        """Return a context for several commands of one transaction, as long as it changes no
        model.
        """
        return replace(self, models=PinnedModels(self.models.open(transaction)))

    def join_trace(self) -> GraphContext:
        """Return a context for the present request: its events carry its trace."""
        trace = CURRENT_TRACE.get()
        if not trace or self.recorder is None:
            return self
        return replace(self, recorder=self.recorder.join_trace(trace))

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
