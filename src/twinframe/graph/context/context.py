"""The context shared by the use cases of one graph: store, settings, models, clock, writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from twinframe.graph.context.model_cache import ModelCache, PinnedModels
from twinframe.graph.context.paging import Listing, PageSizes, TokenSigner
from twinframe.graph.context.write_clock import WriteClock
from twinframe.graph.events.recorder import EventRecorder
from twinframe.model.clock import Clock, read_clock
from twinframe.model.values import JsonValue
from twinframe.runtime.instruments.base import CURRENT_SUBJECT, CURRENT_TRACE
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import Settings
from twinframe.storage.base import GraphSession, GraphTransaction, WriteFunction

T = TypeVar("T")


class GraphRunner(Protocol):
    """Runs reads and writes on one store; each call raises the errors of the function."""

    async def read(self, function: Callable[[GraphSession], T]) -> T:
        """Run point reads."""

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> T | None:
        """Run at once, in one snapshot, a read that ends within this many engine steps.

        None: it did not end; a `scan` of the same gives the result or the error.
        """

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Run one write function; return when its change is as durable as the store promises.

        With `alone` it is committed by itself: it may wait, and others need not wait with it.
        """

    async def hold(
        self,
        read: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
    ) -> T:
        """Like `scan`, for a function that mostly waits, and reads one snapshot meanwhile."""

    async def refresh_statistics(self) -> None:
        """Let the store find out how much there is, after much was written."""

    async def scan(
        self,
        function: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
    ) -> T:
        """Run reads that may take long, in one snapshot that ends after `timeout` seconds."""

    async def scan_early(
        self,
        function: Callable[[GraphSession, Callable[[T], None]], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
        *,
        quick: bool = False,
    ) -> T:
        """Like `scan`, for a function that may give its answer before its work is done.

        The answer is what the function passes to its second argument; the function continues in the
        background, and handles later errors itself. `quick` says that it was short lately.
        """

    def listen(self, wake: Callable[[], None]) -> bool:
        """Let `wake` be called on the event loop soon after writes of other processes.

        Return whether it is now; see `storage.notices`.
        """

    def on_close(self, end: Callable[[], None]) -> None:
        """Let the runner call `end` when its reads and writes have ended, while the store is open.

        It may wait.
        """


@dataclass(frozen=True, slots=True)
class ServiceWrite(Generic[T]):
    """A write function that no quota refuses: leases, the state and the end of jobs.

    The failure of an import must be recorded even in a full graph, and a full graph can be emptied.
    """

    function: WriteFunction[T]

    def __call__(self, transaction: GraphTransaction) -> T:
        """Run it."""
        return self.function(transaction)


class WriteSignal:
    """Wakes all waiters at each write of this worker, and of others that the store tells of.

    Use it on one event loop. `count` rises with each of them.
    """

    def __init__(self) -> None:
        self.count = 0
        self._waiting: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Signal that a write can be read. PERF: 50 ns without waiters."""
        self.count += 1
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    async def wait(self, since: int, seconds: float) -> bool:
        """Wait until the count is no longer `since`, at most `seconds`; return whether it is so.

        A caller that takes the count before it looks misses no write.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.count == since:
                    if self._waiting is None or self._waiting.done():
                        self._waiting = asyncio.get_running_loop().create_future()
                    await asyncio.shield(self._waiting)
        return self.count != since


@dataclass(slots=True)
class GraphContext:
    """One graph as a worker serves it; the `recorder` of its changes sends no events by default.

    `clock` is for lifetimes, `write_clock` gives the recorded times of writes. `memory` is what the
    worker may hold for all its graphs together.
    """

    runner: GraphRunner
    settings: Settings
    clock: Clock = read_clock
    models: ModelCache = field(default_factory=ModelCache)
    recorder: EventRecorder = field(
        default_factory=partial(EventRecorder, "", read_clock, silent=True)
    )
    signal: WriteSignal = field(default_factory=WriteSignal)
    memory: MemoryAccount = field(default_factory=MemoryAccount)
    write_clock: WriteClock = field(default_factory=partial(WriteClock, read_clock))
    _signer: TokenSigner | None = None

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Run a write function, which may ask `write_clock` for its time, and commit it."""
        write_clock = self.write_clock
        mark = 0

        def marked(transaction: GraphTransaction) -> T:
            nonlocal mark
            write_clock.begin(transaction)
            try:
                result = function(transaction)
            except BaseException:
                write_clock.abandon()
                raise
            mark = write_clock.end(transaction)
            return result

        is_own = isinstance(function, ServiceWrite)
        result = await self.runner.write(ServiceWrite(marked) if is_own else marked, alone=alone)
        write_clock.confirm(mark)
        return result

    async def wait(self, since: int, seconds: float, heard: float = 0.0) -> bool:
        """Wait as `signal` does, for writes of other processes too where the store tells of them.

        Then it waits for `heard` seconds, if these are more: looking often finds nothing sooner.
        """
        hears = self.runner.listen(self.signal.set)
        return await self.signal.wait(since, max(seconds, heard) if hears else seconds)

    def pin_models(self, transaction: GraphTransaction) -> GraphContext:
        """Return a context for several commands of one transaction that changes no model."""
        return replace(self, models=PinnedModels(self.models.open(transaction)))

    def read_who(self) -> str:
        """Return who makes the changes of the present request; empty where that is not kept."""
        return CURRENT_SUBJECT.get() if self.settings.history.who else ""

    def attribute(self, who: str) -> GraphContext:
        """Return a context whose changes say that this caller made them."""
        return replace(self, recorder=self.recorder.join("", who)) if who else self

    def join_request(self) -> GraphContext:
        """Return a context for the present request: its changes carry its trace and its caller."""
        trace, who = CURRENT_TRACE.get(), self.read_who()
        if not trace and not who:
            return self
        return replace(self, recorder=self.recorder.join(trace, who))

    @property
    def signer(self) -> TokenSigner | None:
        """The signer of tokens, once it was read."""
        return self._signer

    async def read_signer(self) -> TokenSigner:
        """Return the signer of tokens; its secret is the setting's or the graph's own."""
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
        """Open a listing; its tokens are bound to the operation and its arguments."""
        graph = self.settings.graph
        sizes = PageSizes(graph.page_size, graph.max_page_size, graph.max_page_bytes)
        return Listing(await self.read_signer(), sizes, operation, list(arguments))
