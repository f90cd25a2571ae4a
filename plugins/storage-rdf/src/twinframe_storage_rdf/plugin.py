"""The entry point of this distribution: the hooks by which the service uses RDF storage."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.query.engine import QueryEngine
from twinframe.runtime.diagnosis.findings import Finding
from twinframe.settings import Section
from twinframe.storage.base import GraphStore
from twinframe.storage.triples import SparqlEngine, TripleWriter
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.compiler.probes import AbilityFinder
from twinframe_storage_rdf.endpoint.service import Endpoint
from twinframe_storage_rdf.findings import list_findings
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.triple_writer import RdfWriter


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Storage__Rdf`."""
    return RdfSettings


@hookimpl
def twinframe_findings(settings: Section) -> Sequence[Finding]:
    """Check the directory, or the server."""
    return list(list_findings(settings)) if isinstance(settings, RdfSettings) else ()


@hookimpl
def twinframe_graph_store(settings: Section, graph: str) -> GraphStore | None:
    """Build the graph's store on the chosen engine, without opening it."""
    return build_store(settings, graph) if isinstance(settings, RdfSettings) else None


@hookimpl
def twinframe_query_engine(store: GraphStore) -> QueryEngine | None:
    """Build the SPARQL compiler for stores of this plugin, within what their engines answer
    exactly.
    """
    if not isinstance(store, RdfStore):
        return None
    return SparqlQueryEngine(store.names, AbilityFinder(store.engine).find)


@hookimpl
def twinframe_triple_writer(settings: Section, graph: str) -> TripleWriter | None:
    """Build the writer of graphs as RDF, for any storage."""
    if not isinstance(settings, RdfSettings):
        return None
    return RdfWriter(GraphNames(graph, settings.ontology))


@hookimpl
def twinframe_sparql_engine(store: GraphStore) -> SparqlEngine | None:
    """Build the SPARQL endpoint of stores of this plugin."""
    return Endpoint(store.engine, store.names) if isinstance(store, RdfStore) else None
