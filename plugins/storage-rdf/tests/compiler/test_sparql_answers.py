"""What SPARQL answers, the evaluator answers too; what SPARQL cannot say is declined."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.testing.query_contract import QueryEngineContract
from twinframe.testing.query_law import QueryLaw


class TestSparqlQueryEngine(QueryEngineContract):
    """SPARQL declines more than SQL: it has no lists, maps and walks."""

    declined = MappingProxyType(
        {
            "comparisons": 0.07,
            "memberships": 0.24,
            "arithmetic": 0.38,
            "type-tests": 0.65,
            "patterns": 0.03,
            "walks": 0.69,
            "walks-between": 0.23,
            "aggregates": 0.35,
            "plain-aggregates": 0.22,
            "values": 0.38,
            "plain-values": 0.28,
            "optionals": 0.22,
            "plain-optionals": 0.22,
            "orders": 0.3,
            "plain-orders": 0.21,
            "subplans": 0.5,
            "others": 0.53,
            "paths": 0.8,
            "calls": 0.12,
            "correlated-calls": 0.42,
            "correlated-calls as written": 1.0,
            "junctions": 0.69,
            "conditions": 0.65,
            "left-out": 1.0,
            "composed": 0.24,
            "known": 0.12,
            "pattern-values": 0.8,
            "computed": 0.9,
            "entity-lists": 0.9,
            "lists": 0.99,
            "projections": 1.0,
            "spreads": 1.0,
            "plain-spreads": 1.0,
            "nulls": 0.49,
            "pitfalls": 0.65,
            "nulls as written": 0.55,
        }
    )
    answered = 140
    run_whole = 18
    unknown = 0.02


@pytest.mark.parametrize(
    "text",
    [
        "RETURN [1 / 0] AS l",
        "MATCH (t) RETURN rand() < 2 AS r",
        "MATCH (t) WHERE t.s < toString(date()) RETURN t",
        "UNWIND range(1, 100000) AS x RETURN sum(x) AS s",
        "CALL { RETURN [1] AS l, 1 AS a UNION RETURN [2] AS l, 1 AS a } RETURN a",
    ],
)
def test_errors_chance_clocks_and_long_lists_are_not_worked_out_before(
    text: str, query_law: QueryLaw
) -> None:
    query = parse_query(text).query
    with pytest.raises(CannotRun):
        query_law.engine.compile(query, {})


@pytest.mark.parametrize(
    "text",
    [
        "MATCH p = shortestPath((a {`$dtId`: 'a'})-[*..4]->(b {`$dtId`: 'c'})) RETURN p",
        "MATCH p = shortestPath((a {`$dtId`: 'a'})-[*]->(b {`$dtId`: 'c'})) RETURN length(p) AS n",
        "MATCH p = shortestPath((a:Room)-[*..4]->(b {`$dtId`: 'c'})) RETURN length(p) AS n",
        "MATCH p = shortestPath((a {x: 1})-[*..4]->(b {`$dtId`: 'c'})) RETURN length(p) AS n",
        "MATCH p = shortestPath(({`$dtId`: 'a'})-[*..4 {w: 1}]->({`$dtId`: 'c'})) RETURN p",
    ],
)
def test_other_shortest_paths_are_the_evaluators(text: str, query_law: QueryLaw) -> None:
    declined = ("A shortest path.", "One shortest path of several.")
    assert query_law.check(text).declined in declined
