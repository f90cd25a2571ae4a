"""The entry point of this distribution: the hooks by which the service uses RDF storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from twinframe import hookimpl
from twinframe.query.engine import QueryEngine
from twinframe.runtime.diagnosis.findings import Finding
from twinframe.settings import Section
from twinframe.storage.base import GraphSession, GraphStore
from twinframe.storage.triples import (
    Content,
    SparqlEngine,
    SparqlLimits,
    SparqlQuery,
    Syntax,
    TripleWriter,
)
from twinframe_storage_rdf.building import build_store, list_findings
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.compiler.probes import AbilityFinder
from twinframe_storage_rdf.endpoint.reading import parse_query
from twinframe_storage_rdf.engine import Engine, Question
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.shacl.report import write_report
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.triples.nodes import iterate_models, iterate_nodes
from twinframe_storage_rdf.triples.shapes import build_shapes
from twinframe_storage_rdf.triples.syntaxes import SHAPE_PREFIXES, write_nodes


class Endpoint(SparqlEngine):
    """Runs queries of callers over the graph of these `names`.

    SEC: everything else in the engine, such as the state of the graph and other graphs, is outside
    the dataset that a query runs on, whatever its text says.
    """

    def __init__(self, engine: Engine, names: GraphNames) -> None:
        self._engine = engine
        self._names = names

    def parse_query(
        self,
        text: str,
        limits: SparqlLimits,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> SparqlQuery:
        """Read a query."""
        return parse_query(text, self._names.data, limits, default_graphs, named_graphs)

    def run_query(
        self,
        query: SparqlQuery,
        syntax: Syntax,
        deadline: float,
        limit: int,
        write: Callable[[bytes], object],
    ) -> None:
        """Run it and write its answer."""
        data = self._names.data
        question = Question(
            query.text,
            default=data if query.default else None,
            named=data if query.named else None,
            media_type=syntax.media_types[0],
            form=query.form,
            limit=limit,
        )
        self._engine.answer(question, deadline, write)


class RdfWriter(TripleWriter):
    """Writes with the IRIs that the settings give the graph."""

    def __init__(self, names: GraphNames) -> None:
        self._names = names

    def write_graph(
        self, session: GraphSession, syntax: Syntax, content: Content
    ) -> Iterator[bytes]:
        """Write models, twins and relationships, in this order."""
        nodes = iterate_nodes(self._names, session, content)
        return write_nodes(nodes, syntax, self._names.data)

    def write_shapes(self, session: GraphSession, syntax: Syntax) -> Iterator[bytes]:
        """Write a node shape for each stored model."""
        nodes = build_shapes(self._names, iterate_models(session))
        return write_nodes(nodes, syntax, self._names.data, SHAPE_PREFIXES)

    def write_report(self, session: GraphSession, syntax: Syntax, most: int) -> Iterator[bytes]:
        """Write pyshacl's results about the twins, batch by batch."""
        return write_report(self._names, session, syntax, most)


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
    """Build the SPARQL compiler for stores of this plugin, within what their engines do exactly."""
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
