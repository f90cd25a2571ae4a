"""The plugin: what the service asks of RDF storage through its hook. It holds no logic."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.storage.base import GraphStore
from twinframe_storage_rdf.store import RdfGraph, RdfStore


@hookimpl
def twinframe_graph_store(graph: str) -> GraphStore:
    """A new empty graph; there are no settings yet. The evaluator runs all queries."""
    return RdfStore(RdfGraph(graph))
