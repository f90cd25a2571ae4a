"""Builds the ASGI application from an installation; the only module that uses all layers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from twinframe.access.rates import SharedBuckets
from twinframe.errors import StorageError
from twinframe.graph import Graph
from twinframe.graph.background.runner import BackgroundService
from twinframe.graph.delivery.endpoints import NO_ENDPOINTS, Endpoints
from twinframe.graph.graph import BuildIngestion
from twinframe.hooks.installation import (
    Installation,
    build_installation,
    build_triple_support,
    load_installation,
)
from twinframe.http.application import Mounted, build_application
from twinframe.http.bodies import Bodies
from twinframe.http.discovery import WELL_KNOWN
from twinframe.http.guard import Guard
from twinframe.http.operations import Route
from twinframe.http.routes import ROUTES
from twinframe.http.sites import SiteServer
from twinframe.runtime.instruments.base import Instruments
from twinframe.runtime.memory import MemoryAccount
from twinframe.service.access import build_access, build_rates
from twinframe.service.assistants import build_hosted_service, build_service, list_resources
from twinframe.service.endpoints import build_endpoints
from twinframe.service.features import CONTROL, HOSTING, INGESTION, load_part
from twinframe.service.instruments import InstrumentService
from twinframe.service.job_process import JobProcess
from twinframe.service.logs import LogService, configure_logging
from twinframe.service.memory import build_account
from twinframe.service.rate_exchange import RateExchange
from twinframe.service.sites import build_sites
from twinframe.settings import Section, Settings
from twinframe.settings.shape import KeyPath
from twinframe.storage.base import GraphStore
from twinframe.storage.indexes import find_index_upkeep
from twinframe.storage.points import PointStore
from twinframe.storage.runner import StoreRunner

if TYPE_CHECKING:
    from twinframe.control.hosting.service import HostingService
    from twinframe.service.control import MountedControlService


def create_app(
    settings: Settings | None = None, sections: Mapping[KeyPath, Section] | None = None
) -> Guard:
    """Build the ASGI application of these settings, by default of file and environment.

    Raises `ConfigurationError` when they are wrong. The store is opened at the lifespan's start-up.
    """
    if settings is None:
        installation = load_installation()
        configure_logging(installation.settings.logging)
    else:
        installation = build_installation(settings, sections)
    return build_app(installation)


def build_app(
    installation: Installation, relay: Path | None = None, buckets: SharedBuckets | None = None
) -> Guard:
    """Build the ASGI application of an installation. Call it in the process that serves.

    `relay` connects the workers of a service, and `buckets` hold the rates of callers that they
    share; None is a service of one worker. NOTE: nothing is opened and no thread runs before the
    lifespan's start-up.
    """
    settings = installation.settings
    bind = settings.server.bind
    mcp = bind if settings.mcp.enabled else None
    return _build(installation, ROUTES, mcp, relay, buckets)


def build_mcp_app(
    installation: Installation, relay: Path | None = None, buckets: SharedBuckets | None = None
) -> Guard:
    """Build the ASGI application of the MCP server alone, with health checks and discovery.

    The installation is one of `build_mcp_installation`.
    """
    routes = [route for route in ROUTES if route.path.startswith(("/health/", f"/{WELL_KNOWN}/"))]
    return _build(installation, routes, installation.settings.server.bind, relay, buckets)


def _build(
    installation: Installation,
    routes: Sequence[Route],
    mcp: str | None,
    relay: Path | None,
    buckets: SharedBuckets | None,
) -> Guard:
    settings = installation.settings
    memory = build_account(settings)
    bodies = Bodies(settings, memory)
    instruments = InstrumentService(settings, memory)
    told = instruments.instruments
    asks = settings.authentication.asks
    rates = build_rates(settings, buckets, instruments.on_refusal, asks=asks)
    store = StoreService(installation.build_store(), settings, told)
    access = build_access(installation)
    gate = None if access is None else access.gate
    endpoints = build_endpoints(installation)
    jobs = JobProcess(installation.configuration) if store.store.traits.shared else None
    ingest: BuildIngestion | None = None
    if settings.ingestion.sources and routes is ROUTES:
        ingest = load_part(INGESTION).build_ingestion(installation)
    graph = build_graph(
        installation, store, told, endpoints, memory=memory, jobs=jobs, ingest=ingest
    )
    background = BackgroundService(store.runner, graph.background_tasks, settings)
    assistants = None
    if mcp is not None:
        assistants = build_service(graph, settings, gate, mcp, relay, rates)
    control: MountedControlService | None = None
    if settings.control.enabled and routes is ROUTES:
        told_apart = build_rates(settings, buckets, instruments.on_refusal, asks=True)
        control = load_part(CONTROL).MountedControlService(installation, rates or told_apart)
    hosting: HostingService | None = None
    if settings.hosting.enabled and routes is ROUTES:
        hosting = load_part(HOSTING).HostingService(
            installation, gate, told, rates, endpoints, bodies
        )
    hosted_assistants = None
    if hosting is not None and mcp is not None:
        hosted_assistants = build_hosted_service(hosting, settings, mcp, relay, rates)
    if told is not None and assistants is not None:
        told.watch(assistants.endpoint)
    beside = [one for one in (assistants, control, hosting) if one is not None]
    hosted = [] if hosted_assistants is None else [hosted_assistants]
    access_services = [] if access is None else [access]
    exchanges: list[RateExchange] = []
    if rates is not None and store.store.traits.distributed:
        exchanges = [RateExchange(store.runner, rates.buckets)]
    services = [LogService(), instruments, store, *exchanges, *access_services, *beside, *hosted]
    # NOTE: consulted last: a host name of a hosted graph has no sites.
    sites: list[Mounted] = [SiteServer(build_sites(installation))] if routes is ROUTES else []
    resources = () if mcp is None else list_resources(settings, alone=routes is not ROUTES)
    # NOTE: the stand-alone MCP server leaves background work to the API's process.
    working = [background.begin, background.stop] if routes is ROUTES else []
    guard = build_application(
        graph,
        settings,
        gate=gate,
        start=[*(service.start for service in services), *working[:1]],
        stop=[*working[1:], *(service.stop for service in reversed(services)), endpoints.stop],
        is_ready=store.is_ready,
        is_full=store.is_full,
        routes=routes,
        # NOTE: the last one is consulted first; the host of a hosted graph serves that graph alone.
        mounted=[*sites, *(one.endpoint for one in beside)],
        resources=resources if control is None else (*resources, control.resource),
        build_error=None if control is None else control.endpoint.build_error,
        rates=rates,
        memory=memory,
        bodies=bodies,
    )
    instruments.attach(guard)
    guard.on_drain(graph.event_streams.end)
    if hosting is not None:
        hosting.endpoint.watch_drain(lambda: guard.draining)
        guard.on_drain(hosting.graphs.end_streams)
    if hosted_assistants is not None:
        guard.on_drain(hosted_assistants.endpoint.begin_drain)
    return guard


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
    )


@asynccontextmanager
async def open_graph(
    installation: Installation, store: str = "", database: str = "", *, upkeep: bool = False
) -> AsyncIterator[Graph]:
    """Open the use cases without a service: the store is open inside the context only.

    `store` and `database` are those of its entry in the catalog; empty is the service's own graph.
    With `upkeep` old events are deleted meanwhile, as in a service; otherwise many writes would
    leave all their events behind.
    """
    service = StoreService(installation.build_store(store, database), installation.settings)
    await service.start()
    try:
        points = installation.find_point_store(service.store)
        graph = build_graph(installation, service, graph=store, points=points)
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
