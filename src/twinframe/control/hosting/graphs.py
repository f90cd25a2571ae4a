"""The hosted graphs of one worker: opened on demand, closed when unused or withdrawn.

Everything but opening and closing stores runs on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from twinframe.access.gate import Gate
from twinframe.control.hosting.catalog import (
    Availability,
    Catalog,
    CatalogEntry,
    HostedSettings,
    OpenMark,
    open_kept,
)
from twinframe.control.hosting.journal import GraphJournal, Unwritten
from twinframe.control.hosting.quotas import GraphQuotas, QuotaRunner, SharedCounter
from twinframe.control.hosting.slots import SharedCount
from twinframe.errors import GraphNotFound, QuotaExceeded, StorageBusy, StorageError, TwinframeError
from twinframe.graph import Graph
from twinframe.graph.background.runner import BackgroundService
from twinframe.graph.delivery.deliverer import RouteKind
from twinframe.graph.delivery.endpoints import NO_ENDPOINTS, Endpoints
from twinframe.graph.transfer.locations.locations import build_locations
from twinframe.hooks.installation import Installation, build_triple_support
from twinframe.http.api_context import GraphApiContext
from twinframe.http.errors import HttpError
from twinframe.runtime.instruments.base import Instruments, Level
from twinframe.runtime.memory import MemoryAccount
from twinframe.storage.base import GraphStore
from twinframe.storage.indexes import find_index_upkeep
from twinframe.storage.runner import StoreRunner

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_EXCHANGE_LOOKS: Final = 2
_FLUSH_LOOKS: Final = 10
_REOPEN_LOOKS: Final = 120
_KNOWN_PER_OPEN: Final = 4
_FORCED_SECONDS: Final = 5.0
_PAUSE: Final = 0.02

BuildGate = Callable[[str], Gate | None]
BuildApiContext = Callable[[Graph], GraphApiContext]
BuildHost = Callable[[str], str]


class TooManyConnections(HttpError):
    """The graph has as many requests under way as its owner allows."""

    code = "TooManyRequests"
    status = 429

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"{limit} requests of this graph are under way, which is as many as it may have "
            "(max_concurrent_connections); try again."
        )


@dataclass(slots=True)
class OpenGraph:
    """An open store with its use cases."""

    store: GraphStore
    runner: StoreRunner
    api: GraphApiContext
    load: SharedCount
    quotas: GraphQuotas
    background: BackgroundService
    delivery: RouteKind
    mark: OpenMark

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs except requests, which wait for their own results."""
        return self.runner.is_idle and self.background.is_idle

    @property
    def is_waiting(self) -> bool:
        """Whether nothing runs but deliveries to endpoints that accept none, maybe for a day."""
        return self.runner.is_idle and self.background.running <= self.delivery.list_failing()

    def take(self, settings: HostedSettings) -> None:
        """Apply newer limits. Points have one of their own: as many bytes as the graph may have."""
        self.quotas.take(settings)
        self.api.graph.series.limit_bytes(self.quotas.storage_bytes)

    async def close(self) -> None:
        """Finish accepted work and close the store."""
        await self.background.stop()
        has_work = True  # unless the store reports otherwise
        with suppress(StorageError):
            has_work = await self.background.check_pending()
        await self.runner.close()
        await asyncio.to_thread(self.store.close)
        await asyncio.to_thread(self.mark.close, has_work=has_work)
        self.load.close()
        self.quotas.close()


class HostedGraphEntry:
    """A hosted graph as this worker knows it, open or not."""

    def __init__(self, owner: HostedGraphs, entry: CatalogEntry, gate: Gate | None) -> None:
        self.entry = entry
        self.gate = gate
        directory = owner.catalog.build_directory(entry.resource_id, entry.incarnation)
        self.directory = directory
        self.journal = GraphJournal(directory, entry.settings, owner.catalog)
        self.users = 0
        self.opened: OpenGraph | None = None
        self.opening: asyncio.Task[OpenGraph] | None = None
        self.lock = asyncio.Lock()
        self.uses: set[GraphUse] = set()
        self._owner = owner

    @property
    def is_idle(self) -> bool:
        """Whether neither a request nor background work uses it."""
        return not self.users and (self.opened is None or self.opened.is_idle)

    @property
    def is_dispensable(self) -> bool:
        """Whether it may be closed, after the idle ones: its work makes no progress and can be
        resumed.
        """
        return not self.users and self.opened is not None and self.opened.is_waiting

    def take(self, entry: CatalogEntry) -> None:
        """Continue with newer settings."""
        self.entry = entry
        self.journal.settings = entry.settings
        if self.opened is not None:
            self.opened.take(entry.settings)

    def use(self) -> GraphUse:
        """Return a context that opens the graph and counts it as in use.

        It raises `TooManyConnections`, or `StorageError` if the graph cannot be opened now; also
        inside the context, if it is closed meanwhile.
        """
        return GraphUse(self, self._owner)


class GraphUse(AbstractAsyncContextManager[GraphApiContext]):
    """One request at a graph: counted, and ended when the graph is withdrawn and its grace is over.

    PERF: a class; two generators and a `timeout` for it took 15 us a request.
    """

    __slots__ = ("_cancelling", "_ended", "_hosted", "_opened", "_owner", "_task")

    def __init__(self, hosted: HostedGraphEntry, owner: HostedGraphs) -> None:
        self._hosted = hosted
        self._owner = owner
        self._ended = False
        self._opened: OpenGraph | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0

    async def __aenter__(self) -> GraphApiContext:
        """Open the graph if it is not open, and count this use."""
        hosted = self._hosted
        if hosted.entry.availability is Availability.OFFLINE:
            raise StorageBusy("The data of this graph is being restored; try again.")
        hosted.users += 1
        try:
            opened = hosted.opened or await self._owner.open(hosted)
            _enter(opened, hosted.entry.settings.max_concurrent_connections)
        except BaseException:
            hosted.users -= 1
            raise
        self._opened = opened
        self._task = asyncio.current_task()
        self._cancelling = 0 if self._task is None else self._task.cancelling()
        hosted.uses.add(self)
        return opened.api

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Count it no more."""
        hosted, task = self._hosted, self._task
        hosted.uses.discard(self)
        hosted.users -= 1
        if self._opened is not None:
            self._opened.load.leave()
        # NOTE: as `asyncio.timeout` does: cancelled by `end`, and not by another task.
        if self._ended and task is not None:
            by_us = task.uncancel() <= self._cancelling
            if by_us and kind is asyncio.CancelledError:
                raise StorageBusy("The graph was taken away; try again.") from None

    def end(self) -> None:
        """Cancel the request inside."""
        if self._task is not None and not self._ended:
            self._ended = True
            self._task.cancel()


class HostedGraphs:
    """All published graphs, for one worker."""

    def __init__(
        self,
        installation: Installation,
        catalog: Catalog,
        build_gate: BuildGate,
        build_api_context: BuildApiContext,
        instruments: Instruments | None = None,
        endpoints: Endpoints = NO_ENDPOINTS,
        build_host: BuildHost = str,
        memory: MemoryAccount | None = None,
    ) -> None:
        """`build_host` gives the source of a graph's events.

        `memory` is what the worker may hold for all its graphs.
        """
        self._memory = memory or MemoryAccount()
        self.catalog = catalog
        self._endpoints = endpoints
        self._build_host = build_host
        self._instruments = instruments
        self._installation = installation
        self._procedures = installation.build_procedures()
        self._settings = installation.settings
        self._most = installation.settings.hosting.max_open_graphs
        self._build_gate = build_gate
        self._build_api_context = build_api_context
        self._entries: OrderedDict[str, HostedGraphEntry] = OrderedDict()
        self._open = 0
        self._leaving: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None

    def read_levels(self) -> Mapping[Level, float]:
        """Return how many graphs are open."""
        return {Level.GRAPHS_OPEN: self._open}

    async def start(self) -> None:
        """Start to watch for withdrawn graphs."""
        if self._instruments is not None:
            self._instruments.watch(self)
        await asyncio.to_thread(self.catalog.start)
        await asyncio.to_thread(self.catalog.tidy)
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Close all graphs. No request is running."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for resource_id in list(self._entries):
            self._retire(resource_id)
        if self._leaving:
            await asyncio.wait(self._leaving.copy())
        await asyncio.to_thread(self.catalog.close)

    def end_streams(self) -> None:
        """End all event streams."""
        for hosted in self._entries.values():
            if hosted.opened is not None:
                hosted.opened.api.graph.event_streams.end()

    def find(self, resource_id: str) -> HostedGraphEntry | None:
        """Return the graph as the catalog has it at this moment."""
        entry = self.catalog.find(resource_id)
        hosted = self._entries.get(resource_id)
        if hosted is not None and hosted.entry is entry:
            self._entries.move_to_end(resource_id)
            return hosted
        if hosted is not None:
            if entry is not None and entry.identity == hosted.entry.identity:
                hosted.take(entry)
                return hosted
            self._retire(resource_id)
        if entry is None:
            return None
        hosted = HostedGraphEntry(self, entry, self._build_gate(resource_id))
        self._entries[resource_id] = hosted
        self._forget_unused()
        return hosted

    async def open(self, hosted: HostedGraphEntry) -> OpenGraph:
        """Return the open graph of an entry in use. Concurrent callers share one opening."""
        if hosted.opening is None:
            hosted.opening = asyncio.create_task(self._open_once(hosted))
            hosted.opening.add_done_callback(_look_at)
        # NOTE: shielded: a client that disconnects must not leave an untracked store open.
        return await asyncio.shield(hosted.opening)

    # --- opening and closing --------------------------------------------------------------------

    async def _open_once(self, hosted: HostedGraphEntry) -> OpenGraph:
        try:
            async with hosted.lock:
                if hosted.opened is None:
                    await self._make_room()
                    try:
                        hosted.opened = await self._open_graph(hosted)
                    except BaseException:
                        self._open -= 1
                        raise
                return hosted.opened
        finally:
            hosted.opening = None

    async def _open_graph(self, hosted: HostedGraphEntry) -> OpenGraph:
        opened = await asyncio.to_thread(self._open_store, hosted)
        opened.take(hosted.entry.settings)  # they may have changed meanwhile
        opened.background.start()
        return opened

    def _open_store(self, hosted: HostedGraphEntry) -> OpenGraph:
        """PERF: in a thread, with all that the first request would otherwise open on the loop."""
        settings, directory = self._settings, hosted.directory
        store = self._installation.build_store(hosted.entry.store, hosted.entry.database)
        if not open_kept(self.catalog, hosted.entry, store):
            raise GraphNotFound
        with ExitStack() as undo:
            undo.callback(store.close)
            engine = self._installation.build_query_engine(store)
            try:
                load = SharedCount(directory / "load", settings.server.workers)
                undo.callback(load.close)
                counter = SharedCounter(directory / "operations", settings.server.workers)
                undo.callback(counter.close)
                mark = self.catalog.hold_mark(hosted.entry)
                undo.callback(mark.close, has_work=True)
            except OSError as error:
                raise StorageError(
                    f"The counters in {directory} cannot be had: {error}."
                ) from error
            quotas = GraphQuotas(hosted.entry.settings, counter)
            runner = QuotaRunner(store, settings.storage, quotas, self._instruments)
            store.memory = self._memory
            graph = Graph(
                runner,
                settings,
                engine=engine,
                scratch=store.scratch,
                instruments=self._instruments,
                triples=build_triple_support(self._installation, store, hosted.entry.store),
                host=self._build_host(hosted.entry.resource_id),
                graph_id=hosted.entry.resource_id,
                endpoints=self._endpoints,
                locations=build_locations(settings.jobs, hosted.entry.resource_id),
                memory=self._memory,
                index_upkeep=find_index_upkeep(store),
                points=self._installation.build_point_store(store),
                procedures=self._procedures,
            )
            api = self._build_api_context(graph)
            runner.prepare()
            undo.pop_all()
        background = BackgroundService(runner, graph.background_tasks, settings)
        return OpenGraph(store, runner, api, load, quotas, background, graph.delivery, mark)

    async def _make_room(self) -> None:
        """Take a slot, closing the longest unused graph if there is none left."""
        wait = self._settings.hosting.open_wait
        try:
            async with asyncio.timeout(wait):
                while self._open >= self._most:
                    victim = self._find_victim()
                    if victim is None:
                        await asyncio.sleep(_PAUSE)
                    else:
                        await asyncio.shield(asyncio.ensure_future(self._close(victim)))
        except TimeoutError:
            raise StorageBusy(
                f"{self._most} graphs are in use, which is as many as this worker keeps open "
                "(Hosting__MaxOpenGraphs); try again."
            ) from None
        self._open += 1

    def _find_victim(self) -> HostedGraphEntry | None:
        """Return the longest unused open graph; those waiting for an endpoint come last.

        NOTE: otherwise an endpoint that is down, and offered to all, would keep each graph open
        that has an event for it, until no other could be opened.
        """
        idle = self._list_idle()
        if idle:
            return idle[0]
        return next((one for one in self._entries.values() if one.is_dispensable), None)

    def _list_idle(self) -> list[HostedGraphEntry]:
        return [one for one in self._entries.values() if one.opened and one.is_idle]

    async def _close(self, hosted: HostedGraphEntry, *, by_force: bool = False) -> None:
        """Close the store if no request came meanwhile."""
        async with hosted.lock:
            opened = hosted.opened
            if opened is None or (hosted.users and not by_force):
                return
            hosted.opened = None
            try:
                await asyncio.to_thread(hosted.journal.write, hosted.journal.take())
                await opened.close()
            finally:
                self._open -= 1

    # --- leaving --------------------------------------------------------------------------------

    def _retire(self, resource_id: str) -> None:
        """Stop serving it; running requests may end."""
        hosted = self._entries.pop(resource_id)
        task = asyncio.create_task(self._leave(hosted))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, hosted: HostedGraphEntry) -> None:
        try:
            if not await self._wait_for_end(hosted, self._settings.hosting.drain_seconds):
                for one in list(hosted.uses):
                    one.end()
                if not await self._wait_for_end(hosted, _FORCED_SECONDS):
                    _log.error("Requests of the graph %s do not end.", hosted.entry.resource_id)
            await self._close(hosted, by_force=True)
            await asyncio.to_thread(hosted.journal.close)
            if hosted.gate is not None:
                await hosted.gate.close_provider()
        except TwinframeError:
            _log.exception("The graph %s was not closed well.", hosted.entry.resource_id)

    async def _wait_for_end(self, hosted: HostedGraphEntry, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while hosted.users:
            if loop.time() >= end:
                return False
            await asyncio.sleep(_PAUSE)
        return True

    def _forget_unused(self) -> None:
        """Bound the number of closed graphs that are remembered."""
        surplus = len(self._entries) - self._most * _KNOWN_PER_OPEN
        if surplus > 0:
            newest = next(reversed(self._entries))
            unused = [
                resource_id
                for resource_id, one in self._entries.items()
                if one.opened is None and not one.users and resource_id != newest
            ]
            for resource_id in unused[:surplus]:
                self._retire(resource_id)

    async def _watch(self) -> None:
        looks = 0
        while True:
            if looks % _REOPEN_LOOKS == 0 or self.catalog.has_deaths():
                await self._reopen()
            await asyncio.sleep(_LOOK_SECONDS)
            looks += 1
            for resource_id, hosted in list(self._entries.items()):
                self._look_after(resource_id, hosted)
            if looks % _EXCHANGE_LOOKS == 0:
                await self._exchange_counts()
            if looks % _FLUSH_LOOKS == 0:
                counted = [(one.journal, one.journal.take()) for one in self._entries.values()]
                await asyncio.to_thread(_write, counted)

    async def _exchange_counts(self) -> None:
        """Tell other machines how many operations were counted, and take over theirs."""
        quotas = {
            one.directory.name: one.opened.quotas
            for one in self._entries.values()
            if one.opened is not None
        }
        counts = {name: one.read_counts() for name, one in quotas.items()}
        counts = {name: one for name, one in counts.items() if one}
        if not counts:
            return
        try:
            others = await asyncio.to_thread(self.catalog.exchange_counts, counts)
        except TwinframeError as error:
            _log.warning("Operations of other machines are not counted: %s", error.message)
            return
        for name, found in others.items():
            quotas[name].take_counts(found)

    async def _reopen(self) -> None:
        """Open graphs whose workers died or closed them before their work was done.

        They get the free slots and those of unused graphs; when these are too few, the rest is
        opened the next time.
        """
        try:
            left = await asyncio.to_thread(self.catalog.list_left)
            random.shuffle(left)
            room = self._most - self._open + len(self._list_idle())
            for entry in left:
                hosted = self.find(entry.resource_id)
                if room > 0 and hosted is not None and hosted.opened is None:
                    room -= 1
                    await self.open(hosted)
        except (GraphNotFound, StorageError, OSError) as error:
            _log.warning("Work of a hosted graph was not taken up: %s", error)

    def _look_after(self, resource_id: str, hosted: HostedGraphEntry) -> None:
        """Drop a graph that is no longer served, even without a request for it."""
        try:
            entry = self.catalog.find(resource_id)
        except StorageError as error:
            _log.warning("%s", error.message)
            return
        if hosted is self._entries.get(resource_id) and (
            entry is None or entry.identity != hosted.entry.identity
        ):
            self._retire(resource_id)


def _enter(opened: OpenGraph, limit: int) -> None:
    """Count a request, and spend an operation: in this order, as a refused request costs none."""
    if not opened.load.enter(limit):
        raise TooManyConnections(limit)
    try:
        opened.quotas.spend()
    except QuotaExceeded:
        opened.load.leave()
        raise


def _look_at(task: asyncio.Task[OpenGraph]) -> None:
    if not task.cancelled():
        task.exception()  # the waiters have it; read here in case all of them have gone


def _write(counted: list[tuple[GraphJournal, Unwritten]]) -> None:
    for journal, unwritten in counted:
        journal.write(unwritten)
