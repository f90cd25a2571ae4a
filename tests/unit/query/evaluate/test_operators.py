"""Operators over small bags of rows: projection, grouping, order, bounds, union, apply."""

from __future__ import annotations

import math
import statistics
import time
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.query.evaluate.graphs import build_building
from tests.unit.query.evaluate.terms import call, lit, node, op, pattern, prop, rel, rows, var
from twinframe.errors import LimitExceeded, QueryInvalid, QueryTimeout
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Apply,
    Argument,
    Distinct,
    Expression,
    Filter,
    Limit,
    Match,
    Operator,
    Parameter,
    Project,
    Query,
    Skip,
    Sort,
    SortKey,
    Union,
    Unit,
    Unwind,
)
from twinframe.query.evaluate.engine import compile_query
from twinframe.query.evaluate.limits import Limits

KIND = AggregateKind
N = None


def values(items: list[Any], name: str = "x") -> Operator:
    """One row for each item."""
    return Unwind(Unit(), lit(items), name)


def aggregate(kind: KIND, items: list[Any], *more: Any, distinct: bool = False) -> Any:
    arguments: tuple[Expression, ...] = (var("x"), *(lit(one) for one in more))
    if kind is KIND.COUNT_ROWS:
        arguments = ()
    one = AggregateCall(kind, arguments, distinct)
    [(value,)] = rows(Aggregate(values(items), (), (("v", one),)), "v")
    return value


@pytest.mark.parametrize(
    ("kind", "items", "expected"),
    [
        (KIND.COUNT_ROWS, [1, N], 2), (KIND.COUNT, [1, N, 1], 2), (KIND.COUNT, [], 0),
        (KIND.SUM, [1, 2, N], 3), (KIND.SUM, [], 0), (KIND.SUM, [1, 0.5], 1.5),
        (KIND.SUM, [0.1] * 10, 1.0), (KIND.SUM, [1e16, 1.0, -1e16], 1.0),
        (KIND.SUM, [2**63 - 1, 1, -1], 2**63 - 1),
        (KIND.AVG, [1, 2], 1.5), (KIND.AVG, [], N), (KIND.AVG, [N], N),
        (KIND.MIN, [2, 1.5, N], 1.5), (KIND.MAX, [1, "a", N, [1, 2], 0.2, "b"], 1),
        (KIND.MIN, [1, "a", N, [1, 2], 0.2, "b"], [1, 2]), (KIND.MAX, [], N),
        (KIND.MAX, [False, True], True), (KIND.MAX, [[1], [2], [2, 1]], [2, 1]),
        (KIND.COLLECT, [1, N, 1], [1, 1]), (KIND.COLLECT, [], []),
        (KIND.STDEV, [1, 3], math.sqrt(2)), (KIND.STDEVP, [1, 3], 1.0), (KIND.STDEV, [1], 0.0),
    ],
)  # fmt: skip
def test_an_aggregate_leaves_out_nulls(kind: KIND, items: list[Any], expected: Any) -> None:
    value = aggregate(kind, items)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("kind", "items", "expected"),
    [
        (KIND.COUNT, [1, 1.0, True, N, "1"], 3),
        (KIND.SUM, [2, 2, 3], 5),
        (KIND.COLLECT, [1, 1.0, [1], [1.0]], [1, [1]]),
    ],
)
def test_a_distinct_aggregate_takes_equivalent_values_once(
    kind: KIND, items: list[Any], expected: Any
) -> None:
    assert aggregate(kind, items, distinct=True) == expected


@pytest.mark.parametrize("numbers", [[0.1] * 7, [1e15 + 1, 1e15, 1e15 + 2], [3, 1e9 + 1, 1e9]])
def test_a_deviation_does_not_depend_on_the_order_of_the_numbers(numbers: list[float]) -> None:
    expected = statistics.pstdev(numbers)
    for items in permutations(numbers[:3]):
        found = aggregate(KIND.STDEVP, [*items, *numbers[3:]])
        assert found == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("kind", "percentile", "expected"),
    [
        (KIND.PERCENTILE_DISC, 0.0, 10.0), (KIND.PERCENTILE_DISC, 0.5, 20.0),
        (KIND.PERCENTILE_DISC, 1.0, 30.0), (KIND.PERCENTILE_CONT, 0.25, 15.0),
        (KIND.PERCENTILE_CONT, 0.0, 10.0), (KIND.PERCENTILE_CONT, 1, 30.0),
    ],
)  # fmt: skip
def test_percentiles_are_picked_or_interpolated(
    kind: KIND, percentile: float, expected: float
) -> None:
    assert aggregate(kind, [20.0, 10.0, N, 30.0], percentile) == expected


@pytest.mark.parametrize("percentile", [1000, -1, 1.1])
def test_a_percentile_out_of_range_is_refused(percentile: float) -> None:
    with pytest.raises(QueryInvalid) as raised:
        aggregate(KIND.PERCENTILE_CONT, [10.0], percentile)
    assert (raised.value.kind, raised.value.detail) == ("ArgumentError", "NumberOutOfRange")


def test_a_sum_that_64_bits_cannot_hold_is_an_error() -> None:
    with pytest.raises(QueryInvalid) as raised:
        aggregate(KIND.SUM, [2**63 - 1, 1])
    assert raised.value.kind == "ArithmeticError"


@pytest.mark.parametrize("kind", [KIND.SUM, KIND.AVG, KIND.STDEV])
def test_a_numeric_aggregate_refuses_what_is_no_number(kind: KIND) -> None:
    with pytest.raises(QueryInvalid) as raised:
        aggregate(kind, [True])
    assert raised.value.kind == "TypeError"


def test_groups_are_by_equivalence_and_come_as_first_seen() -> None:
    source = values([1, N, 1.0, True, N, math.inf, "1"])
    counted = (("n", AggregateCall(KIND.COUNT_ROWS)),)
    found = rows(Aggregate(source, (("x", var("x")),), counted), "x", "n")
    assert found == [(1, 2), (N, 2), (True, 1), (math.inf, 1), ("1", 1)]


def test_grouping_nothing_by_a_key_gives_nothing_and_without_keys_one_row() -> None:
    counted = (("n", AggregateCall(KIND.COUNT_ROWS)),)
    assert rows(Aggregate(values([]), (("x", var("x")),), counted), "n") == []
    assert rows(Aggregate(values([]), (), counted), "n") == [(0,)]


def test_distinct_keeps_the_first_of_equivalent_rows() -> None:
    assert rows(Distinct(values([1, 1.0, N, True, N, [N], [N]])), "x") == [
        (1,), (N,), (True,), ([N],),
    ]  # fmt: skip


def test_unwind_gives_none_for_null_and_one_for_what_is_no_list() -> None:
    nested = Unwind(values([[1, 2], N, [], 3]), var("x"), "y")
    assert [row[0] for row in rows(nested, "y")] == [1, 2, 3]


def test_a_projection_replaces_the_scope() -> None:
    source = values([1, 2])
    twice = Project(source, (("y", op(var("x"), "*", 2)), ("x", lit("new"))))
    assert rows(twice, "x", "y") == [("new", 2), ("new", 4)]
    swapped = Project(twice, (("y", var("x")), ("x", var("y"))))
    assert rows(swapped, "x", "y") == [(2, "new"), (4, "new")]


def test_sort_is_by_the_first_key_then_the_next_and_stable() -> None:
    pairs = [[1, "b"], [2, "a"], [1, "a"], [N, "z"], [2, "b"]]
    first, second = (call("head", var("x")), call("last", var("x")))
    plan = Sort(values(pairs), (SortKey(first, True), SortKey(second)))
    assert [row[0] for row in rows(plan, "x")] == [[N, "z"], [2, "a"], [2, "b"], [1, "a"], [1, "b"]]


SORTED = st.lists(st.one_of(st.none(), st.integers(0, 3), st.sampled_from("ab")), max_size=12)


@given(SORTED, st.integers(0, 13), st.integers(0, 13), st.booleans())
def test_a_limit_above_a_sort_changes_no_row_of_it(
    items: list[Any], skip: int, limit: int, descending: bool
) -> None:
    keyed = Unwind(Unit(), lit([[item, at] for at, item in enumerate(items)]), "x")
    ordered = Sort(keyed, (SortKey(call("head", var("x")), descending),))
    everything = [row[0] for row in rows(ordered, "x")]
    bounded = Limit(Skip(Project(ordered, (("x", var("x")),)), lit(skip)), lit(limit))
    assert [row[0] for row in rows(bounded, "x")] == everything[skip : skip + limit]


@pytest.mark.parametrize(
    ("count", "detail"),
    [(-1, "NegativeIntegerArgument"), (1.5, "InvalidArgumentType"), (N, "InvalidArgumentType")],
)
@pytest.mark.parametrize("bound", [Skip, Limit])
def test_a_bound_that_is_no_count_is_refused(bound: Any, count: Any, detail: str) -> None:
    with pytest.raises(QueryInvalid) as raised:
        rows(bound(values([1]), Parameter("n")), "x", parameters={"n": count})
    assert (raised.value.kind, raised.value.detail) == ("SyntaxError", detail)


def test_a_limit_of_none_reads_nothing() -> None:
    graph = build_building()
    assert rows(Limit(Match(Unit(), pattern(node("a"))), lit(0)), "a", graph=graph) == []
    assert graph.calls == []


def test_union_matches_columns_by_name_and_keeps_duplicates_only_if_all() -> None:
    left = Project(values([1, 2]), (("a", var("x")), ("b", lit("l"))))
    right = Project(values([2, 3]), (("b", lit("l")), ("a", var("x"))))
    assert rows(Union(left, right, all=True), "a", "b") == [(1, "l"), (2, "l"), (2, "l"), (3, "l")]
    assert rows(Union(left, right, all=False), "a", "b") == [(1, "l"), (2, "l"), (3, "l")]


def test_apply_runs_its_plan_for_each_row_and_adds_its_columns() -> None:
    inner = Unwind(Argument(("x",)), call("range", 1, var("x")), "y")
    plan = Apply(values([1, 0, 2]), Project(inner, (("y", var("y")),)))
    assert rows(plan, "x", "y") == [(1, 1), (2, 1), (2, 2)]


def test_apply_of_an_uncorrelated_aggregate_gives_it_to_every_row() -> None:
    total = Aggregate(
        Match(Unit(), pattern(node("n", "Room"))), (), (("n", AggregateCall(KIND.COUNT_ROWS)),)
    )
    assert rows(Apply(values(["a", "b"]), total), "x", "n") == [("a", 3), ("b", 3)]


def test_a_filter_keeps_true_alone_and_refuses_what_is_no_truth_value() -> None:
    assert rows(Filter(values([True, False, N]), var("x")), "x") == [(True,)]
    with pytest.raises(QueryInvalid) as raised:
        rows(Filter(values(["yes"]), var("x")), "x")
    assert raised.value.kind == "TypeError"


# --- limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        lambda source: Sort(source, (SortKey(var("x")),)),
        Distinct,
        lambda source: Aggregate(source, (("x", var("x")),), ()),
        lambda source: Aggregate(source, (), (("c", AggregateCall(KIND.COLLECT, (var("x"),))),)),
    ],
)
def test_what_holds_rows_holds_no_more_than_it_may(build: Any) -> None:
    pair = values([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "y")
    hundred = Project(
        Unwind(pair, lit([*range(10)]), "z"), (("x", op(op(var("y"), "*", 10), "+", var("z"))),)
    )
    plan = build(hundred)
    columns = ("c",) if isinstance(plan, Aggregate) and plan.aggregates else ("x",)
    with pytest.raises(LimitExceeded, match="99"):
        rows(plan, *columns, limits=Limits(max_rows=99))
    assert rows(plan, *columns, limits=Limits(max_rows=101))


def test_what_is_held_for_one_row_is_given_back_before_the_next() -> None:
    inner = Distinct(Unwind(Argument(("x",)), call("range", 1, 9), "y"))
    grouped = Aggregate(inner, (), (("c", AggregateCall(KIND.COLLECT, (var("y"),), True)),))
    found = rows(Apply(values([*range(20)]), grouped), "c", limits=Limits(max_rows=40))
    assert found == [([*range(1, 10)],)] * 20


def test_a_stream_of_rows_is_not_bounded_by_what_may_be_held() -> None:
    assert len(rows(Unwind(values([1] * 10), lit([1] * 10), "y"), "y", limits=Limits(10))) == 100


def test_a_query_past_its_deadline_is_stopped_before_its_first_row() -> None:
    with pytest.raises(QueryTimeout):
        rows(values([1]), "x", limits=Limits(deadline=time.monotonic() - 1))


def test_a_query_is_stopped_while_it_runs_without_giving_rows() -> None:
    crossed: Operator = Unit()
    for name in "abcdefghijkl":
        crossed = Match(crossed, pattern(node(name)))
    endless = Filter(crossed, op(prop("a", "x"), "=", lit("never")))
    with pytest.raises(QueryTimeout):
        rows(endless, "a", limits=Limits(deadline=time.monotonic() + 0.05))


def test_a_plan_is_compiled_once_and_run_with_other_parameters() -> None:
    found = Match(Unit(), pattern(node("a", id=Parameter("id"))))
    plan = compile_query(Query(Project(found, (("n", prop("a", "name")),)), ("n",)))
    graph = build_building()
    names = [list(plan.run(graph, {"id": one}, Limits())) for one in ("r1", "r2", "none")]
    assert names == [[("Lobby",)], [("Kitchen",)], []]


def test_rows_come_while_they_are_found() -> None:
    graph = build_building()
    found = Match(Unit(), pattern(node("a"), node("b"), rel("r", "a", "b", "door")))
    stream = compile_query(Query(found, ("a",))).run(graph, {}, Limits())
    assert graph.calls == []
    next(stream)
    assert graph.calls
