"""Joins: any order and any grouping in between answers alike, and the kept counts choose well."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.testing.query_law import QueryLaw
from twinframe_storage_sqlite.compiler import choice
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.compiler.estimates import Estimates
from twinframe_storage_sqlite.compiler.joins import JoinGraph
from twinframe_storage_sqlite.compiler.orders import JoinOrder, choose_order
from twinframe_storage_sqlite.session import SqliteSession

CHANCES = st.randoms(use_true_random=False)
MODELS = ("dtmi:ex:Space;1", "dtmi:ex:Room;1", "dtmi:ex:Sensor;1")
NAMES = "abcd"
RETURNS = (
    *("count(*) AS n", "count({0}) AS n", "{0}.x AS k, count(*) AS n", "{0} AS k, count({1}) AS n"),
    *("{0}.x AS k, {1}.$dtId AS i, count(*) AS n", "{0}.$dtId AS i, {1}.x AS x"),
    *("DISTINCT {0}.x AS x", "count(DISTINCT {0}.x) AS n", "{0} AS k, count(DISTINCT {1}.x) AS n"),
    *("{0}:Room AS k, count(*) AS n", "exists(({0})-[:feeds]->()) AS k, count(*) AS n"),
)
CONDITIONS = (
    *("{0} <> {1}", "{0}.x = {1}.x", "{0}.x > 1", "{0}.$dtId = 't1'", "NOT ({0})-[:has]-({1})"),
    *("{0}.$dtId STARTS WITH 't'", "{0}.$dtId <> 'r1.id'", "exists(({0})-[:has]->({{x: 1}}))"),
    *("{0}.x + {1}.x > 2", "({0})-[:feeds]-()-[:has]-({1})", "{0} = {1}"),
)


def write_graph(dice: random.Random) -> tuple[list[Any], list[Any]]:
    """Some twins, and relationships of which many are parallel, in cycles, or loops."""
    twins = [(f"t{i}", dice.choice(MODELS), {"x": dice.randrange(3)}) for i in range(5)]
    edges = [
        (f"t{dice.randrange(5)}", dice.choice(("has", "feeds")), f"t{dice.randrange(5)}", {})
        for _ in range(dice.randrange(6, 12))
    ]
    return twins, edges


def write_pattern(dice: random.Random) -> str:
    """A query of two to four relationships over four variables, in one MATCH or several."""
    parts, used = [], [dice.choice(NAMES)]
    for _ in range(dice.randrange(2, 5)):
        ends = [dice.choice(used), dice.choice(NAMES)]
        used += ends
        names = dice.choice((":has", ":feeds", ":has|feeds", ""))
        left, right = (f"({end}{dice.choice(('', '', ':Room', ':Space'))})" for end in ends)
        form = dice.choice(("{}-[{}]->{}", "{}<-[{}]-{}", "{}-[{}]-{}"))
        parts.append(form.format(left, names, right))
    several = dice.random() < 0.3
    text = "MATCH " + (" MATCH " if several else ", ").join(parts)
    ends = [dice.choice(used), dice.choice(used)]
    if dice.random() < 0.7:
        text += " WHERE " + dice.choice(CONDITIONS).format(*ends)
    if dice.random() < 0.15:
        text += f" OPTIONAL MATCH ({ends[0]})-[:has]->(z)"
    return f"{text} RETURN " + dice.choice(RETURNS).format(*reversed(ends))


@pytest.fixture
def reorder(monkeypatch: pytest.MonkeyPatch) -> Callable[[random.Random], None]:
    """`reorder(dice)` lets chance decide the orders of joins, and after which rows are grouped."""

    def apply(dice: random.Random) -> None:
        def choose_any(
            graph: JoinGraph, estimates: Estimates, keys: Collection[str] | None = None
        ) -> JoinOrder:
            chosen = choose_order(graph, estimates, keys)
            tables = dice.sample(chosen.tables, len(chosen.tables))
            cuts = frozenset(i for i in range(len(tables)) if dice.random() < 0.5)
            # NOTE: the parts of a sum, which have no inequality, cost less than the whole, or more.
            whole = any(" <> " in each.text for each in graph.conditions)
            cost = dice.choice((1e6, 1.0)) if whole else 1.0
            return JoinOrder(tuple(tables), chosen.rows, cuts, cost)

        monkeypatch.setattr(choice, "choose_order", choose_any)

    return apply


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(CHANCES)
def test_any_order_and_grouping_of_joins_answers_as_the_evaluator(
    query_law: QueryLaw, reorder: Callable[[random.Random], None], dice: random.Random
) -> None:
    reorder(dice)
    with query_law.open(*write_graph(dice)) as graph:
        for _ in range(8):
            text = write_pattern(dice)
            assert query_law.check(text, graph).declined is None, text


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHANCES)
def test_the_order_chosen_answers_as_the_evaluator(
    query_law: QueryLaw, dice: random.Random
) -> None:
    with query_law.open(*write_graph(dice)) as graph:
        for _ in range(8):
            query_law.check(write_pattern(dice), graph)


# --- what is chosen -----------------------------------------------------------------------------

ROOM, SENSOR, SPACE = "dtmi:ex:Room;1", "dtmi:ex:Sensor;1", "dtmi:ex:Space;1"


@pytest.fixture(scope="module")
def skewed(make_graph: Callable[..., SqliteSession]) -> SqliteSession:
    """Two spaces, 40 rooms and 1,200 sensors, which are in few rooms; the rooms are a ring with a
    hub.
    """
    twins = [(f"space{i}", SPACE, {"x": i}) for i in range(2)]
    twins += [(f"room{i}", ROOM, {"x": i}) for i in range(40)]
    twins += [(f"sensor{i}", SENSOR, {"x": i % 50}) for i in range(1200)]
    edges = [(f"space{i % 2}", "has", f"room{i}") for i in range(40)]
    edges += [(f"sensor{i}", "in", f"room{i * i % 40}") for i in range(1200)]
    edges += [(f"room{i}", "next", f"room{(i + 1) % 40}") for i in range(40)]
    edges += [("room0", "next", f"room{i}") for i in range(2, 40)]
    return make_graph(twins, edges)


def compile_text(text: str) -> SqliteQuery:
    compiled = SqliteQueryEngine().compile(optimize(parse_query(text).query), {})
    assert isinstance(compiled, SqliteQuery)
    return compiled


def run(text: str, session: SqliteSession) -> tuple[list[bytes], int]:
    """The rows, and the steps of SQLite's machine that they took."""
    compiled = compile_text(text)
    with session.short_snapshot(10_000_000, 60):
        rows = [body for body, _ in compiled.run_json(session, {})]
        return rows, session.read_steps()


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (s:Sensor)-[:in]->(r:Room)<-[:has]-(p:Space) WHERE p.$dtId = 'space1' RETURN s",
        "MATCH (s:Sensor)-[:in]->(r)-[:next]-(q)<-[:in]-(t {`$dtId`: 'sensor7'}) RETURN s.x AS x",
        "MATCH (s:Sensor)-[:in]->(r:Room) MATCH (r)<--(p) WHERE p.$dtId = 'space0' RETURN s",
    ],
)
def test_joins_begin_at_the_selective_end(text: str, skewed: SqliteSession) -> None:
    compiled = compile_text(text)
    (joins,) = compiled.explain(skewed, {}).joins
    first = joins[0].alias
    assert f"{first}.dt_id = :" in compiled.text
    assert [join.alias for join in joins] != sorted(join.alias for join in joins)


def test_a_chain_is_counted_in_steps_that_grow_with_its_relationships_alone(
    skewed: SqliteSession,
) -> None:
    chain = "MATCH (:Sensor)-[:in]->(r:Room)<-[:has]-(p:Space)-[:has]->(q:Room)<-[:in]-(:Sensor)"
    rows, steps = run(f"{chain} RETURN count(*) AS n", skewed)
    (number,) = rows
    assert int(number[5:-1]) > 500_000
    assert steps < 300_000


def test_a_star_is_counted_by_its_rays(skewed: SqliteSession) -> None:
    star = "MATCH (r:Room)<-[:in]-(a), (r)<-[:in]-(b), (r)<-[:in]-(c) RETURN count(*) AS n"
    apart = star.replace(", ", " MATCH ")
    (number,), steps = run(apart, skewed)
    assert int(number[5:-1]) > 10_000_000
    assert steps < 200_000
    (fewer,), steps = run(star, skewed)
    assert int(fewer[5:-1]) < int(number[5:-1])
    assert steps < 2_000_000


def test_groups_of_a_count_are_made_before_their_keys_are_read(skewed: SqliteSession) -> None:
    text = (
        "MATCH (s:Sensor)-[:in]->(r:Room) MATCH (t:Sensor)-[:in]->(r) "
        "RETURN r.x AS x, count(*) AS n ORDER BY x LIMIT 2"
    )
    rows, steps = run(text, skewed)
    assert rows == [b'{"x":0,"n":3600}', b'{"x":1,"n":57600}']
    assert steps < 100_000


def test_undirected_steps_go_by_the_indexes_of_both_ends(skewed: SqliteSession) -> None:
    text = "MATCH (a:Room)-[:next]-(b:Room)-[:next]-(c:Room) WHERE a <> c RETURN a.x AS x, c.x AS y"
    rows, steps = run(text, skewed)
    assert len(rows) > 1000
    assert steps < 300_000
    triangle = "MATCH (a:Room)-[:next]-(b:Room)-[:next]-(c:Room)-[:next]-(a) RETURN count(*) AS n"
    (number,), steps = run(triangle, skewed)
    assert int(number[5:-1]) == 6 * (38 + 1)
    assert steps < 400_000


def test_an_order_holds_until_the_counts_change_much(
    make_graph: Callable[..., SqliteSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "_SECONDS", 0.0)
    twins = [(f"r{i}", ROOM, {}) for i in range(3)] + [(f"s{i}", SENSOR, {}) for i in range(9)]
    graph = make_graph(twins, [("r0", "has", "r1"), ("s0", "in", "r1"), ("r0", "near", "s1")])
    text = "MATCH (a:Room)-[:has]->(b)<-[:in]-(c:Sensor) RETURN a.x AS x, c.x AS y"
    compiled = compile_text(text)
    (before,) = compiled.explain(graph, {}).joins
    add = "INSERT INTO relationship VALUES (NULL, 1, ?, 'has', 2, '', jsonb('{}'))"
    graph.connection.executemany(add, [(f"x{i}",) for i in range(400)]).fetchall()
    (after,) = compiled.explain(graph, {}).joins
    assert before[-1].rows != after[-1].rows
    assert {join.alias for join in before} == {join.alias for join in after}


def test_an_explanation_has_the_joins_of_the_statement_and_estimates_near_the_truth(
    skewed: SqliteSession,
) -> None:
    text = "MATCH (s:Sensor)-[:in]->(r:Room)<-[:has]-(p:Space) RETURN s.x AS x, p.x AS y"
    explanation = compile_text(text).explain(skewed, {})
    (joins,) = explanation.joins
    tables = [f"{join.table} AS {join.alias}" for join in joins]
    assert explanation.statement is not None
    assert " CROSS JOIN ".join(tables) in explanation.statement
    rows, _ = run(text, skewed)
    assert len(rows) / 2 < joins[-1].rows < len(rows) * 2
    assert compile_text("MATCH (s:Sensor)-[:in]->(r) RETURN s").explain(skewed, {}).joins == []


def test_the_label_of_either_end_of_an_undirected_step_leaves_no_rows_out_of_an_estimate(
    skewed: SqliteSession,
) -> None:
    text = "MATCH (a:Room)-[:next]-(b:Room)<-[:in]-(s:Sensor) RETURN a.x AS x, s.x AS y"
    (joins,) = compile_text(text).explain(skewed, {}).joins
    rows, _ = run(text, skewed)
    assert len(rows) / 3 < joins[-1].rows < len(rows) * 3
