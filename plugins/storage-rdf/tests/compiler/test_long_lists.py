"""A list that a value is looked up in is joined; where it cannot be, only a short one is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.testing.query_law import QueryLaw
from twinframe_storage_rdf.compiler.abilities import EVERYTHING, JOINS, Abilities
from twinframe_storage_rdf.compiler.bindings import MOST_MEMBERS
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.compiler.probes import PROBES
from twinframe_storage_rdf.mapping import GraphNames

NAMES = GraphNames("test")
LONG = [*range(-20, 20_000)]
JOINED = (
    "MATCH (a) WHERE a.x IN $l RETURN a",
    "MATCH (a) WHERE a.x IN $l AND a.y IN $l RETURN a.x AS x, a.$dtId AS i",
    "MATCH (a)-[r]->(b) WHERE r.w IN $l AND b.x IN $l RETURN a, r, b",
    "MATCH (a) WHERE a.x IN $l RETURN count(*) AS n",
    "MATCH (a)-->(b) WITH a, count(b) AS n WHERE a.x IN $l RETURN a.$dtId AS i, n",
)
OTHERS = (
    "MATCH (a) WHERE NOT a.x IN $l RETURN a",
    "MATCH (a) WHERE (a.x IN $l) IS NULL RETURN a",
    "MATCH (a) RETURN a.$dtId AS i, a.x IN $l AS v",
    "MATCH (a) WHERE a.x.k IN $l OR a.y IN $l RETURN a",
    "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) WHERE b.x IN $l RETURN a, b",
    "MATCH (a) WHERE EXISTS { MATCH (a)-->(b) WHERE b.x IN $l } RETURN a",
)


def compile_for(text: str, members: list[Any], abilities: Abilities = EVERYTHING) -> Any:
    query = optimize(parse_query(text, parameters=("l",)).query)
    return SparqlQueryEngine(NAMES, lambda: abilities).compile(query, {"l": members})


@pytest.mark.parametrize("members", [[1], [None, "a"], [True, 1.5], [2**63 - 1, None]])
@pytest.mark.parametrize("text", JOINED[:2])
def test_a_list_with_a_value_is_joined_whatever_is_in_the_graph(
    text: str, members: list[Any], query_law: QueryLaw
) -> None:
    values = (None, True, 2**63 - 1, -0.0, 1e308, "a", [1], {"k": None})
    twins = [(f"t{at}", "dtmi:ex:Room;1", {"x": x, "y": x}) for at, x in enumerate(values)]
    with query_law.open(twins) as graph:
        assert query_law.check(text, graph, {"l": members}).declined is None


@pytest.mark.parametrize("text", [*JOINED, *OTHERS])
def test_a_long_list_has_the_rows_of_a_short_one(text: str, make_graph: Callable[..., Any]) -> None:
    twins = [
        (f"t{at}", "dtmi:ex:Room;1", {"x": value, "y": -at})
        for at, value in enumerate((3, 4.0, 4.5, "3", True, None, [3], {"k": 7}, 30_000, -0.0))
    ]
    edges = [(f"t{at}", "has", f"t{(at * 7) % 10}", {"w": at}) for at in range(10)]
    graph = make_graph(twins, edges)
    query = optimize(parse_query(text, parameters=("l",)).query)

    def read(members: list[int], engine: SparqlQueryEngine | None) -> list[bytes]:
        parameters: dict[str, Any] = {"l": members}
        rows = split(query, engine, parameters).run_json(graph.session, parameters, Limits())
        try:
            with graph.session.snapshot():
                return sorted(body for body, _ in rows)
        except CannotRun:  # as the service does
            assert engine is not None
            return read(members, None)

    rows = read(LONG, SparqlQueryEngine(NAMES))
    assert rows
    assert rows == read([*range(-20, 10)], SparqlQueryEngine(NAMES))
    assert rows == read([*range(-20, 10)], None)


@pytest.mark.parametrize("text", JOINED)
def test_a_long_list_is_joined(text: str, make_graph: Callable[..., Any]) -> None:
    graph = make_graph([("a", "dtmi:ex:Room;1", {"x": 3, "y": 4})], [("a", "has", "a", {"w": 5})])
    compiled = compile_for(text, LONG)
    assert "{ VALUES ?x" in compiled.text
    assert len([*compiled.run_rows(graph.session, {"l": LONG})]) == 1


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("kind", [int, str])
def test_a_long_list_is_not_looked_through_for_each_row(
    kind: type, text: str, make_graph: Callable[..., Any]
) -> None:
    graph = make_graph([("a", "dtmi:ex:Room;1", {"x": 3})], [("a", "has", "a", {})])
    members = [kind(each) for each in LONG]
    with pytest.raises(CannotRun, match=r"elements|subquery|optional"):
        [*compile_for(text, members).run_rows(graph.session, {"l": members})]


def test_a_list_that_is_not_long_is_looked_through() -> None:
    compiled = compile_for(OTHERS[0], LONG[:MOST_MEMBERS])
    assert "IN $l" in compiled.text


def test_an_engine_that_does_not_join_by_term_is_given_no_join_of_numbers() -> None:
    known = frozenset(about for probe in PROBES for about in probe.about)
    lax = Abilities(known - {JOINS})
    text = "MATCH (a) WHERE a.x IN $l RETURN a.$dtId AS i"
    assert "VALUES" in compile_for(text, [1, 2.0], Abilities(known)).text
    assert "VALUES" not in compile_for(text, [1, 2.0], lax).text
    assert "VALUES ?x2 $l" in compile_for(text, ["a", "b"], lax).text
    assert "SELECT ?x2" not in compile_for(text, ["a", "b"], lax).text


def test_a_long_list_of_numbers_is_no_text_for_an_engine_that_reads_texts_slowly(
    make_graph: Callable[..., Any],
) -> None:
    lax = Abilities(frozenset(about for probe in PROBES for about in probe.about))
    graph = make_graph([("a", "dtmi:ex:Room;1", {"x": 3})], [])
    compiled = compile_for(JOINED[0], LONG, lax)
    with pytest.raises(CannotRun, match="elements"):
        [*compiled.run_rows(graph.session, {"l": LONG})]
    assert len([*compiled.run_rows(graph.session, {"l": LONG[:MOST_MEMBERS]})]) == 1
