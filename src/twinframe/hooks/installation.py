"""An installation: the checked settings, the chosen plugins, and the objects that these build."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import pluggy

from twinframe.access.permissions import PermissionProvider
from twinframe.errors import ConfigurationError, PluginError, Unsupported
from twinframe.hooks.drivers import (
    EVENT_SINK,
    PERMISSION_PROVIDER,
    POINT_STORE,
    PROCEDURE,
    PROJECTION,
    RESOURCE_TYPE,
    SITE,
    SOURCE,
    STORAGE,
    Plugin,
    Seam,
    load_plugin,
    load_plugins,
)
from twinframe.hooks.manager import build_manager
from twinframe.hooks.procedures import gather_procedures
from twinframe.hooks.resource_types.base import ResourceType, ResourceTypeRegistry
from twinframe.hooks.sections import build_plugin_sections, build_section_path, read_section_class
from twinframe.hooks.sites import ServiceFacts, Site
from twinframe.query.engine import QueryEngine
from twinframe.query.writing.procedures import Procedure
from twinframe.runtime.diagnosis.findings import Finding
from twinframe.settings import Configuration, Section, Settings, load_settings
from twinframe.settings.shape import KeyPath
from twinframe.storage.base import GraphStore
from twinframe.storage.control import ControlStore
from twinframe.storage.points import PointStore
from twinframe.storage.triples import SparqlEngine, TripleSupport, TripleWriter

CONTROL_NAME: Final = "control"
"""The name of the control plane's records in their storage."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Checked settings and the plugin manager that holds the plugins they choose."""

    configuration: Configuration
    manager: pluggy.PluginManager
    _loaded: dict[tuple[str, str], Plugin] = field(default_factory=dict, compare=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @property
    def settings(self) -> Settings:
        """The core's settings."""
        return self.configuration.settings

    def load_storage(self) -> Plugin:
        """The chosen storage plugin. Raises `PluginError`."""
        return self._load(STORAGE, self.settings.storage.provider)

    def build_store(self, graph: str = "", database: str = "") -> GraphStore:
        """Build the store of a graph, without opening it; without a name the graph of the settings.

        `database` is that of its entry in the catalog.

        Raises `PluginError`, `ConfigurationError`.
        """
        plugin = self.load_storage()
        section = self._read_section(plugin)
        graph = graph or self.settings.storage.graph
        return plugin.build(
            "twinframe_graph_store",
            GraphStore,  # type: ignore[type-abstract]  # only for isinstance
            settings=section,
            graph=graph,
            database=database,
        )

    def build_query_engine(self, store: GraphStore) -> QueryEngine | None:
        """Build the query engine of the store, None when it has none. Raises `PluginError`."""
        plugin = self.load_storage()
        if plugin.call("twinframe_query_engine", store=store) is None:
            return None
        engine: QueryEngine = plugin.build("twinframe_query_engine", QueryEngine, store=store)  # type: ignore[type-abstract]  # only for isinstance
        for projection in load_plugins(self.manager, PROJECTION):
            section = self._read_section(projection)
            hook = "twinframe_query_projection"
            arguments = {"settings": section, "store": store, "engine": engine}
            if projection.call(hook, **arguments) is not None:
                engine = projection.build(hook, QueryEngine, **arguments)  # type: ignore[type-abstract]  # only for isinstance
        return engine

    def build_point_store(self, store: GraphStore) -> PointStore | None:
        """Build the store of the graph's points, None when no telemetry is kept.

        Raises `PluginError`, and `ConfigurationError` for a storage without a directory.
        """
        history = self.settings.history
        if not history.telemetry:
            return None
        found = self._build_points(self._load(POINT_STORE, history.store), store)
        if found is None:
            raise ConfigurationError(
                "History__Telemetry needs a storage in whose database or directory points are "
                f"kept; Storage__Provider={self.settings.storage.provider} has neither. "
                "SQLite, Oxigraph with a directory and PostgreSQL have."
            )
        return found

    def find_point_store(self, store: GraphStore) -> PointStore | None:
        """Build the store of the points that the graph may have, also of those from before.

        None where there can be none: no plugin of this name is installed, or it has no place for
        them. Raises as `build_point_store` does.
        """
        if self.settings.history.telemetry:
            return self.build_point_store(store)
        try:
            plugin = self._load(POINT_STORE, self.settings.history.store)
        except PluginError:
            return None
        return self._build_points(plugin, store)

    def _build_points(self, plugin: Plugin, store: GraphStore) -> PointStore | None:
        hook, section = "twinframe_point_store", self._read_section(plugin)
        if plugin.call(hook, settings=section, store=store) is None:
            return None
        return plugin.build(hook, PointStore, settings=section, store=store)  # type: ignore[type-abstract]  # only for isinstance

    def build_triple_writer(self, graph: str = "") -> TripleWriter:
        """Build the writer of graphs as RDF, for any storage. Raises `PluginError`."""
        plugin = self._load(STORAGE, self.settings.export.writer, setting="Export__Writer")
        return plugin.build(
            "twinframe_triple_writer",
            TripleWriter,  # type: ignore[type-abstract]  # only for isinstance
            settings=self._read_section(plugin),
            graph=graph or self.settings.storage.graph,
        )

    def build_sparql_engine(self, store: GraphStore) -> SparqlEngine | None:
        """Build the SPARQL engine of the store, None when it is not an RDF store.

        Raises `PluginError`.
        """
        plugin = self.load_storage()
        if plugin.call("twinframe_sparql_engine", store=store) is None:
            return None
        return plugin.build("twinframe_sparql_engine", SparqlEngine, store=store)  # type: ignore[type-abstract]  # only for isinstance

    def build_control_store(self) -> ControlStore:
        """Build the store of the control plane's records, without opening it.

        Raises `PluginError`, also for a storage plugin that keeps graphs only.
        """
        name = self.settings.control.store
        hook = "twinframe_control_store"
        plugin = self._load(STORAGE, name, setting="Control__Store")
        if self.manager.parse_hookimpl_opts(plugin.module, hook) is None:
            raise PluginError(
                f"Control__Store={name}: {plugin.info.owner} keeps graphs, but no records of a "
                "control plane. Choose another, such as Control__Store=sqlite; "
                "Storage__Provider is a choice of its own."
            )
        section = self._read_section(plugin)
        return plugin.build(hook, ControlStore, settings=section, name=CONTROL_NAME)  # type: ignore[type-abstract]  # only for isinstance

    def build_catalog_store(self) -> ControlStore | None:
        """Build the store of the catalog of hosted graphs; None where files keep it.

        Raises `PluginError` for a storage plugin that keeps no records but is asked to.
        """
        plugin = self.load_storage()
        hook = "twinframe_control_store"
        has_records = self.manager.parse_hookimpl_opts(plugin.module, hook) is not None
        match self.settings.hosting.catalog:
            case "directory":
                return None
            case "auto" if not has_records or not self.build_store().traits.distributed:
                return None
            case "database" if not has_records:
                raise PluginError(
                    f"Hosting__Catalog=database: {plugin.info.owner} keeps graphs, but no records. "
                    "Choose Hosting__Catalog=directory, or another Storage__Provider."
                )
        section = self._read_section(plugin)
        return plugin.build(hook, ControlStore, settings=section, name=CONTROL_NAME)  # type: ignore[type-abstract]  # only for isinstance

    def build_permission_provider(self, resource: str = "") -> PermissionProvider | None:
        """Build the chosen permission provider, None when authorization is off. Raises
        `PluginError`.

        `resource` is the hosted graph that it answers for; empty is the service's own graph.
        """
        authorization = self.settings.authorization
        if not self.settings.checks_permissions:
            return None
        plugin = self._load(PERMISSION_PROVIDER, authorization.provider)
        section = self._read_section(plugin)
        return plugin.build(
            "twinframe_permission_provider",
            PermissionProvider,  # type: ignore[type-abstract]  # only for isinstance
            settings=section,
            authorization=authorization,
            resource=resource,
        )

    def list_findings(self) -> Sequence[Finding]:
        """List the findings of the plugins in use about their environment. Raises `PluginError`."""
        settings = self.settings
        chosen = [(STORAGE, settings.storage.provider, "Storage__Provider")]
        if settings.control.enabled and settings.control.store != settings.storage.provider:
            chosen.append((STORAGE, settings.control.store, "Control__Store"))
        if settings.checks_permissions:
            provider = settings.authorization.provider
            chosen.append((PERMISSION_PROVIDER, provider, "Authorization__Provider"))
        if settings.history.telemetry:
            chosen.append((POINT_STORE, settings.history.store, "History__Store"))
        found: list[Finding] = []
        for seam, name, setting in chosen:
            plugin = self._load(seam, name, setting=setting)
            section = self._read_section(plugin)
            found += plugin.build_all("twinframe_findings", Finding, settings=section)
        return found

    def build_resource_types(self) -> ResourceTypeRegistry:
        """Build all resource types of all plugins. Raises `PluginError` for two of one name."""
        plugins = load_plugins(self.manager, RESOURCE_TYPE)
        found: list[ResourceType] = []
        for plugin in plugins:
            section = self._read_section(plugin)
            found += plugin.build_all("twinframe_resource_types", ResourceType, settings=section)
        return ResourceTypeRegistry(found)

    def build_procedures(self) -> Sequence[Procedure]:
        """Build the procedures of all plugins.

        Raises `PluginError` for two of one name, and for what a procedure may not declare.
        """
        plugins = load_plugins(self.manager, PROCEDURE)
        return gather_procedures((plugin, self._read_section(plugin)) for plugin in plugins)

    def build_sites(self, service: ServiceFacts) -> Sequence[tuple[str, Site]]:
        """Build the sites of all plugins, each with its plugin's name. Raises `PluginError`."""
        found: list[tuple[str, Site]] = []
        for plugin in load_plugins(self.manager, SITE):
            section = self._read_section(plugin)
            sites = plugin.build_all("twinframe_routes", Site, settings=section, service=service)  # type: ignore[type-abstract]  # only for isinstance
            found += [(plugin.info.owner, site) for site in sites]
        return found

    def load_event_sink(self, kind: str) -> Plugin:
        """Load the plugin of event sinks of this type. Raises `PluginError`."""
        return self._load(EVENT_SINK, kind)

    def load_source(self, kind: str) -> Plugin:
        """Load the plugin of sources of this type. Raises `PluginError`."""
        return self._load(SOURCE, kind)

    def _load(self, seam: Seam, name: str, *, setting: str = "") -> Plugin:
        """Load a plugin; an error begins with the setting that names it, if it is given."""
        # PERF: searching all distributions takes 3 ms, which each hosted graph would pay.
        with self._lock:  # graphs are created in threads, several at once
            plugin = self._loaded.get((seam.group, name))
            if plugin is None:
                try:
                    plugin = load_plugin(self.manager, seam, name)
                except PluginError as error:
                    if not setting:
                        raise
                    raise PluginError(f"{setting}={name}: {error.message}") from error
                self._loaded[seam.group, name] = plugin
            return plugin

    def _read_section(self, plugin: Plugin) -> Section:
        model = read_section_class(plugin) or Section
        return self.configuration.section(build_section_path(plugin), model)


def load_installation(
    config: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    given: Mapping[str, str] | None = None,
) -> Installation:
    """Read the settings and load the plugins they choose; see `load_settings`.

    Raises `SettingsError` or `PluginError` with all errors in `details`.
    """
    manager = build_manager()
    sections = build_plugin_sections(manager)
    return Installation(load_settings(config, environ, sections, given=given), manager)


def build_installation(
    settings: Settings, sections: Mapping[KeyPath, Section] | None = None
) -> Installation:
    """Build an installation of settings made in Python; `sections` by path: `("Storage",
    "Sqlite")`.
    """
    return Installation(Configuration(settings, sections or {}), build_manager())


def build_triple_support(
    installation: Installation, store: GraphStore, graph: str = ""
) -> TripleSupport:
    """Build it for a graph and its store; without a name for the graph of the settings."""

    @cache  # PERF: the plugin's libraries are imported only if there is an export
    def load_writer() -> TripleWriter:
        try:
            return installation.build_triple_writer(graph)
        except PluginError as error:
            raise Unsupported(f"The graph cannot be written as RDF: {error.message}") from error

    return TripleSupport(load_writer, installation.build_sparql_engine(store))
