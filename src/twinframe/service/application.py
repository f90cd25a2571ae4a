"""Builds the ASGI application from an installation; the only module that uses all layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from twinframe.access.rates import SharedBuckets
from twinframe.graph.background.runner import BackgroundService
from twinframe.graph.graph import BuildIngestion
from twinframe.hooks.installation import (
    Installation,
    build_installation,
    load_installation,
)
from twinframe.http.application import Mounted, build_application
from twinframe.http.bodies import Bodies
from twinframe.http.discovery import WELL_KNOWN
from twinframe.http.guard import Guard
from twinframe.http.operations import Route
from twinframe.http.routes import ROUTES
from twinframe.http.sites import SiteServer
from twinframe.runtime.memory import MemoryAccount
from twinframe.service.access import build_access, build_rates
from twinframe.service.assistants import build_hosted_service, build_service, list_resources
from twinframe.service.endpoints import build_endpoints
from twinframe.service.features import BOLT, CONTROL, HOSTING, INGESTION, load_part
from twinframe.service.instruments import InstrumentService
from twinframe.service.job_process import JobProcess
from twinframe.service.logs import LogService, configure_logging
from twinframe.service.memory import build_account
from twinframe.service.opening import StoreService, build_graph
from twinframe.service.rate_exchange import RateExchange
from twinframe.service.sites import build_sites
from twinframe.settings import Section, Settings
from twinframe.settings.shape import KeyPath

if TYPE_CHECKING:
    from twinframe.bolt.server import BoltServer
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
    installation: Installation,
    relay: Path | None = None,
    buckets: SharedBuckets | None = None,
    store: StoreService | None = None,
    memory: MemoryAccount | None = None,
) -> Guard:
    """Build the ASGI application of an installation. Call it in the process that serves.

    `relay` connects the workers of a service, and `buckets` hold the rates of callers that they
    share; None is a service of one worker. `store` is the one to serve, and `memory` the account of
    the process; None: those of the settings. NOTE: nothing is opened and no thread runs before the
    lifespan's start-up.
    """
    settings = installation.settings
    bind = settings.server.bind
    mcp = bind if settings.mcp.enabled else None
    return _build(installation, ROUTES, mcp, relay, buckets, store, memory)


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
    store: StoreService | None = None,
    memory: MemoryAccount | None = None,
) -> Guard:
    settings = installation.settings
    memory = memory or build_account(settings)
    bodies = Bodies(settings, memory)
    instruments = InstrumentService(settings, memory)
    told = instruments.instruments
    asks = settings.authentication.asks
    rates = build_rates(settings, buckets, instruments.on_refusal, asks=asks)
    store = store or StoreService(installation.build_store(), settings, told)
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
    bolt: BoltServer | None = None
    if settings.bolt.enabled and routes is ROUTES:
        build_bolt = load_part(BOLT).build_server
        bolt = build_bolt(graph, settings, gate, rates, memory, instruments, hosting)
    if told is not None and assistants is not None:
        told.watch(assistants.endpoint)
    beside = [one for one in (assistants, control, hosting) if one is not None]
    more = [one for one in (hosted_assistants, bolt) if one is not None]
    access_services = [] if access is None else [access]
    exchanges: list[RateExchange] = []
    if rates is not None and store.store.traits.distributed:
        exchanges = [RateExchange(store.runner, rates.buckets)]
    services = [LogService(), instruments, store, *exchanges, *access_services, *beside, *more]
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
    if bolt is not None:
        guard.on_drain(bolt.begin_drain)
    if hosting is not None:
        hosting.endpoint.watch_drain(lambda: guard.draining)
        guard.on_drain(hosting.graphs.end_streams)
    if hosted_assistants is not None:
        guard.on_drain(hosted_assistants.endpoint.begin_drain)
    return guard
