"""The typed specifications of all hooks, which together are the map of twinframe's plugin seams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinframe.access.permissions import PermissionProvider
    from twinframe.hooks.event_sinks.base import Sink
    from twinframe.hooks.resource_types.base import ResourceType
    from twinframe.hooks.sites import ServiceFacts, Site
    from twinframe.hooks.sources.base import MessageSource
    from twinframe.query.engine import QueryEngine
    from twinframe.query.writing.procedures import Procedure
    from twinframe.runtime.diagnosis.findings import Finding
    from twinframe.settings import AuthorizationSettings, Section
    from twinframe.storage.base import GraphStore
    from twinframe.storage.control import ControlStore
    from twinframe.storage.points import PointStore
    from twinframe.storage.triples import SparqlEngine, TripleWriter

hookspec = pluggy.HookspecMarker("twinframe")


@hookspec(firstresult=True)
def twinframe_settings() -> type[Section] | None:
    """The plugin's settings section; its keys are under its seam and name: `Storage__Sqlite__…`."""


@hookspec(firstresult=True)
def twinframe_graph_store(settings: Section, graph: str, database: str) -> GraphStore | None:
    """The store of the graph named `graph`, not yet opened. `settings` is the plugin's section.

    `database` names the one that has the graph, for plugins that can have several; else it is
    empty, and may be left out.
    """


@hookspec(firstresult=True)
def twinframe_query_engine(store: GraphStore) -> QueryEngine | None:
    """The engine that runs queries inside this store; None leaves all to the evaluator."""


@hookspec(firstresult=True)
def twinframe_triple_writer(settings: Section, graph: str) -> TripleWriter | None:
    """The writer of the graph named `graph` as RDF, whatever stores it; `settings` as above.

    A storage plugin without RDF omits it; the one that `Export__Writer` names has it.
    """


@hookspec(firstresult=True)
def twinframe_sparql_engine(store: GraphStore) -> SparqlEngine | None:
    """The SPARQL engine over this store; None, or no such hook, where graphs are not stored as
    RDF.
    """


@hookspec(firstresult=True)
def twinframe_control_store(settings: Section, name: str) -> ControlStore | None:
    """The store of the control plane's records named `name`, not yet opened.

    `settings` is the plugin's section. A storage plugin that keeps graphs only omits it.
    """


@hookspec(firstresult=True)
def twinframe_query_projection(
    settings: Section, store: GraphStore, engine: QueryEngine
) -> QueryEngine | None:
    """An engine that answers from a projection of the graph what it can, else as `engine` does.

    `settings` is the plugin's section. None: the plugin has no projection of such a store.
    """


@hookspec(firstresult=True)
def twinframe_point_store(settings: Section, store: GraphStore) -> PointStore | None:
    """The store of the points of one graph, which opens itself when it is first used.

    `settings` is the plugin's section. `store` is that of the graph, perhaps not open: points are
    kept in tables of its database (`TableKeeper`) or in its directory for durable files
    (`beside`). None: it has neither.
    """


@hookspec(firstresult=True)
def twinframe_permission_provider(
    settings: Section, authorization: AuthorizationSettings, resource: str
) -> PermissionProvider | None:
    """The provider of the permissions that a caller has at one graph.

    `settings` is the plugin's own section (an empty `Section` if it has none), `authorization` the
    core's section, which all providers share. `resource` is the id of a hosted graph, empty for the
    service's own graph.
    """


@hookspec(firstresult=True)
def twinframe_event_sink(settings: Section, name: str, source: str) -> Sink | None:
    """The sink of the endpoint `name`, not yet opened. `settings` is the plugin's section.

    `source` is the host name in the service's events, for endpoints that require the sender's name.
    """


@hookspec(firstresult=True)
def twinframe_source(settings: Section, name: str) -> MessageSource | None:
    """The source of messages `name`, not yet opened. `settings` is the plugin's section."""


@hookspec
def twinframe_findings(settings: Section) -> Sequence[Finding]:
    """The problems of the environment of this plugin: directories, libraries, servers that it
    uses.

    `twinframe check` calls the plugins in use. `settings` is the plugin's section. It creates and
    changes nothing, sends nothing secret, and takes seconds at most.
    """
    return ()


@hookspec
def twinframe_resource_types(settings: Section) -> Sequence[ResourceType]:
    """Resource types that the control plane can provision. `settings` is the plugin's section."""
    return ()


@hookspec
def twinframe_routes(settings: Section, service: ServiceFacts) -> Sequence[Site]:
    """The pages that are served beside the API, open to everybody: each a site with a path of its
    own.

    `settings` is the plugin's section, whose keys are under its name: `Explorer__…`. `service` are
    the facts about the service that the pages may know.
    """
    return ()


@hookspec
def twinframe_procedures(settings: Section) -> Sequence[Procedure]:
    """Procedures that statements of `POST /cypher` may `CALL`, on all graphs of the service.

    `settings` is the plugin's section. The name of each has two or more parts, `acme.reachable`;
    `db` and `dbms` are the service's own.
    """
    return ()
