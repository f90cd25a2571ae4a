"""What is compiled for real servers they answer as the evaluator does; skipped without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import orjson
import pytest

from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.testing.query_corpora import CORPORA, ORDERS, PARAMETERS
from twinframe.testing.query_law import (
    ODD_EDGES,
    ODD_TWINS,
    EdgeSketch,
    LawGraph,
    QueryLaw,
    TwinSketch,
    open_stored,
)
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.plugin import twinframe_query_engine

STRUCTURAL = (
    "MATCH (t:Room) RETURN t",
    "MATCH (a)-[r:has]->(b)-->(c) RETURN a, r, c.$dtId AS c",
    "MATCH (a {$dtId: 'a'})-[*1..2]->(b) RETURN b",
    "MATCH (a) OPTIONAL MATCH (a)-[:feeds]->(b) RETURN a, b",
    "MATCH (a)-[:has|feeds]->(b) RETURN b.$dtId AS b, count(*) AS n",
    "MATCH (a) WHERE a.s = 'foo' RETURN a.$dtId AS a ORDER BY a LIMIT 2",
    "MATCH (t) WHERE t.$dtId IN ['a', 'b', 'zz'] AND t:Space RETURN DISTINCT t",
    "MATCH (t) RETURN t.$metadata.$model AS m, count(*) AS n ORDER BY m LIMIT 9",
    "MATCH (t) WHERE EXISTS { (t)-[:has]->(:Room) } RETURN t",
    "MATCH (t:`dtmi:ex:Space;1`) RETURN t.$dtId AS i",
    "MATCH (t:`dtmi:ex:Room;1`)-[:has]->(u) RETURN t.$dtId AS t, u",
    "MATCH (t) WHERE EXISTS { (t)-[:has]->(:`dtmi:ex:Room;1`) } RETURN t",
    "MATCH (t) OPTIONAL MATCH (t)-[:has]->(u:`dtmi:ex:Space;1`) RETURN t, u",
    "MATCH (t:`dtmi:ex:deep:Hall;1`|Sensor) RETURN count(*) AS n",
    "MATCH (t:`dtmi:nope;1`) RETURN t",
)
"""What any SPARQL server should do right: patterns, ids and counts."""

WALKS = tuple(
    f"{match} WHERE EXISTS {{ {walk} }} RETURN a.$dtId AS a, b.$dtId AS b"
    for match, walk in product(
        ("MATCH (a)-[:has]->(b)", "MATCH (a), (b)", "MATCH (a:`dtmi:ex:Space;1`)-->(b)"),
        ("(b)-[:has*0..]->(a)", "(a)-[:has*]->(b)", "(a)-[:has|feeds*0..]-(b)"),
    )
)
"""Walks of any length between known ends."""

OPTIONAL_UNIONS = tuple(
    f"MATCH (a) OPTIONAL MATCH (a){walk}(b{label}) RETURN {columns}"
    for walk, label, columns in product(
        ("-[:has|feeds*1..3]-", "-[*1..3]->", "-[:has*1..4]-"),
        ("", ":Room"),
        ("a, b", "a.$dtId AS a, b.$dtId AS b"),
    )
)
"""Walks of bounded length that are optional."""

TWINS = orjson.loads(orjson.dumps(ODD_TWINS).replace(rb"\u0000", b""))
"""NOTE: Virtuoso takes no text with the character U+0000."""


@contextmanager
def open_law(
    server: Any,
    name: str,
    twins: Sequence[TwinSketch] = TWINS,
    edges: Sequence[EdgeSketch] = ODD_EDGES,
) -> Iterator[tuple[QueryLaw, LawGraph]]:
    """The law for this server, and this graph on it."""
    store = build_store(server.build_settings(), name)
    engine = twinframe_query_engine(store=store)
    assert isinstance(engine, SparqlQueryEngine)
    law = QueryLaw(engine, lambda twins, edges: open_stored(store, twins, edges))
    with law.open(twins, edges) as graph:
        yield law, graph


@pytest.fixture(scope="module")
def virtuoso_law(virtuoso: Any) -> Iterator[tuple[QueryLaw, LawGraph]]:
    with open_law(virtuoso, "law") as opened:
        yield opened


@pytest.fixture(scope="module")
def oxigraph_law(oxigraph_server: Any) -> Iterator[tuple[QueryLaw, LawGraph]]:
    with open_law(oxigraph_server, "law") as opened:
        yield opened


@pytest.fixture(params=["virtuoso_law", "oxigraph_law"])
def server_law(request: pytest.FixtureRequest) -> tuple[QueryLaw, LawGraph]:
    found: tuple[QueryLaw, LawGraph] = request.getfixturevalue(request.param)
    return found


def test_what_is_compiled_for_a_server_it_answers_as_the_evaluator_does(
    server_law: tuple[QueryLaw, LawGraph],
) -> None:
    law, graph = server_law
    compiled = 0
    for texts in (*CORPORA.values(), ORDERS):
        for text in texts[:: max(1, len(texts) // 12)]:
            compiled += law.check(text, graph, PARAMETERS, lenient=True).declined is None
    assert compiled > 20


def test_patterns_ids_and_counts_are_compiled_for_every_server(
    server_law: tuple[QueryLaw, LawGraph],
) -> None:
    law, graph = server_law
    answers = {text: law.check(text, graph).declined for text in STRUCTURAL}
    assert not any(answers.values()), answers


@pytest.mark.parametrize("text", WALKS + OPTIONAL_UNIONS)
def test_a_walk_or_an_optional_union_is_answered_as_the_evaluator_does_or_declined(
    text: str, server_law: tuple[QueryLaw, LawGraph]
) -> None:
    law, graph = server_law
    law.check(text, graph)


@pytest.mark.parametrize("name", ["virtuoso", "oxigraph_server"])
def test_long_ids_are_ordered_by_their_text(name: str, request: pytest.FixtureRequest) -> None:
    ids = [f"{'the-same-beginning-' * 5}{at * 7 % 20}" for at in range(20)]
    twins: list[TwinSketch] = [(x, "dtmi:ex:Room;1", {}) for x in ids]
    texts = ("MATCH (t) RETURN t.$dtId AS i ORDER BY i", "MATCH (t) RETURN t ORDER BY t DESC")
    with open_law(request.getfixturevalue(name), "order", twins, ()) as (law, graph):
        for text in texts:
            assert law.check(text, graph, ordered=True).declined is None


def test_a_condition_that_a_server_gets_wrong_stays_above_its_pattern(
    virtuoso_law: tuple[QueryLaw, LawGraph],
) -> None:
    law, _ = virtuoso_law
    query = optimize(parse_query("MATCH (a)-[:has]->(b) WHERE b.x > 1 RETURN b").query)
    execution = split(query, law.engine, {})
    (part,) = execution.parts
    assert not execution.is_whole
    assert "vocabulary:source" in part.compiled.text
    assert "FILTER" not in part.compiled.text
