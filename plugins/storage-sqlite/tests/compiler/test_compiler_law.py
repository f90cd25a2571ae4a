"""The law: what SQL answers, the evaluator answers too, over values that typing gets wrong.

Queries that the compiler declines are skipped by the law itself; how many those may be is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.errors import QueryInvalid
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.testing.query_corpora import (
    AGGREGATES,
    ARITHMETIC,
    CALLS,
    COMPARISONS,
    CONDITIONS,
    CORRELATED_CALLS,
    JUNCTIONS,
    LOGIC,
    MEMBERSHIPS,
    MODELS,
    OPTIONALS,
    ORDERS,
    OTHERS,
    PARAMETERS,
    PATHS,
    PATTERNS,
    STRINGS,
    SUBPLANS,
    TYPE_TESTS,
    VALUES,
    WALKS,
    build_each,
    build_filtered,
)
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine

Law = Callable[..., Any]


@pytest.mark.parametrize(
    ("texts", "declined"),
    [
        (COMPARISONS, 0.05),
        (MEMBERSHIPS, 0.05),
        (STRINGS, 0.0),
        (LOGIC, 0.0),
        (ARITHMETIC, 0.30),
        (TYPE_TESTS, 0.02),
        (MODELS, 0.0),
        (PATTERNS, 0.0),
        (WALKS, 0.0),
        (AGGREGATES, 0.15),
        (VALUES, 0.28),
        (OPTIONALS, 0.0),
        (SUBPLANS, 0.0),
        (OTHERS, 0.15),
        (PATHS, 0.0),
        (CALLS, 0.0),
    ],
    ids=[
        "comparisons",
        "memberships",
        "strings",
        "logic",
        "arithmetic",
        "type-tests",
        "models",
        "patterns",
        "walks",
        "aggregates",
        "values",
        "optionals",
        "subplans",
        "others",
        "paths",
        "calls",
    ],
)
def test_sql_and_evaluator_answer_alike(
    texts: Iterable[str], declined: float, law: Law, odd_graph: Any
) -> None:
    answers = [law(text, odd_graph, PARAMETERS) for text in texts]
    share = sum(answer.declined is not None for answer in answers) / len(answers)
    assert share <= declined


@pytest.mark.parametrize("text", CORRELATED_CALLS)
def test_a_subquery_that_reads_its_row_runs_in_sql(text: str, law: Law, odd_graph: Any) -> None:
    found = law(text, odd_graph, PARAMETERS, rewrite=optimize)
    assert found.declined is None
    assert found.rows


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
    inner: str, law: Law, odd_graph: Any
) -> None:
    text = f"MATCH (a), (z:Sensor) CALL {{ WITH a {inner} }} RETURN a, b"
    query = parse_query(text).query
    together = [freeze_rows(evaluate(each, odd_graph, {})) for each in (query, optimize(query))]
    assert together[0] == together[1] != []
    assert law(text, odd_graph, {}, rewrite=optimize).declined is not None


def freeze_rows(rows: Iterable[Any]) -> list[str]:
    return sorted(map(repr, rows))


def test_sql_and_evaluator_order_alike(law: Law, odd_graph: Any) -> None:
    answers = [law(text, odd_graph, PARAMETERS, ordered=True) for text in ORDERS]
    assert sum(answer.declined is not None for answer in answers) / len(answers) < 0.1


def test_a_value_beyond_sql_is_declined_while_running_and_never_answered(
    law: Law, odd_graph: Any
) -> None:
    for text, reason in (
        ("MATCH (t) WHERE t.x > 0 RETURN t.x + 1 AS v", "an integer overflow"),
        ("MATCH (t) RETURN 1 / size(t.$dtId) / 0 AS v", "the operator / undefined"),
        ("MATCH (t) WHERE t.m.k.z = 1 RETURN t", "a member of a scalar"),
        ("MATCH (t) WHERE t.flag OR t.x RETURN t", "a condition that is no boolean"),
        ("MATCH (t) RETURN t ORDER BY t.x", "an order of lists or maps"),
        ("MATCH (t) RETURN DISTINCT t.x", "grouping or comparing lists or maps"),
        ("MATCH (t) RETURN sum(t.x)", "sum() over another type"),
        ("MATCH (t:Room) RETURN sum(t.x * 2)", "an integer overflow"),
        ("UNWIND $l AS i RETURN sum(i)", "A sum of integers does not fit into 64 bits."),
    ):
        assert law(text, odd_graph, {"l": [2**63 - 1, 1]}).declined == reason


# --- generated ----------------------------------------------------------------------------------

TEXTS = st.text(alphabet="a1é\0😀\uffff", max_size=3)
SCALAR_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))),
    st.sampled_from((0.0, -0.0, 1.0, 0.1, 1e308, -1.5, float(2**53))),
    TEXTS,
)
JSON_VALUES = st.recursive(
    SCALAR_VALUES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("xk"), inner, max_size=2)
    ),
    max_leaves=4,
)
CONTENTS = st.dictionaries(st.sampled_from(("x", "y", "k", "a b")), JSON_VALUES, max_size=4)
EDGES = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from(("has", "feeds")),
    st.sampled_from("abc"),
    st.dictionaries(st.just("w"), SCALAR_VALUES, max_size=1),
)
LEAVES = st.sampled_from(
    [
        "a.`a b`",
        *[
            "a.x",
            "a.y",
            "b.x",
            "b.k",
            "a.x.k",
            "r.w",
            "a.$dtId",
            "b.$dtId",
            "$p",
            "$q",
            "1",
            "1.0",
            "'1'",
            "'a'",
            "true",
            "null",
            "a",
            "b",
            "r",
        ],
    ]
)


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(
        [
            *["=", "<>", "<", "<=", ">", ">=", "AND", "OR", "XOR", "+", "-", "*", "/", "%", "IN"],
            "STARTS WITH",
            "CONTAINS",
        ]
    )
    return st.one_of(
        st.builds("({} {} {})".format, inner, binary, inner),
        st.builds("(NOT {})".format, inner),
        st.builds("({} IS NULL)".format, inner),
        st.builds("coalesce({}, {})".format, inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("CASE {} WHEN {} THEN {} END".format, inner, inner, inner),
        st.builds("({} IN [{}, {}])".format, inner, inner, inner),
        st.builds("is_string({})".format, inner),
    )


EXPRESSIONS = st.recursive(LEAVES, _extend, max_leaves=6)
SHAPES = st.sampled_from(
    (
        "MATCH (a)-[r]->(b) WHERE {} RETURN a.$dtId AS a, b.$dtId AS b",
        "MATCH (a)-[r]->(b) WHERE NOT ({}) RETURN a, r, b",
        "MATCH (a)-[r]->(b) RETURN {} AS v",
        "MATCH (a)-[r]-(b) WITH a, r, b, {} AS v WHERE v IS NOT NULL RETURN v, b",
        "MATCH (a)-[r]->(b) WITH {} AS v RETURN DISTINCT v IS NULL AS n, count(*) AS c",
        "MATCH (a)-[r]->(b) WITH a, b, r LIMIT 99 WHERE {} RETURN a.x AS x, r.w AS w",
        "MATCH (a), (b)-[r:has]->() WHERE {} AND a.x > 0 AND b.k = a.k RETURN a, b",
    )
)


@settings(max_examples=400, deadline=None)
@given(
    contents=st.tuples(CONTENTS, CONTENTS, CONTENTS),
    edges=st.lists(EDGES, max_size=5),
    shape=SHAPES,
    expression=EXPRESSIONS,
    parameters=st.fixed_dictionaries({"p": SCALAR_VALUES, "q": SCALAR_VALUES}),
)
def test_generated_queries_over_generated_graphs_have_equal_rows(
    law: Law,
    make_graph: Callable[..., Any],
    contents: tuple[dict[str, Any], ...],
    edges: list[tuple[Any, ...]],
    shape: str,
    expression: str,
    parameters: dict[str, Any],
) -> None:
    twins = [(name, "dtmi:ex:Room;1", each) for name, each in zip("abc", contents, strict=True)]
    graph = make_graph(twins, edges)
    law(shape.format(expression), graph, parameters, lenient=True)


# What the types, a null or a check of the other operand decide: its error is not left out.
FAILING = ("t.s = t.list.k", "t.list.k IS NULL", "t.x + 1", "COUNT { (t)-->(u) WHERE u.x }")
LEFT_OUT = build_filtered(
    "t.$dtId <o> (<f>)",
    "null <o> (<f>)",
    "(<f>) <o> t.nope",
    "t.nope <o> (<f>)",
    "t.s <o> (<f>)",
    "CASE t.$dtId WHEN (<f>) THEN true END",
    "(<f>) IN []",
    "(<f>) IN null",
    "t.$dtId IN ['a', 'b', <f>]",
    "size(['a'] + [<f>] + t.nope) > 0",
    "is_string(<f>)",
    "t.nope IS NULL XOR (<f>)",
    "replace(t.s, null, toString(<f>)) = 'a'",
    "[<f>][null..] IS NULL",
    "sqrt([][<f>]) IS NULL",
    "any(z IN (<f>) WHERE t.nope)",
    o=("=", "<>", "<", "STARTS WITH", "ENDS WITH", "CONTAINS", "+", "%"),
    f=FAILING,
)


def test_errors_count_alike_where_another_operand_does_not_decide(law: Law, odd_graph: Any) -> None:
    texts = [*JUNCTIONS, *build_each(*CONDITIONS, a=("flag", "x", "s", "nope"))]
    for text in texts:
        law(text, odd_graph, PARAMETERS)


def test_no_operand_is_left_out_with_its_error(law: Law, odd_graph: Any, make_graph: Any) -> None:
    sound = {"s": "foo", "list": {"k": 1}, "x": 1}
    others = [("a", "dtmi:ex:Room;1", sound), ("b", "dtmi:ex:Room;1", {**sound, "s": 1, "x": None})]
    graph = make_graph(others, [("a", "has", "b", {})])
    for text in LEFT_OUT:
        for each in (odd_graph, graph):
            law(text, each, PARAMETERS, lenient=True)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("MATCH (t) WHERE t.s OR true RETURN t", 13),
        ("MATCH (t) WHERE true OR t.s RETURN t", 13),
        ("MATCH (t) WHERE NOT (t.s AND false) RETURN t", 13),
        ("MATCH (t) WHERE 1 / 0 = 1 OR t.s IS NOT NULL RETURN t", 13),
        ("MATCH (t) WHERE t.x AND t.$dtId = 'd' RETURN t", 1),
        ("MATCH (t)-->(u) WHERE t.s AND u.$dtId = 'none' RETURN t", 0),
        ("MATCH (t) WITH t LIMIT 99 WHERE t.nope AND t.s RETURN t", 0),
        ("MATCH (t) WITH t LIMIT 99 WHERE t.s AND t.nope RETURN t", 0),
        ("MATCH (t) WITH t LIMIT 99 WHERE NOT (t.nope OR t.s) RETURN t", 0),
        ("MATCH (t) WHERE CASE WHEN t.nope AND t.s THEN false ELSE true END RETURN t", 13),
        ("MATCH (t) WHERE [x IN [t.s] WHERE t.nope AND x] = [] RETURN t", 13),
        ("MATCH (t) WHERE any(x IN [true, t.s] WHERE x) RETURN t", 13),
        ("MATCH (t) WHERE any(x IN [t.s] WHERE t.nope AND x) RETURN t", 0),
        ("MATCH (t) WHERE NOT all(x IN [t.s, false] WHERE x) RETURN t", 13),
        ("MATCH (t) WHERE NOT none(x IN [t.s, true] WHERE x) RETURN t", 13),
        ("MATCH (t) WHERE NOT single(x IN [true, t.s, true] WHERE x) RETURN t", 13),
    ],
)
def test_an_operand_that_decides_does_so_whatever_the_other_one_is(
    text: str, rows: int, law: Law, odd_graph: Any
) -> None:
    found = law(text, odd_graph, {})
    assert found.declined is not None or len(found.rows) == rows
    query = parse_query(text).query
    for each in (query, optimize(query)):
        assert len(list(evaluate(each, odd_graph, {}))) == rows


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) WHERE t.s OR false RETURN t",
        "MATCH (t) WHERE t.s AND true RETURN t",
        "MATCH (t) WHERE t.nope OR t.s RETURN t",
        "MATCH (t) WHERE NOT (t.nope AND t.s) RETURN t",
        "MATCH (t) RETURN t.nope AND t.s AS v",
        "MATCH (t) WHERE (t.nope AND t.s) IS NULL RETURN t",
        "MATCH (t) WHERE all(x IN [true, t.s] WHERE x) RETURN t",
        "MATCH (t) WHERE single(x IN [true, t.s] WHERE x) RETURN t",
        "MATCH (t) RETURN CASE WHEN t.s THEN 1 END",
        "MATCH (t)-->(u) WHERE t.s AND u.s > '' RETURN t",
    ],
)
def test_a_value_that_is_no_boolean_is_an_error_where_nothing_else_decides(
    text: str, odd_graph: Any
) -> None:
    query = parse_query(text).query
    with pytest.raises(QueryInvalid, match="takes a Boolean, not String"):
        list(evaluate(query, odd_graph, {}))
    with pytest.raises(CannotRun):
        list(SqliteQueryEngine().compile(query, {}).run_rows(odd_graph, {}))
