"""Every hook of twinframe, typed: the map of its seams. It implements none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinframe.diagnosis.findings import Finding
    from twinframe.events.sinks import EventSink
    from twinframe.permissions.base import PermissionProvider
    from twinframe.resourcetypes.base import ResourceType
    from twinframe.settings import AuthorizationSettings, Section
    from twinframe.sites.base import ServiceFacts, Site
    from twinframe.storage.base import GraphStore, QueryEngine
    from twinframe.storage.control import ControlStore
    from twinframe.storage.triples import SparqlEngine, TripleWriter

hookspec = pluggy.HookspecMarker("twinframe")


@hookspec(firstresult=True)
def twinframe_settings() -> type[Section] | None:
    """The plugin's settings section; keys stand under its seam and name: `Storage__Sqlite__…`."""


@hookspec(firstresult=True)
def twinframe_graph_store(settings: Section, graph: str) -> GraphStore | None:
    """The store of the graph named `graph`, not yet opened. `settings` is the plugin's section."""


@hookspec(firstresult=True)
def twinframe_query_engine(store: GraphStore) -> QueryEngine | None:
    """The engine that runs queries inside this store; None leaves all to the evaluator."""


@hookspec(firstresult=True)
def twinframe_triple_writer(settings: Section, graph: str) -> TripleWriter | None:
    """What writes the graph named `graph` as RDF, whatever stores it; `settings` as above.

    A storage plugin that knows no RDF leaves it out; the one that `Export__Writer` names has it.
    """


@hookspec(firstresult=True)
def twinframe_sparql_engine(store: GraphStore) -> SparqlEngine | None:
    """SPARQL over this store; None, or no such hook, where graphs are not stored as RDF."""


@hookspec(firstresult=True)
def twinframe_control_store(settings: Section, name: str) -> ControlStore | None:
    """The store of the control plane's records named `name`, not yet opened.

    `settings` is the plugin's section. A storage plugin that keeps graphs only leaves it out.
    """


@hookspec(firstresult=True)
def twinframe_permission_provider(
    settings: Section, authorization: AuthorizationSettings, resource: str
) -> PermissionProvider | None:
    """The provider that says which permissions a caller has at one graph.

    `settings` is the plugin's own section (an empty `Section` if it has none), `authorization` the
    core's section, which all providers share. `resource` is the id of a hosted graph, empty for the
    graph that the service has of its own.
    """


@hookspec(firstresult=True)
def twinframe_event_sink(settings: Section, name: str, source: str) -> EventSink | None:
    """The sink of the endpoint `name`, not yet opened. `settings` is the plugin's section.

    `source` is the host name that events of the service give, for endpoints that ask who sends.
    """


@hookspec
def twinframe_findings(settings: Section) -> Sequence[Finding]:
    """What may be wrong where this plugin would work: directories, libraries, servers it asks.

    `twinframe check` asks the plugins in use. `settings` is the plugin's section. Nothing is made
    or changed, nothing secret is sent, and an answer takes seconds at most.
    """
    return ()


@hookspec
def twinframe_resource_types(settings: Section) -> Sequence[ResourceType]:
    """Resource types that the control plane can provision. `settings` is the plugin's section."""
    return ()


@hookspec
def twinframe_routes(settings: Section, service: ServiceFacts) -> Sequence[Site]:
    """Pages that are served beside the API, open to everybody: each a site with a path of its own.

    `settings` is the plugin's section, whose keys stand under its name: `Explorer__…`. `service` is
    what the pages may know of the service.
    """
    return ()
