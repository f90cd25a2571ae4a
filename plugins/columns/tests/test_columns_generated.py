"""Random queries about many twins, over random graphs, are answered as the evaluator does."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import pytest
from hypothesis import given

from twinframe.testing.contracts.query_generated import generated
from twinframe.testing.query_law import EdgeSketch, QueryLaw, TwinSketch
from twinframe_columns.aggregates import leave_out_nulls
from twinframe_columns.comparing import compare

MISSING = object()
MODELS = ("dtmi:ex:Room;1", "dtmi:ex:Space;1", "dtmi:ex:Sensor;1", "dtmi:ex:deep:Hall;1")
POOLS: Mapping[str, tuple[Any, ...]] = {
    "integers": (0, 1, 2, 3, -7, 5, None),
    "floats": (0.5, 1.5, -2.25, 0.0, -0.0, 1e10, None),
    "texts": ("a", "b", "ab", "é", "😀", "a\uffff", "", None),
    "booleans": (True, False, None),
    "scalars": (1, 2.5, "a", "1", True, False, None, 7),
    "numbers": (1, 2, 2.5, MISSING, MISSING),
    "anything": (
        *(1, 1.0, "a", True, None, [1], [], {}, {"k": 1}, {"k": "a"}, 2**53, 2**53 + 1),
        *(-(2**63), 2.0**63, 1e308, -1e308, 5e-324, -0.0),
    ),
}
PATTERNS = (
    *("(a)", "(a:Room)", "(a)-[r]->(c)", "(a)-[r:has]-(c)", "(a)<-[r:has|feeds]-(c:Room)"),
    *("(a)-[r:has]->(b)-[q:has]->(c)", "(a)-[r:has]-(b)-[q:has]-(c)", "(a)-[r]->(b)<-[q]-(c)"),
    *("(a)<-[r:has]-(b)-[q:has]->(c)", "(a)-[r:has]-(b)-[q:has]-(c)-[:feeds]->(d)"),
    *("(a)-[r:has]->(b)-[q:has]->(c)-[p:has]->(a)", "(a)-[r]-(b)-[q]-(c)-[p]-(a)"),
    *("(a)-[r:has]->(c), (a)-[q:has]->(c)", "(a)-[r]-(c), (b)-[q]-(c)", "(a)-[r]->(a), (c)"),
    *("(a)-[r:has]->(b), (a)-[q:has]->(c), (a)-[p:has]->(d)", "(a {x: 1})-[r {w: 1}]->(c)"),
    *("(a)-[:has*1..3]->(c)", "(a)-[:has*0..2]-(c)", "(a)-[:has*2]->(b)-[r:feeds]->(c)"),
    *("(a), (c)", "(a:Room), (b)-[r]->(c)", "(c)-[r:isPartOf]->(b)-[q:isPartOf]->(a)"),
    *("(a)-[r:has]->(c)-[q:has]->(a)", "(a)-[r:has]->(b)-[q:has]->(c)-[p:has]->(d)"),
)
CONDITIONS = (
    *("a <> c", "NOT a = c", "a.$dtId <> c.$dtId", "a.x > c.x", "a.s = c.s", "a.x = c.y"),
    *("a.x > 0", "c.x <= 1.5", "a.s STARTS WITH 'a'", "c.s CONTAINS 'b'", "a.flag", "NOT c.flag"),
    *("a.x IN [1, 2, 'a', null]", "c.s IN $texts", "a.x IS NULL", "c.y IS NOT NULL"),
    *("a.$dtId IN ['t0', 't3', 'none']", "c.$dtId = 't1'", "a:Room", "NOT c:Space|Sensor"),
    *("EXISTS { (a)-[:has]->(:Room) }", "NOT (a)-[:feeds]-(c)", "NOT (c)-[:has]->()"),
    *("COUNT { (a)-->() } > 1", "EXISTS { MATCH (c)-[z:has]->(y) WHERE y.x > a.x }"),
    *("a.x + 1 > c.x * 2", "a.x % 2 = 1", "toUpper(a.s) = 'A'", "size(c.s) < 2", "-a.x < c.y"),
    *("coalesce(a.x, 0) < 2", "CASE WHEN is_number(a.x) THEN a.x > 1 ELSE c.flag END"),
    *("is_string(a.x) OR a.x > 1", "a.x = 1 XOR c.flag", "is_of_model(a, 'dtmi:ex:Space;1')"),
    *("a.s < c.s", "a.x = c.$dtId", "a.$metadata.$model = c.$metadata.$model", "a.m.k = 1"),
    *("is_defined(a.x)", "NOT is_defined(c.flag)", "is_primitive(c.m)", "is_null(a.flag)"),
    *("a.s + '!' = 'a!'", "abs(a.x) >= 1", "a.s =~ 'a.*'", "c.x / 2 > 1"),
    *("any(v IN [1, 'a', c.x] WHERE a.x = v)", "all(v IN [a.x, c.y] WHERE v > 0)"),
    *("none(v IN $list WHERE v = a.x)", "single(v IN [a.x, a.y, c.x] WHERE v > 0)"),
    *("a.x IN [c.x, c.y, null]", "size([v IN [a.x, a.y, c.x] WHERE v > 0]) > 1"),
    *("[a.x, c.x][1] > 0", "(['a'] + a.s)[1] = c.s", "a IN [c, null]", "a {.x, k: c.s}.k = 'a'"),
    "EXISTS { MATCH (a)-[:has]->(y) MATCH (y)-[:feeds]-(z) WHERE z.x > a.x RETURN y }",
    "COUNT { MATCH (a)-->(y) WITH DISTINCT y.s AS s RETURN s } > 1",
    "EXISTS { MATCH (c)-->(y) WITH count(*) AS n WHERE n > 1 RETURN n }",
    "COUNT { MATCH (a)-->(y) RETURN y.s AS s UNION MATCH (c)<--(y) RETURN y.s AS s } > 1",
    "COUNT { MATCH (a)-->(y) RETURN y SKIP 1 LIMIT 1 } = 1",
    "2 IN [(a)-->(y) WHERE y.x IS NOT NULL | y.x]",
    *("toLower(a.s) CONTAINS 'b'", "left(a.s, 1) = 'a'", "substring(c.s, 1, 1) < 'b'"),
    *("replace(a.s, 'a', 'bb') STARTS WITH 'bb'", "right(c.s, 1) IN ['a', 'é']"),
    *("a.s + c.s STARTS WITH 'ab'", "a.x ^ 2 > 1", "sqrt(a.x) < 2", "c.s =~ '(?i).*B.*'"),
    *("CASE a.x WHEN 1 THEN c.x > 1 WHEN c.x THEN true ELSE a.flag END",),
    *("CASE WHEN a.flag THEN a.x WHEN c.x > 1 THEN -c.y ELSE 0.5 END > 1",),
    *("toUpper(a.s) <> toUpper(c.s)", "size(a.s + 'x') > 2", "left(a.x, 1) = 'a'"),
)
RETURNS = (
    *("count(*) AS n", "count(*) AS n, count(a.x) AS m, count(DISTINCT c) AS k", "count(c) AS n"),
    *("a.s AS s, count(*) AS n", "a.x AS x, c.flag AS f, count(*) AS n", "sum(a.x) AS s"),
    *("c.s AS s, avg(a.x) AS m, min(a.x) AS l, max(c.y) AS h", "avg(c.x) AS m, sum(c.y) AS s"),
    *("min(a.s) AS l, max(a.s) AS h", "min(a.x) AS l, max(a.x) AS h, min(a.flag) AS f"),
    *("count(DISTINCT a.x) AS n, sum(DISTINCT c.x) AS s", "stDev(a.x) AS d, stDevP(c.x) AS e"),
    *("percentileCont(a.x, 0.3) AS p, percentileDisc(a.x, 0.7) AS q", "DISTINCT a, c.s AS s"),
    *("DISTINCT a.x AS x", "a.$dtId AS a, c.$dtId AS c", "a.x + c.x AS v, a.s AS s", "a, c.x AS x"),
    *("c.$metadata.$model AS m, count(*) AS n", "a.$dtId AS a, COUNT { (a)-[:has]->() } AS n"),
    *("a.x AS x, c.x AS y, a.s AS s ORDER BY x, y DESC, s LIMIT 100", "toString(a.x) AS t"),
    *("CASE WHEN a.x > 1 THEN a.s ELSE c.x END AS v", "coalesce(a.x, c.s, 'none') AS v"),
    *("size(collect(a.x)) AS n, size(collect(DISTINCT c.s)) AS m", "DISTINCT [a.x, c.y] AS l"),
    *("a.s AS s, size([v IN collect(c.x) WHERE v > 0 | 1]) AS n", "[a.x, c.s] AS l, count(*) AS n"),
    *("a.s AS s, any(v IN collect(c.x) WHERE v > 1) AS v", "head(collect(a.x)) IS NULL AS h"),
    *("a.x AS x, all(v IN collect(c.x) WHERE v > 0) AS v", "a.x AS x, a.x IN collect(c.x) AS v"),
    *("{k: a.x, l: [a.x, c.s]} AS m", "a {.x, .s, c} AS m", "[a, c][1].s AS s, [[a.x], []] AS l"),
    *(
        "a.$dtId AS i, reduce(t = 0, v IN [a.x, c.x] | t + v) AS t",
        "a {.x, n: 1} AS m, count(*) AS n",
    ),
    *("size([a.x] + [c.x, c.s]) AS n, ([a.x, c.x] + a.s)[2] AS v", "[a.x, c.x, a.s][..2] AS l"),
    *("reverse([a.x, c.s]) AS l, last(tail([a.x, c.s])) AS v", "[a.x, c.x][size(a.s)] AS v"),
    *("a.$dtId AS i, size([(a)-[:has]->(z) WHERE z.x > c.x | z.s]) AS n", "collect(null) AS l"),
    *("labels(a) AS l, count(*) AS n", "a.s + c.s AS v, log(a.x) AS l", "avg(exp(c.x)) AS e"),
    *("sum(CASE WHEN a.flag THEN 1 ELSE 0 END) AS n", "avg(CASE WHEN c.x > 1 THEN a.x END) AS v"),
    *("CASE WHEN a.x > 1 THEN 'much' WHEN c.flag THEN 'some' END AS k, count(*) AS n",),
    *("CASE WHEN c.flag THEN a.x WHEN a.y > 0 THEN -c.y ELSE 0.5 END AS v, a.s AS s",),
    *("CASE a.s WHEN 'a' THEN 1 WHEN c.s THEN 2.5 ELSE null END AS v", "sum(a.x + c.x * 2) AS v"),
    *("toUpper(a.s) AS u, count(*) AS n", "left(a.s, 1) AS u, min(toLower(c.s)) AS l"),
    *("a.s + 'x' AS v, reverse(c.s) AS r ORDER BY v, r LIMIT 50", "DISTINCT trim(a.s) AS t"),
)
ENDS = (
    *(("MATCH {p} WHERE {c} RETURN {r}",) * 4),
    "MATCH {p} WHERE {c} AND {d} RETURN {r}",
    "MATCH {p} WHERE {c} OR {d} RETURN {r}",
    "MATCH {p} WITH a, c WHERE {c} RETURN {r}",
    "MATCH {p} WHERE {c} WITH DISTINCT a, c MATCH (c)-[:has]->(e) WHERE {d} RETURN {r}",
    "MATCH {p} WHERE {c} OPTIONAL MATCH (c)-[z:has]->(e) WHERE e.x > 0 RETURN count(z) AS z, {r}",
    "MATCH (a) OPTIONAL MATCH (a)-[:has]->(c) WHERE {c} RETURN {r}",
    "MATCH (a) OPTIONAL MATCH (a)-[:has]->(b) OPTIONAL MATCH (b)-[z]-(c) RETURN {r}",
    "MATCH {p} WITH a, c, count(*) AS w WHERE w > 1 OR {c} RETURN {r}",
    "UNWIND $list AS u MATCH {p} WHERE a.x = u AND {c} RETURN {r}",
    "UNWIND $maps AS u MATCH {p} WHERE a.x = u.x AND {c} WITH a, c, u.k AS k RETURN {r}",
    "MATCH {p} WITH a, collect(c) AS l UNWIND l AS c WITH a, c WHERE {c} RETURN {r}",
    "MATCH {p} WITH a, collect(DISTINCT c) AS l WHERE size(l) > 1 UNWIND l AS c RETURN {r}",
    "MATCH {p} WITH a, c ORDER BY c.$dtId WITH a, collect(c)[..2] AS l UNWIND l AS c RETURN {r}",
    (
        "MATCH {p} WHERE {c} CALL {{ WITH a MATCH (a)-->(e) RETURN count(e) AS k, max(e.x) AS j }}"
        " WITH a, c, k, j WHERE k > 1 OR j > 1 RETURN {r}"
    ),
    (
        "MATCH {p} CALL {{ WITH c MATCH (c)-->(e) WHERE e.x > 0 RETURN e"
        " ORDER BY e.$dtId DESC LIMIT 1 }} WITH a, e AS c WHERE {c} RETURN {r}"
    ),
    (
        "MATCH (a) CALL {{ WITH a MATCH (a)-->(c) RETURN c"
        " UNION ALL WITH a MATCH (a)<--(c) RETURN c }} WITH a, c WHERE {c} RETURN {r}"
    ),
    (
        "MATCH (a) CALL {{ WITH a OPTIONAL MATCH (a)-[:has]->(c) RETURN c, count(*) AS n }}"
        " WITH a, c, n WHERE n > 1 OR {c} RETURN {r}"
    ),
    "MATCH (a) CALL {{ MATCH (c:Room) RETURN collect(c) AS l }} WITH a, l UNWIND l AS c RETURN {r}",
    (
        "MATCH q = (a)-[w:has*1..3]->(c) WHERE all(z IN w WHERE z.w = 1) OR {c} WITH a, c, q"
        " WHERE size(nodes(q)) > 2 OR {d} RETURN {r}"
    ),
    (
        "MATCH q = (a)-[w*0..2]-(b)-[v:feeds|has]->(c) WHERE {c} AND length(q) > 1 AND none(z IN w"
        " WHERE z.w = '1') UNWIND nodes(q) AS n WITH n AS a, c RETURN {r}"
    ),
    (
        "MATCH (a)<-[w:has*1..2]-(b), (b)-[v:has]-(c) WHERE {c} UNWIND w AS z WITH a, c, z"
        " ORDER BY z.w RETURN {r}"
    ),
    (
        "MATCH (a) OPTIONAL MATCH q = (a)<-[:has*1..2]-(c) WITH a, c, size(relationships(q)) AS n"
        " WHERE n > 1 OR {c} RETURN {r}"
    ),
    (
        "MATCH q = (a)-[v]->(b)<-[w:has]-(c) UNWIND relationships(q) AS z WITH a, c, type(z) AS t"
        " WHERE t = 'has' RETURN {r}"
    ),
    "MATCH {p} WHERE {c} RETURN {r} UNION ALL MATCH (a)-->(c) RETURN {r}",
)
PARAMETERS = {
    "texts": ["a", "é", "none"],
    "list": [1, 1.5, "a", None, 1],
    "maps": [{"x": 1, "k": 1}, {"x": 2}, None, {"k": 1, "x": None}],
}

SETTINGS = {
    "as it is": {},
    "always by weights": {"patterns._WORTH_WEIGHING": 10**9, "patterns._WORTH_COUNTING": 0},
    "as with many twins": {
        "vectors._MANY": 0,
        "candidates._MANY": -1,
        "candidates._REACHED_PART": 0,
        "grouping._PART": 1,
        "counting._FEW": 0,
        "patterns._WORTH_COUNTING": 0,
        "problem._FEW": 0,
    },
    "never by weights": {
        "patterns._WORTH_WEIGHING": -1,
        "counting._MOST_SPLITS": 0,
        "branches._MOST": 0,
    },
}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[TwinSketch], list[EdgeSketch]]:
    """Few twins of few values, so that much is equal, and relationships in each other's way."""
    count = draw(st.integers(0, 7))
    pools = {name: draw(st.sampled_from(sorted(POOLS))) for name in ("x", "y")}
    chance = draw(st.randoms(use_true_random=False))
    return build_graph(chance, count, pools)


def build_graph(
    chance: random.Random, count: int, pools: Mapping[str, str]
) -> tuple[list[TwinSketch], list[EdgeSketch]]:
    """Make twins with members of these pools, some of which are missing."""
    twins: list[TwinSketch] = []
    for at in range(count):
        contents = {name: chance.choice((*POOLS[pool], MISSING)) for name, pool in pools.items()}
        contents["s"] = chance.choice(POOLS["texts"])
        contents["flag"] = chance.choice((True, False, None, MISSING))
        contents["m"] = chance.choice(({"k": 1}, {"k": "a"}, {}, None, MISSING))
        present = {name: one for name, one in contents.items() if one is not MISSING}
        twins.append((f"t{at}", chance.choice(MODELS), present))
    edges: list[EdgeSketch] = []
    for _ in range(chance.randint(0, 14) if count else 0):
        source, target = chance.randrange(count), chance.randrange(count)
        name = chance.choice(("has", "has", "has", "feeds", "isPartOf"))
        edges.append((f"t{source}", name, f"t{target}", {"w": chance.choice((1, 2, 1.5, "1"))}))
        if chance.random() < 0.2:
            edges.append(edges[-1])
    return twins, edges


def write_query(chance: random.Random) -> str:
    """Put a query together."""
    pattern, end = chance.choice(PATTERNS), chance.choice(ENDS)
    if "c" not in pattern:
        pattern += "-->(c)" if chance.random() < 0.7 else ", (c)"
    first, second = chance.choice(CONDITIONS), chance.choice(CONDITIONS)
    result = chance.choice(RETURNS)
    if "UNION" in end and "ORDER" in result:
        result = "count(*) AS n"
    if "count(z)" in end and (result.startswith("DISTINCT") or "COUNT {" in result):
        result = "count(*) AS n"
    return end.format(p=pattern, c=first, d=second, r=result)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("state", ["new", "worn"])
@generated(40)
@given(graph=graphs(), chance=st.randoms(use_true_random=False))
def test_random_queries_are_answered_as_by_the_evaluator(
    setting: str,
    state: str,
    query_law: QueryLaw,
    worn_law: QueryLaw,
    graph: tuple[list[TwinSketch], list[EdgeSketch]],
    chance: random.Random,
) -> None:
    """Whatever is matched, counted or followed."""
    check_queries(worn_law if state == "worn" else query_law, setting, graph, chance)


def check_queries(
    law: QueryLaw,
    setting: str,
    graph: tuple[list[TwinSketch], list[EdgeSketch]],
    chance: random.Random,
) -> int:
    """Check some queries on a graph; return how many of them are answered."""
    answered = 0
    with law.open(*graph) as opened:
        patches = [
            patch(f"twinframe_columns.{name}", value) for name, value in SETTINGS[setting].items()
        ]
        for one in patches:
            one.start()
        try:
            for _ in range(4):
                found = law.check(write_query(chance), opened, PARAMETERS, lenient=True)
                answered += found.declined is None
        finally:
            for one in patches:
                one.stop()
    return answered


def test_most_random_queries_are_answered(query_law: QueryLaw) -> None:
    """Else the law above says little."""
    answered = 0
    for seed in range(60):
        chance = random.Random(seed)
        graph = build_graph(chance, 6, {"x": "integers", "y": "floats"})
        answered += check_queries(query_law, "as it is", graph, chance)
    assert answered > 180


def test_values_that_several_aggregates_read_are_computed_once(query_law: QueryLaw) -> None:
    chance = random.Random(3)
    graph = build_graph(chance, 7, {"x": "numbers", "y": "scalars"})
    text = (
        "MATCH (a) RETURN min(a.x) AS a, max(a.x) AS b, avg(a.x) AS c, max(a.x * 1) AS d, "
        "max(a.x * 1.0) AS e, count(a.x) AS f, count(DISTINCT a.x) AS g"
    )
    with (
        query_law.open(*graph) as opened,
        patch("twinframe_columns.operators.leave_out_nulls", wraps=leave_out_nulls) as called,
    ):
        found = query_law.check(text, opened, {}, lenient=True)
    assert found.declined is None
    # NOTE: the law asks for values and for JSON, and `a.x`, `a.x * 1` and `a.x * 1.0` are three.
    assert called.call_count == 6


def test_conditions_are_tested_on_the_twins_alone_that_an_id_leads_to(query_law: QueryLaw) -> None:
    twins: list[TwinSketch] = [(f"t{at}", MODELS[0], {"x": at, "s": "a"}) for at in range(200)]
    edges: list[EdgeSketch] = [(f"t{at}", "has", f"t{at + 1}", {}) for at in range(199)]
    tested: list[int] = []

    def watch(operator: Any, left: Any, right: Any, count: int) -> Any:
        tested.append(count)
        return compare(operator, left, right, count)

    with (
        query_law.open(twins, edges) as opened,
        patch("twinframe_columns.expressions.compare", watch),
    ):
        for text in (
            "MATCH (a {`$dtId`: 't7'})-[:has]-(b) WHERE b.x > 6 RETURN b.x AS x",
            "MATCH (a) WHERE a.$dtId IN ['t1', 't9'] MATCH (a)-[:has]->(b {s: 'a'}) RETURN b.x",
            "MATCH (a {`$dtId`: 't7'})-[:has*1..3]->(b) WHERE b.x > 8 RETURN count(*) AS n",
        ):
            assert query_law.check(text, opened, {}, lenient=True).declined is None
    assert tested
    assert max(tested) <= 10
