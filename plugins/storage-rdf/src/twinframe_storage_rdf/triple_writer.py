"""The triple writer of one graph: writes its records, SHACL shapes and validation report as RDF."""

from __future__ import annotations

from collections.abc import Iterator

from twinframe.storage.base import GraphSession
from twinframe.storage.triples import Content, Syntax, TripleWriter
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.shacl.report import write_report
from twinframe_storage_rdf.triples.nodes import iterate_models, iterate_nodes
from twinframe_storage_rdf.triples.shapes import build_shapes
from twinframe_storage_rdf.triples.syntaxes import SHAPE_PREFIXES, write_nodes


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
