"""The plugin: what the service asks of RDF storage through its hooks. It holds no logic."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.settings import Section
from twinframe.storage.base import GraphStore, QueryEngine
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfStore


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Storage__Rdf`."""
    return RdfSettings


@hookimpl
def twinframe_graph_store(settings: Section, graph: str) -> GraphStore | None:
    """The graph's store on the chosen engine, not yet opened."""
    return build_store(settings, graph) if isinstance(settings, RdfSettings) else None


@hookimpl
def twinframe_query_engine(store: GraphStore) -> QueryEngine | None:
    """The compiler to SPARQL, for stores of this plugin whose engine answers it to the letter."""
    names = store.compiled_names if isinstance(store, RdfStore) else None
    return None if names is None else SparqlQueryEngine(names)
