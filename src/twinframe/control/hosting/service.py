"""Hosted graphs of an installation: serves them in a worker and creates them for a provisioner."""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import orjson

from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates
from twinframe.control.billing.usage import Usage
from twinframe.control.hosting.api_context import HOSTED
from twinframe.control.hosting.catalog import (
    Availability,
    Catalog,
    CatalogChange,
    CatalogEntry,
    FenceLost,
    HostedSettings,
    open_kept,
)
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.control.hosting.databases import choose_database
from twinframe.control.hosting.endpoint import HostedService
from twinframe.control.hosting.graphs import HostedGraphs
from twinframe.control.hosting.journal import prepare_journal, read_all_statistics
from twinframe.control.hosting.routes import HOSTED_ROUTES
from twinframe.control.hosting.upkeep import HostedUpkeep
from twinframe.errors import ConfigurationError, SettingsError, StorageBusy, StorageError
from twinframe.graph import Graph
from twinframe.graph.delivery.endpoints import NO_ENDPOINTS, Endpoints
from twinframe.graph.transfer.locations.locations import find_contested
from twinframe.hooks.installation import Installation
from twinframe.hooks.resource_types.base import LeaseLost, ProvisionFailed
from twinframe.hooks.resource_types.hosting import HostedGraph, ResourceName, run_blocking
from twinframe.hooks.resource_types.prices import QUERY_CHARGE_SCALE
from twinframe.http.api_context import GraphApiContext
from twinframe.http.bodies import Bodies
from twinframe.runtime.instruments.base import Instruments
from twinframe.settings import Settings
from twinframe.storage.backups import Backups
from twinframe.storage.base import GraphStore
from twinframe.storage.runner import StoreRunner

_log = logging.getLogger(__name__)

_TRY_SECONDS: Final = 0.2
_MORE_SECONDS: Final = 10.0
_FILES_PER_GRAPH: Final = 24
_DATABASE_LENGTH: Final = 40
_COUNT: Final = "SELECT COUNT() FROM DIGITALTWINS"


# --- serving ----------------------------------------------------------------------------------


class HostingService:
    """The hosted graphs of a worker as a lifespan service."""

    def __init__(
        self,
        installation: Installation,
        gate: Gate | None,
        instruments: Instruments | None = None,
        rates: CallerRates | None = None,
        endpoints: Endpoints = NO_ENDPOINTS,
        bodies: Bodies | None = None,
    ) -> None:
        settings = installation.settings
        catalog = build_catalog(installation)
        build_gate = partial(_build_gate, installation, gate)
        self.graphs = HostedGraphs(
            installation,
            catalog,
            build_gate,
            self._build_api_context,
            instruments,
            endpoints,
            partial(build_host, settings),
            None if bodies is None else bodies.memory,
        )
        self.endpoint = HostedService(self.graphs, settings, gate, HOSTED_ROUTES, rates, bodies)
        self._upkeep = HostedUpkeep(installation, catalog)
        self._settings = settings

    async def start(self) -> None:
        """Remove what a former process left half done, then watch over the graphs."""
        allow_files(self._settings)
        await self.graphs.start()
        await self._upkeep.start()

    async def stop(self) -> None:
        """Close all graphs."""
        await self._upkeep.stop()
        await self.graphs.stop()

    def _build_api_context(self, graph: Graph) -> GraphApiContext:
        return replace(self.endpoint.api, graph=graph)


def check_hosting(installation: Installation) -> None:
    """Refuse a storage whose graphs do not outlive a process. Raises `SettingsError`."""
    settings = installation.settings
    if not settings.hosting.enabled:
        return
    if not installation.build_store().traits.shared:
        raise SettingsError(
            "Hosting__Enabled=true needs a storage that keeps graphs where all processes find "
            f"them; Storage__Provider={settings.storage.provider} as it is set up has them in one "
            "process. Set Storage__Provider=sqlite, or rdf with a directory and a store process or "
            "with a SPARQL server."
        )
    first = settings.server.base_path.partition("/")[2].partition("/")[0]
    if first.casefold() == HOSTED:
        raise SettingsError(
            f"Server__BasePath={settings.server.base_path} would hide the hosted graphs at "
            f"/{HOSTED}. Choose another."
        )
    _check_names(settings)
    catalog = build_catalog(installation)
    try:
        catalog.prepare()
    finally:
        catalog.close()  # an open database must not cross a fork


def _check_names(settings: Settings) -> None:
    """Refuse names of the service's own that a tenant could choose as the id of a graph."""
    own = {"Server__PublicUrl": settings.server.public_url}
    if settings.mcp.enabled:
        own["MCP__ResourceServerUrl"] = settings.mcp.resource_server_url
    if settings.control.enabled:
        own["Control__PublicUrl"] = settings.control.public_url
    domain = settings.hosting.domain
    for key, url in own.items():
        if domain and (urlsplit(url).hostname or "").endswith(f".{domain}"):
            raise SettingsError(
                f"{key}={url} lies below Hosting__Domain={domain}, where each name is that of a "
                "hosted graph and no request reaches the service itself. Choose a name outside."
            )
    for key, places in (
        ("Jobs__Directories", settings.jobs.directories),
        ("Jobs__Buckets", settings.jobs.buckets),
    ):
        contested = find_contested(places)
        if contested is not None:
            raise SettingsError(
                f"{key}: {contested[0]} and {contested[1]} could be one place, for a hosted graph "
                "with such an id: it would have the files of another. Put what is named with "
                "{graph} into a folder of its own, with nothing else beside it."
            )


def allow_files(settings: Settings) -> None:
    """Raise the limit on open files to what the graphs and connections of the process may need."""
    needed = settings.hosting.max_open_graphs * _FILES_PER_GRAPH + settings.server.max_connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        wanted = needed if hard == unlimited else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        if wanted < needed:
            _log.warning(
                "Hosting__MaxOpenGraphs=%d may need %d open files; this process may have %d.",
                settings.hosting.max_open_graphs,
                needed,
                wanted,
            )


def _build_gate(installation: Installation, gate: Gate | None, resource_id: str) -> Gate | None:
    if gate is None:
        return None
    return gate.build_other(installation.build_permission_provider(resource_id))


# --- bringing graphs up -------------------------------------------------------------------------


class LocalGraphHost:
    """A `GraphHost` that keeps graphs in the configured storage, for servers of this machine.

    It is their `UsageMeter` too; resources of other types have no meters.
    """

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._settings = installation.settings
        self._catalog = build_catalog(installation)

    def close(self) -> None:
        """Release what the catalog holds; the next call opens it again."""
        self._catalog.close()

    async def create(self, graph: HostedGraph) -> None:
        """Record the graph, then create its store.

        Raises `ProvisionFailed` where the settings say that no service serves it.
        """
        if not self._settings.hosting.enabled:
            raise ProvisionFailed(
                "No service serves graphs here: Hosting__Enabled is false. Whoever runs it sets "
                "Hosting__Enabled=true for the graph service and the provisioner; then change the "
                "resource (PUT), and it comes up.",
                final=True,
            )
        await run_blocking(self._create, graph)

    async def publish(self, graph: HostedGraph) -> str:
        """Publish the graph with these settings; return its address."""
        await run_blocking(self._publish, graph)
        return build_address(self._settings, graph.name.resource_id)

    async def unpublish(self, name: ResourceName, fence: int) -> None:
        """Withdraw the graph; servers see it at their next look at the catalog."""
        await run_blocking(self._unpublish, name, fence)

    async def remove(self, name: ResourceName, fence: int) -> None:
        """Remove data, backups, logs, and last the record.

        Raises `StorageBusy` when servers do not close it in time; then call it again.
        """
        await run_blocking(self._remove, name, fence)

    async def check(self, graph: HostedGraph) -> str | None:
        """Return the fault, if any: an address that does not answer as it should, or damaged
        data.
        """
        return await run_blocking(self._check, graph)

    async def list_names(self) -> Sequence[ResourceName]:
        """List all graphs with a record. Nothing is created without one."""
        return await run_blocking(self._list_names)

    async def sample(self, name: ResourceName) -> Usage | None:
        """Return the graph's meters now; None when it is not served, or another has its id."""
        served = await asyncio.to_thread(self._catalog.find, name.resource_id)
        if served is None or served.incarnation != name.incarnation:
            return None
        store = self._installation.build_store(served.store, served.database)
        if not await asyncio.to_thread(open_kept, self._catalog, served, store):
            return None
        try:
            twins = await self._count_twins(store)
            size = await asyncio.to_thread(self._measure, store)
            points = self._installation.find_point_store(store)
            if points is not None:
                size += await asyncio.to_thread(points.measure)
                points.close()
        finally:
            await asyncio.to_thread(store.close)
        directory = self._catalog.build_directory(name.resource_id, name.incarnation)
        found = await asyncio.to_thread(read_all_statistics, directory, self._catalog)
        totals = found["totals"]
        charge = round(totals["query_charge"] * QUERY_CHARGE_SCALE)
        return Usage(twins, totals["operations"], charge, size, name.incarnation)

    def _list_names(self) -> list[ResourceName]:
        return [ResourceName(*pair) for pair in self._catalog.list_records()]

    def _create(self, graph: HostedGraph) -> None:
        with _Change(self._catalog, graph.name, graph.fence) as change:
            if change.record is None:
                entry = _build_entry(graph)
                change.begin(replace(entry, database=choose_database(self._installation, entry)))
            entry = change.record or _build_entry(graph)
            prepare_journal(change.directory)
            (change.directory / "backups").mkdir(mode=0o700, exist_ok=True)
            store = self._installation.build_store(entry.store, entry.database)
            store.open()
            store.close()
            try:
                change.check()
            except FenceLost:
                if graph.name not in self._list_names():
                    store.remove(_TRY_SECONDS)  # it was removed before it was created
                raise

    def _publish(self, graph: HostedGraph) -> None:
        with _Change(self._catalog, graph.name, graph.fence) as change:
            if change.record is None:
                raise StorageError(f"There is no graph {graph.name.resource_id} to be published.")
            kept = change.record
            entry = replace(
                _build_entry(graph),
                store=kept.store,
                generation=kept.generation,
                database=kept.database,
            )
            if change.serves_this and change.served is not None:
                if replace(change.served, fence=graph.fence) == entry:
                    return  # no change: servers need not read it again
                entry = replace(entry, availability=change.served.availability)
            change.serve(entry)

    def _unpublish(self, name: ResourceName, fence: int) -> None:
        with _Change(self._catalog, name, fence) as change:
            change.withdraw()

    def _remove(self, name: ResourceName, fence: int) -> None:
        wait = self._settings.hosting.drain_seconds + _MORE_SECONDS
        deadline = time.monotonic() + wait
        while True:
            # NOTE: the catalog is not locked for the whole time: others have graphs to open.
            with _Change(self._catalog, name, fence) as change:
                change.withdraw()
                if change.record is None:
                    change.forget()
                    return
                store = self._installation.build_store(change.record.store, change.record.database)
                try:
                    _remove_unused(change, store)
                except StorageBusy:
                    if time.monotonic() >= deadline:
                        raise
                else:
                    change.forget()
                    return
            time.sleep(_TRY_SECONDS)

    def _check(self, graph: HostedGraph) -> str | None:
        served = self._catalog.find(graph.name.resource_id)
        if served is None:
            return "It has no address."
        if served.incarnation != graph.name.incarnation:
            return f"Its address belongs to {served.incarnation}."
        if served.settings != _build_entry(graph).settings:
            return "It is not served as its settings and its sku say."
        if served.availability is Availability.OFFLINE:
            return None  # an operator is restoring it
        store = self._installation.build_store(served.store, served.database)
        try:
            store.open()
            try:
                session = store.session()
                session.read_instance()
                session.close()
            finally:
                store.close()
        except StorageBusy:
            return None
        except (StorageError, ConfigurationError) as error:
            _log.warning("The graph %s cannot be opened: %s", graph.name.resource_id, error.message)
            return error.public
        return None

    async def _count_twins(self, store: GraphStore) -> int:
        runner = StoreRunner(store, self._settings.storage)
        try:
            engine = self._installation.build_query_engine(store)
            graph = Graph(runner, self._settings, engine=engine, scratch=store.scratch)
            page = await graph.queries.run(_COUNT, {}, None, None)
        finally:
            await runner.close()
        (count,) = orjson.loads(page.rows[0]).values()
        return int(count)

    def _measure(self, store: GraphStore) -> int:
        return store.measure() if isinstance(store, Backups) else 0


def _remove_unused(change: CatalogChange, store: GraphStore) -> None:
    """Remove the data. Raises `StorageBusy` while a server has them open."""
    if change.is_used():
        raise StorageBusy("A server has not closed the graph yet.")
    store.remove(_TRY_SECONDS)


class _Change:
    """A change in the catalog, which reports a lost fence as the provisioner's lost lease."""

    def __init__(self, catalog: Catalog, name: ResourceName, fence: int) -> None:
        self._changing = catalog.changing(name.resource_id, name.incarnation, fence)

    def __enter__(self) -> CatalogChange:
        try:
            return self._changing.__enter__()
        except FenceLost as error:
            raise LeaseLost(error.message) from error

    def __exit__(self, *error: object) -> None:
        self._changing.__exit__(*error)  # type: ignore[arg-type]  # handed on as they come


def build_address(settings: Settings, resource_id: str) -> str:
    """Return the URL of a graph: its host name if there is a domain, else its path."""
    hosting = settings.hosting
    scheme = "https" if settings.server.tls.certificate else "http"
    origin = (
        hosting.public_url or settings.server.public_url or f"{scheme}://{settings.server.bind}"
    )
    if not hosting.domain:
        return f"{origin}/{HOSTED}/{resource_id}"
    parts = urlsplit(origin)
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{resource_id}.{hosting.domain}{port}"


def build_host(settings: Settings, resource_id: str) -> str:
    """Return the address of a graph without its scheme: the source of its events."""
    return build_address(settings, resource_id).partition("://")[2]


def _build_entry(graph: HostedGraph) -> CatalogEntry:
    name = graph.name
    database = graph.database_name.lower()[:_DATABASE_LENGTH]
    if database == name.resource_id:
        database = ""  # it is part of the name anyway
    parts = (database, name.resource_id, name.incarnation)
    return CatalogEntry(
        resource_id=name.resource_id,
        incarnation=name.incarnation,
        fence=graph.fence,
        project_id=graph.project_id,
        store="_".join(part for part in parts if part),
        settings=HostedSettings(
            max_concurrent_connections=graph.max_concurrent_connections,
            backup_retention_days=graph.backup_retention_days,
            audit_logging=graph.audit_logging,
            analytics=graph.analytics,
            sku=graph.sku,
            limits={limit.quota.value: limit.limit for limit in graph.limits},
        ),
    )
