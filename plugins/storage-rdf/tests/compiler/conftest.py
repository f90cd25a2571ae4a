"""Small graphs as triples, and the law that compiled SPARQL is held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import pytest

from twinframe.storage.base import GraphSession
from twinframe.testing.query_law import LawGraph, QueryLaw, open_stored
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.store import RdfStore

NAMES = GraphNames("test")


def open_graph(
    twins: Sequence[Any], edges: Sequence[Any], engine: Engine | None = None
) -> AbstractContextManager[GraphSession]:
    """The graph as triples in `engine`."""
    return open_stored(RdfStore(engine or OxigraphEngine(), NAMES, shared=False), twins, edges)


@pytest.fixture(scope="session")
def query_law() -> Iterator[QueryLaw]:
    """The law of this engine."""
    law = QueryLaw(SparqlQueryEngine(NAMES), open_graph)
    yield law
    law.close()


@pytest.fixture(scope="session")
def odd_graph(query_law: QueryLaw) -> LawGraph:
    """Thirteen twins whose properties hold what typing gets wrong, and a few cycles."""
    return query_law.odd


@pytest.fixture
def make_graph(query_law: QueryLaw) -> Iterator[Callable[..., LawGraph]]:
    """`make_graph([(id, model, contents), ...], [(source, name, target, contents), ...])`."""
    with ExitStack() as opened:
        yield lambda twins, edges: opened.enter_context(query_law.open(twins, edges))
