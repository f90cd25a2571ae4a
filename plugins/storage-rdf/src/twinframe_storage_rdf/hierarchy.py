"""The hierarchy of interfaces, walked over triples. It knows no twin.

An interface is known when it was ever stored or named by a twin; it stays known, with what it
extended, when its model is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rdflib import RDF, URIRef

from twinframe_storage_rdf.triples import Triples
from twinframe_storage_rdf.vocabulary import TF


def read_known_models(triples: Triples) -> list[URIRef]:
    """Every known interface."""
    return triples.read_subjects(RDF.type, TF.Interface)


def read_ancestors(triples: Triples, model: URIRef) -> frozenset[str]:
    """The DTMIs of the interface and all that it extends."""
    return _walk(model, lambda at: triples.read_objects(at, TF.extends))


def read_lineage(triples: Triples, model: URIRef) -> frozenset[str]:
    """The DTMIs of the interface and all that extend it; empty when it is not known."""
    if not triples.has(model, RDF.type, TF.Interface):
        return frozenset()
    return _walk(model, lambda at: triples.read_subjects(TF.extends, at))


def _walk(start: URIRef, step: Callable[[URIRef], Iterable[URIRef]]) -> frozenset[str]:
    seen = {start}
    open_ = [start]
    while open_:
        for reached in step(open_.pop()):
            if reached not in seen:
                seen.add(reached)
                open_.append(reached)
    return frozenset(map(str, seen))
