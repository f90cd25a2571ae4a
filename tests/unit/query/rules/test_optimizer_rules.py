"""Every rule: what it rewrites, what it leaves, and that rows stay equal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.query.evaluate.graphs import build_building
from tests.unit.query.evaluate.terms import call, lit, node, op, pattern, prop, rel, rows, var
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Apply,
    Argument,
    Distinct,
    Filter,
    HasLabels,
    LabelName,
    LabelNot,
    Limit,
    Literal,
    Match,
    Operator,
    Parameter,
    Project,
    Query,
    Sort,
    SortKey,
    Subplan,
    SubplanKind,
    Unary,
    UnaryOperator,
    Union,
    Unit,
)
from twinframe.query.evaluate.engine import run
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.render import render_expression
from twinframe.query.rules import RULES
from twinframe.query.rules.apply_into_source import move_apply_into_source
from twinframe.query.rules.equality_into_pattern import move_equality_into_pattern
from twinframe.query.rules.filter_into_match import move_filter_into_match
from twinframe.query.rules.fold_constants import fold_constants
from twinframe.query.rules.labels_into_pattern import move_labels_into_pattern
from twinframe.query.rules.merge_projects import merge_projects

FOUND = Match(Unit(), pattern(node("a")))
IS_ROOM = HasLabels(var("a"), LabelName("Room"))


# --- what each does -----------------------------------------------------------------------------


def test_constants_are_folded_and_errors_and_infinities_are_left() -> None:
    def fold(expression: Any) -> Any:
        folded = fold_constants(Filter(FOUND, expression))
        assert isinstance(folded, Filter)
        return folded.predicate

    assert fold(op(prop("a", "area"), ">", op(2, "*", op(3, "+", 4)))) == op(
        prop("a", "area"), ">", 14
    )
    assert fold(Unary(UnaryOperator.NOT, lit(True))) == Literal(False)
    for left in (op(1, "/", 0), op(1.0, "/", 0), op(True, "+", 1), call("rand")):
        assert fold(left) is left


def test_a_folded_literal_keeps_its_type() -> None:
    folded = fold_constants(Project(Unit(), (("x", op(1.0, "+", 1)), ("y", op(1, "=", 1)))))
    assert isinstance(folded, Project)
    assert [type(one.value) for _, one in folded.items if isinstance(one, Literal)] == [float, bool]


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("size((a)-->()) > 0", "exists"),
        ("0 < size((a)-->())", "exists"),
        ("COUNT { (a)-->() } >= 1.0", "exists"),
        ("COUNT { (a)-->() } <> 0", "exists"),
        ("size([(a)-->(b) | b]) > 0", "exists"),
        ("size((a)-->()) = 0", "(NOT exists"),
        ("1 > size((a)-->())", "(NOT exists"),
        ("0 >= size((a)-->())", "(NOT exists"),
        ("isEmpty((a)-->())", "(NOT exists"),
        ("size([(a)-->(b) | 1])", "count"),
        ("size([(a)-->(b) | b.x])", "size(collect b.x"),
        ("isEmpty([(a)-->(b) | b.x / 0])", "isEmpty(collect"),
        ("size((a)-->()) > 1", "(count"),
        ("size((a)-->()) >= 0", "(count"),
        ("size((a)-->()) = false", "(count"),
        ("size((a)-->()) + 0", "(count"),
        ("size((a)-->()) IN [0]", "(count"),
    ],
)
def test_a_count_of_matches_is_a_test_where_one_match_decides(text: str, becomes: str) -> None:
    query = parse_query(f"MATCH (a) RETURN {text} AS v").query
    root = optimize(query).root
    assert isinstance(root, Project)
    assert render_expression(root.items[0][1]).startswith(becomes)
    found, expected = (list(run(one, build_building(), {})) for one in (optimize(query), query))
    assert found == expected


def test_a_filter_moves_into_the_match_below_but_not_into_an_optional_one() -> None:
    filtered = Filter(FOUND, op(prop("a", "area"), ">", 1))
    assert move_filter_into_match(filtered) == Match(
        Unit(), FOUND.pattern, op(prop("a", "area"), ">", 1)
    )
    optional = Filter(Match(Unit(), FOUND.pattern, None, True), IS_ROOM)
    assert move_filter_into_match(optional) is optional


def test_an_equality_with_a_constant_moves_into_the_pattern() -> None:
    test = op(op(prop("a", "$dtId"), "=", Parameter("id")), "AND", op(prop("a", "n"), ">", 1))
    moved = move_equality_into_pattern(Match(Unit(), FOUND.pattern, test))
    assert moved == Match(
        Unit(), pattern(node("a", id=Parameter("id"))), op(prop("a", "n"), ">", 1)
    )
    row_dependent = Match(Unit(), FOUND.pattern, op(prop("a", "x"), "=", prop("a", "y")))
    assert move_equality_into_pattern(row_dependent) is row_dependent


def test_a_label_test_moves_into_the_pattern_unless_it_asks_for_models() -> None:
    moved = move_labels_into_pattern(Match(Unit(), FOUND.pattern, IS_ROOM))
    assert moved == Match(Unit(), pattern(node("a", "Room")))
    for labels in (LabelName("Model"), LabelNot(LabelName("Model"))):
        kept = Match(Unit(), FOUND.pattern, HasLabels(var("a"), labels))
        assert move_labels_into_pattern(kept) is kept


def test_projections_are_merged_unless_something_would_be_evaluated_twice() -> None:
    inner = Project(Unit(), (("x", call("rand")), ("y", lit(1))))
    picked = Project(inner, (("z", var("x")),))
    assert merge_projects(picked) == Project(Unit(), (("z", call("rand")),))
    doubled = Project(inner, (("p", var("x")), ("q", var("x"))))
    assert merge_projects(doubled) is doubled


def test_a_projection_of_every_variable_is_dropped_and_a_narrowing_one_kept() -> None:
    everything = Project(FOUND, (("a", var("a")),))
    assert merge_projects(everything) is FOUND
    pair = Match(Unit(), pattern(node("a"), node("b")))
    narrowing = Project(pair, (("a", var("a")),))
    assert merge_projects(narrowing) is narrowing


def test_a_subquery_that_reads_its_row_becomes_part_of_the_query() -> None:
    step = pattern(node("a"), node("b"), rel("r", "a", "b"))
    inner = Match(Argument(("a",)), step)
    found = Project(inner, (("x", prop("b", "name")),))
    assert move_apply_into_source(Apply(FOUND, found)) == Project(
        Match(FOUND, step), (("a", var("a")), ("x", prop("b", "name")))
    )
    counted = Aggregate(inner, (), (("n", AggregateCall(AggregateKind.COUNT_ROWS)),))
    assert move_apply_into_source(Apply(FOUND, counted)) == Project(
        FOUND, (("a", var("a")), ("n", Subplan(SubplanKind.COUNT, inner)))
    )


def test_a_subquery_stays_where_it_is_done_for_each_row_or_would_mix_up_names() -> None:
    step = pattern(node("a"), node("b"), rel("r", "a", "b"))
    inner = Match(Argument(("a",)), step)
    both = Match(Unit(), pattern(node("a"), node("b")))
    renamed = Match(Project(Argument(("a",)), (("x", prop("a", "x")),)), pattern(node("a")))
    alone = Project(Match(Unit(), pattern(node("b"))), (("y", prop("b", "y")),))
    for source, plan in (
        (FOUND, Limit(inner, lit(1))),
        (FOUND, Distinct(inner)),
        (FOUND, Aggregate(inner, (("b", var("b")),), ())),
        (FOUND, Project(inner, (("a", var("b")),))),
        (FOUND, renamed),
        (FOUND, alone),
        (both, Project(inner, (("x", prop("b", "name")),))),
    ):
        kept = Apply(source, plan)
        assert move_apply_into_source(kept) is kept


def test_rules_reach_into_the_plans_of_expressions() -> None:
    inner = Filter(
        Match(Argument(("a",)), pattern(node("a"), node(" b"), rel(" r", "a", " b"))), IS_ROOM
    )
    query = Query(Filter(FOUND, Subplan(SubplanKind.EXISTS, inner)), ("a",))
    rewritten = optimize(query)
    assert "Filter" not in repr(rewritten.root)


def test_a_query_that_nothing_improves_comes_back_itself() -> None:
    query = Query(Limit(FOUND, lit(1)), ("a",))
    assert optimize(query) is query


# --- equal rows ---------------------------------------------------------------------------------

MEMBERS = st.sampled_from(["name", "area", "value", "$dtId", "width", "none"])
NAMES = st.sampled_from(["a", "b"])
CONSTANTS = st.sampled_from([None, True, 1, 2, 12.5, 20, "r1", "Lobby", "s1"]).map(lit)
OPERANDS = st.one_of(
    CONSTANTS,
    st.builds(prop, NAMES, MEMBERS),
    st.builds(op, CONSTANTS, st.sampled_from(["=", "<", "<>"]), CONSTANTS),
)
LABELS = st.sampled_from(["Room", "Space", "Sensor"]).map(LabelName)
TESTS = st.recursive(
    st.one_of(
        st.builds(op, OPERANDS, st.sampled_from(["=", "<>", "<", ">=", "STARTS WITH"]), OPERANDS),
        st.builds(HasLabels, NAMES.map(var), LABELS),
        st.builds(lambda operand: Unary(UnaryOperator.IS_NULL, operand), OPERANDS),
    ),
    lambda inner: st.one_of(
        st.builds(op, inner, st.sampled_from(["AND", "AND", "OR", "XOR"]), inner),
        st.builds(lambda operand: Unary(UnaryOperator.NOT, operand), inner),
    ),
    max_leaves=4,
)  # fmt: skip


@st.composite
def plans(draw: st.DrawFn) -> Operator:
    """A match of two nodes, optional or not, filtered, projected and finished in some way."""
    way = draw(st.sampled_from(["->", "<-", "--"]))
    length = draw(st.sampled_from([None, (1, 2), (0, 1)]))
    crossing = rel("r", "a", "b", *draw(st.sampled_from([(), ("door",)])), way=way, length=length)
    labels = st.sampled_from([None, "Room", "Space"])
    parts = pattern(node("a", draw(labels)), node("b", draw(labels)), crossing)
    where = draw(st.none() | TESTS)
    plan: Operator = Match(Unit(), parts, where, draw(st.booleans()))
    if draw(st.booleans()):
        plan = Filter(plan, draw(TESTS))
    if draw(st.booleans()):
        plan = Match(
            plan, pattern(node("a"), node("c"), rel("s", "a", "c")), draw(st.none() | TESTS)
        )
    if draw(st.booleans()):
        plan = Filter(Project(plan, (("a", var("a")), ("b", var("b")))), draw(TESTS))
    members = draw(st.tuples(MEMBERS, MEMBERS))
    plan = Project(plan, (("x", prop("a", members[0])), ("y", prop("b", members[1]))))
    return draw(
        st.sampled_from(
            [
                plan,
                Distinct(Project(plan, (("y", var("y")), ("x", var("x"))))),
                Sort(plan, (SortKey(var("x")), SortKey(var("y"), True))),
                Union(plan, Project(plan, (("x", var("y")), ("y", var("x")))), all=False),
                Aggregate(
                    plan,
                    (("x", var("x")),),
                    (("y", AggregateCall(AggregateKind.COUNT, (var("y"),))),),
                ),
            ]
        )
    )


@pytest.mark.parametrize("rules", [*[(rule,) for rule in RULES], RULES])
def test_rewritten_queries_give_equal_rows(rules: Any) -> None:
    @settings(max_examples=80, deadline=None)
    @given(plans())
    def check(root: Operator) -> None:
        query = Query(root, ("x", "y"))
        graph = build_building()
        before, after = (
            sorted(run(one, graph), key=repr) for one in (query, optimize(query, rules))
        )
        assert before == after

    check()


def test_an_optimized_query_seeks_where_it_would_have_scanned() -> None:
    by_id = Filter(FOUND, op("r1", "=", prop("a", "$dtId")))
    graph = build_building()
    assert rows(optimize(Query(by_id, ("a",))).root, "a", graph=graph) == [("r1",)]
    assert graph.calls == ["read_nodes"]
