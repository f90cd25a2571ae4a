"""Support for graphs as RDF in an installation; the writer is loaded at first use."""

from __future__ import annotations

from functools import cache

from twinframe.errors import PluginError, Unsupported
from twinframe.hooks.installation import Installation
from twinframe.storage.base import GraphStore
from twinframe.storage.triples import TripleSupport, TripleWriter


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
