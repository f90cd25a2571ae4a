"""Builds and opens the use cases of one graph, with or without the service around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from twinframe.errors import StorageError
from twinframe.graph import Graph
from twinframe.graph.background.runner import BackgroundService
from twinframe.graph.delivery.endpoints import NO_ENDPOINTS, Endpoints
from twinframe.graph.graph import BuildIngestion
from twinframe.hooks.installation import Installation, build_triple_support
from twinframe.runtime.instruments.base import Instruments
from twinframe.runtime.memory import MemoryAccount
from twinframe.service.job_process import JobProcess
from twinframe.service.memory import build_account
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.indexes import find_index_upkeep
from twinframe.storage.points import PointStore
from twinframe.storage.runner import StoreRunner


def build_graph(
    installation: Installation,
    service: StoreService,
    instruments: Instruments | None = None,
    endpoints: Endpoints = NO_ENDPOINTS,
    graph: str = "",
    memory: MemoryAccount | None = None,
    jobs: JobProcess | None = None,
    ingest: BuildIngestion | None = None,
    points: PointStore | None = None,
) -> Graph:
    """Build the use cases over a store, with the query engine that its plugin offers for it.

    `graph` is the name of the stored graph; empty is the service's own. `memory` is the account of
    this process; None makes one with all the memory of the service. `jobs` runs long jobs,
    `ingest` makes the task that takes in messages. `points` are those of the graph; None: those
    that the settings keep.
    """
    memory = memory or build_account(installation.settings, workers=1)
    service.store.memory = memory
    engine = installation.build_query_engine(service.store)
    scratch = service.store.scratch
    return Graph(
        service.runner,
        installation.settings,
        engine=engine,
        scratch=scratch,
        instruments=instruments,
        triples=build_triple_support(installation, service.store, graph),
        endpoints=endpoints,
        memory=memory,
        index_upkeep=find_index_upkeep(service.store),
        run_apart=None if jobs is None else jobs.run,
        points=points or installation.build_point_store(service.store),
        ingest=ingest,
        procedures=installation.build_procedures(),
    )


@asynccontextmanager
async def open_graph(
    installation: Installation,
    store: str = "",
    database: str = "",
    *,
    upkeep: bool = False,
    alone: bool = True,
) -> AsyncIterator[Graph]:
    """Open the use cases without a service: the store is open inside the context only.

    `store` and `database` are those of its entry in the catalog; empty is the service's own graph.
    With `upkeep` old events are deleted meanwhile, as in a service; otherwise many writes would
    leave all their events behind. `alone`: the process is there for this graph only.
    """
    service = StoreService(installation.build_store(store, database), installation.settings)
    await service.start()
    try:
        points = installation.find_point_store(service.store)
        memory = build_account(installation.settings, workers=1, alone=alone)
        graph = build_graph(installation, service, graph=store, memory=memory, points=points)
        if not upkeep:
            yield graph
            return
        background = BackgroundService(service.runner, [graph.upkeep], installation.settings)
        background.start()
        try:
            yield graph
            await background.finish()
        finally:
            await background.stop()
    finally:
        await service.stop()


class StoreService:
    """A store and its runner as a lifespan service: opened at start-up, closed at shutdown."""

    def __init__(
        self, store: GraphStore, settings: Settings, instruments: Instruments | None = None
    ) -> None:
        self.store = store
        self.runner = StoreRunner(store, settings.storage, instruments)

    async def start(self) -> None:
        """Open the store: the process has forked, and nothing else runs yet that could wait."""
        self.store.open()

    async def stop(self) -> None:
        """Finish accepted writes, then close the store."""
        await self.runner.close()
        self.store.close()

    def is_full(self) -> bool:
        """Whether the store has recently refused writes for lack of disk space."""
        return self.runner.is_full

    async def is_ready(self) -> bool:
        """Whether the store answers reads, even if it cannot be written any more."""
        try:
            await self.runner.read(lambda session: session.read_schema_version())
        except StorageError:
            return False
        return True
