"""What SQL answers, the evaluator answers too; what SQL cannot say is declined."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.testing.query_contract import QueryEngineContract
from twinframe.testing.query_law import QueryLaw


class TestSqliteQueryEngine(QueryEngineContract):
    """SQL declines few of the texts."""

    declined = MappingProxyType(
        {
            "comparisons": 0.02,
            "arithmetic": 0.24,
            "arithmetic as written": 0.28,
            "aggregates": 0.11,
            "plain-aggregates": 0.02,
            "values": 0.18,
            "plain-values": 0.08,
            "others": 0.05,
            "shortest": 0.5,
            "correlated-calls as written": 1.0,
            "junctions": 0.63,
            "conditions": 0.65,
            "left-out": 1.0,
            "composed": 0.47,
            "known": 0.06,
            "pattern-values": 0.09,
            "computed": 0.39,
            "entity-lists": 0.35,
            "lists": 0.12,
            "lists as written": 0.13,
            "projections": 0.07,
            "spreads": 0.42,
            "plain-spreads": 0.14,
            "nulls": 0.15,
            "pitfalls": 0.53,
            "nulls as written": 0.27,
            "orders": 0.03,
        }
    )
    answered = 200
    run_whole = 150


@pytest.mark.parametrize(
    "inner",
    [
        "MATCH (a)-->(b) RETURN b ORDER BY b.$dtId LIMIT 1",
        "MATCH (a)-->(b) RETURN DISTINCT b.s AS b",
        "MATCH (a)-->(c) RETURN c.s AS b, count(*) AS n",
        "MATCH (a)-->(b) RETURN max(b.s) AS b",
        "MATCH (a)-->(z) RETURN z.s AS b",
        "WITH a.s AS s MATCH (a)-->(c {s: s}) RETURN c AS b",
        "MATCH (a)-->(b) RETURN b UNION WITH a MATCH (b)-->(a) RETURN b",
    ],
)
def test_a_subquery_to_be_run_for_each_row_apart_is_left_as_it_is(
    inner: str, query_law: QueryLaw, odd_graph: Any
) -> None:
    text = f"MATCH (a), (z:Sensor) CALL {{ WITH a {inner} }} RETURN a, b"
    query = parse_query(text).query
    as_written, optimized = (
        sorted(map(repr, evaluate(each, odd_graph, {}))) for each in (query, optimize(query))
    )
    assert as_written == optimized != []
    assert query_law.check(text).declined is not None


def test_a_value_beyond_sql_is_declined_while_running_and_never_answered(
    query_law: QueryLaw,
) -> None:
    for text, reason in (
        ("MATCH (t) WHERE t.x > 0 RETURN t.x + 1 AS v", "an integer overflow"),
        ("MATCH (t) RETURN 1 / size(t.$dtId) / 0 AS v", "the operator / undefined"),
        ("MATCH (t) WHERE t.m.k.z = 1 RETURN t", "a member of a scalar"),
        ("MATCH (t) WHERE t.flag OR t.x RETURN t", "a condition that is no boolean"),
        ("MATCH (t) RETURN t ORDER BY t.x", "an order of lists or maps"),
        ("MATCH (t) RETURN sum(t.x)", "sum() over another type"),
        ("MATCH (t:Room) RETURN sum(t.x * 2)", "an integer overflow"),
        ("UNWIND $l AS i RETURN sum(i)", "A sum of integers does not fit into 64 bits."),
    ):
        assert query_law.check(text, parameters={"l": [2**63 - 1, 1]}).declined == reason


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"x": 1.50, "s": "a"},
        {"s": "$5", "x": 1},
        {"part": {"$metadata": {"$lastUpdateTime": "2026"}, "x": 1}, "s": "a"},
        {"list": [{"$k": 1}], "k\"$": None, "": 2},
    ],
)  # fmt: skip
def test_properties_are_all_members_without_a_dollar_sign_however_deep_others_have_one(
    own: dict[str, Any], query_law: QueryLaw
) -> None:
    twins = [("a", "dtmi:ex:Room;1", own)]
    with query_law.open(twins, [("a", "has", "a", own)]) as graph:
        for text in (
            "MATCH (t)-[r]->() RETURN properties(t) AS p, properties(r) AS q",
            "MATCH (t)-[r]->() RETURN t {.*, s: 'new'} AS p, r {.*, .$targetId} AS q",
            "MATCH (t) OPTIONAL MATCH (t)-[r:nope]->(u) RETURN properties(u) AS p, r {.*} AS q",
        ):
            assert query_law.check(text, graph).declined is None
