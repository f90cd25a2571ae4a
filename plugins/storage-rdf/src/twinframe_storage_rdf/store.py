"""The graph store over triples in memory. It keeps nothing on disk and runs no query itself."""

from __future__ import annotations

import itertools
import secrets
import uuid
from collections.abc import Iterator, Sequence

import orjson
from rdflib import RDF

from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    Instance,
    Outcome,
    Placement,
    StoreTraits,
    Work,
)
from twinframe_storage_rdf.session import RdfSession
from twinframe_storage_rdf.transaction import RdfTransaction
from twinframe_storage_rdf.triples import SharedTriples, Triples
from twinframe_storage_rdf.vocabulary import TF, build_graph_iri


class RdfGraph:
    """The data of one graph; stores made for the same object share it, as on one dataset."""

    def __init__(self, name: str) -> None:
        self.instance = Instance(id=str(uuid.uuid4()), secret=secrets.token_bytes(32))
        self.shared = SharedTriples(build_graph_iri(name))
        self.changes = itertools.count(1)


class RdfStore(GraphStore):
    """A store over an `RdfGraph`; the data lives as long as that object, and no longer.

    NOTE: rdflib is Python all through, a read by id takes some 100 µs and waits for writers: the
    event loop must not.
    """

    traits = StoreTraits(point_reads=Placement.POOL, shared=False)

    def __init__(self, graph: RdfGraph) -> None:
        self._graph = graph

    def open(self) -> None:
        """Nothing is to be opened."""

    def close(self) -> None:
        """Nothing is held."""

    def session(self) -> GraphSession:
        """A session that sees the newest state at each call."""
        return RdfSession(self._graph.shared, self._graph.instance)

    def write(self, works: Sequence[Work[object]]) -> Sequence[Outcome[object]]:
        """Run the works one after the other; what a failing one changed is taken back."""
        graph = self._graph
        with graph.shared.writing() as triples:
            return [self._run(triples, work) for work in works]

    def verify(self) -> Sequence[str]:
        """Compare relationships with twins, and documents with what is stored beside them."""
        with self._graph.shared.reading() as triples:
            return list(_find_faults(triples))

    def remove(self, timeout: float) -> None:
        """Make the graph a new, empty one of another identity."""
        graph = self._graph
        graph.shared.clear()
        graph.instance = Instance(id=str(uuid.uuid4()), secret=secrets.token_bytes(32))

    def _run(self, triples: Triples, work: Work[object]) -> Outcome[object]:
        graph = self._graph
        mark = triples.begin()
        transaction = RdfTransaction(
            graph.shared, graph.instance, triples, lambda: next(graph.changes)
        )
        try:
            return Outcome(result=work(transaction))
        except Exception as error:  # noqa: BLE001  (the seam: each work gets its own error)
            triples.undo(mark)
            return Outcome(error=error)


def _find_faults(triples: Triples) -> Iterator[str]:
    for iri in triples.read_subjects(RDF.type, TF.Relationship):
        for end in (TF.source, TF.target):
            twins = triples.read_objects(iri, end)
            if len(twins) != 1 or not triples.has(twins[0], RDF.type, TF.Twin):
                yield f"{iri} must have one twin as {end}"
    for iri in triples.read_subjects(RDF.type, TF.Twin):
        document = orjson.loads(triples.read_text(iri, TF.document) or "{}")
        if document.get("$dtId") != triples.read_text(iri, TF.id):
            yield f"the document of {iri} has another id"
        models = triples.read_objects(iri, TF.model)
        if len(models) != 1 or not triples.has(models[0], RDF.type, TF.Interface):
            yield f"{iri} must have one known interface"
