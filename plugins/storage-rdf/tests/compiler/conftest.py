"""Small graphs as triples, and the law that compiled SPARQL is held to. No tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from twinframe.storage.memory import MemoryStore
from twinframe.testing.query_law import (
    ODD_EDGES,
    ODD_TWINS,
    Answer,
    LawGraph,
    QueryLaw,
    write_graph,
)
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.store import RdfStore

NAMES = GraphNames("test")


def build_graph(
    twins: Sequence[Any], edges: Sequence[Any], engine: Engine | None = None
) -> LawGraph:
    """The graph as triples in `engine`, and in the reference store."""
    store = RdfStore(engine or OxigraphEngine(), NAMES, shared=False)
    reference = MemoryStore()
    for each in (store, reference):
        each.open()
        write_graph(each, twins, edges)
    return LawGraph(store.session(), reference.session())


@pytest.fixture(scope="session")
def law() -> Callable[..., Answer]:
    """`law(text, graph, parameters)` asserts that SPARQL and evaluator answer alike."""
    return QueryLaw(SparqlQueryEngine(NAMES)).check


@pytest.fixture(scope="session")
def odd_graph() -> LawGraph:
    """Thirteen twins whose properties hold what typing gets wrong, and a few cycles."""
    return build_graph(ODD_TWINS, ODD_EDGES)


@pytest.fixture(scope="session")
def plain_graph() -> LawGraph:
    """The twins without numbers that look alike, lists and maps: what is guarded runs here."""
    kept = ("b", "c", "e", "f", "l", "1")
    twins = [
        (name, model, {"s": contents["s"], "flag": contents.get("flag"), "x": at + 0.5})
        for at, (name, model, contents) in enumerate(ODD_TWINS)
        if name in kept
    ]
    edges = [edge for edge in ODD_EDGES if edge[0] in kept and edge[2] in kept]
    return build_graph(twins, edges)


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., LawGraph]:
    """`make_graph([(id, model, contents), ...], [(source, name, target, contents), ...])`."""
    return build_graph
