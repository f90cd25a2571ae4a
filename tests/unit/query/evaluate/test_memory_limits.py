"""What a run holds is counted in bytes, bounded, and given back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.query.evaluate.terms import call, lit, op, rows, var
from twinframe.errors import LimitExceeded, MemoryExhausted
from twinframe.model.values import Node
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Distinct,
    ListComprehension,
    Operator,
    Project,
    Query,
    Reduce,
    Sort,
    SortKey,
    Unit,
    Unwind,
)
from twinframe.query.evaluate.engine import compile_query
from twinframe.query.evaluate.limits import Budget, Limits
from twinframe.query.evaluate.ordering import PART, sort_in_parts
from twinframe.query.evaluate.sizes import measure
from twinframe.query.reader import EmptyReader
from twinframe.runtime.heap import Footprint, read_own_memory
from twinframe.runtime.memory import MemoryAccount, Part

MIB = 2**20
LIMITS = Limits(max_rows=1_000_000, max_bytes=4 * MIB)


def numbers(count: int) -> Operator:
    return Unwind(Unit(), call("range", 1, count), "i")


def doubled(start: Any, times: int) -> Reduce:
    return Reduce("s", start, "j", call("range", 1, times), op(var("s"), "+", var("s")))


TEXT = doubled(call("toString", var("i")), 14)


def aggregate(
    source: Operator, kind: AggregateKind, *arguments: Any, distinct: bool = False
) -> Aggregate:
    return Aggregate(source, (), (("x", AggregateCall(kind, arguments, distinct)),))


HOLDERS = {
    "collect": aggregate(numbers(500), AggregateKind.COLLECT, TEXT),
    "count distinct": aggregate(numbers(500), AggregateKind.COUNT, TEXT, distinct=True),
    "distinct": Distinct(Project(numbers(500), (("x", TEXT),))),
    "sort": Sort(Project(numbers(500), (("x", TEXT),)), (SortKey(var("x")),)),
    "group": Aggregate(
        numbers(500), (("x", TEXT),), (("n", AggregateCall(AggregateKind.COUNT_ROWS, ())),)
    ),
    "percentile": aggregate(
        Unwind(numbers(1_000), call("range", 1, 1_000), "j"),
        AggregateKind.PERCENTILE_DISC,
        var("j"),
        lit(0.5),
    ),
    "comprehension": Project(
        Unit(), (("x", ListComprehension("i", call("range", 1, 500), None, TEXT)),)
    ),
    "list of lists": Project(
        Unit(),
        (("x", ListComprehension("i", call("range", 1, 500), None, call("range", 1, 5_000))),),
    ),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_holds_more_bytes_than_a_query_may_is_refused(holder: str) -> None:
    with pytest.raises(LimitExceeded, match="Query__MaxBytes"):
        rows(HOLDERS[holder], "x", limits=LIMITS)


@pytest.mark.parametrize("holder", [*HOLDERS][:-2])  # lists of one row are no rows that are held
def test_the_account_of_all_refuses_too_and_has_everything_back(holder: str) -> None:
    account = MemoryAccount(8 * MIB, {Part.QUERIES: 3 * MIB})
    limits = Limits(max_rows=1_000_000, max_bytes=64 * MIB, memory=account)
    with pytest.raises(LimitExceeded, match="Memory__Queries"):
        rows(HOLDERS[holder], "x", limits=limits)
    assert account.read_held(Part.QUERIES) == 0


def test_texts_that_are_given_up_again_are_no_limit() -> None:
    plan = Project(numbers(2_000), (("x", call("size", TEXT)),))
    assert len(rows(plan, "x", limits=LIMITS)) == 2_000


def test_a_run_that_is_left_half_read_gives_back_what_it_holds() -> None:
    account = MemoryAccount()
    plan = compile_query(Query(Distinct(Project(numbers(5_000), (("x", var("i")),))), ("x",)))
    found = plan.run(EmptyReader(), {}, Limits(memory=account))
    for _ in range(3_000):
        next(found)
    assert account.read_held(Part.QUERIES) > 0
    del found
    assert account.read_held(Part.QUERIES) == 0


def test_a_value_that_is_kept_twice_counts_once() -> None:
    node = Node("a", {"text": "x" * MIB})
    kept = Budget(LIMITS).open()
    for _ in range(100):
        kept.add_row((node, "b"))
    others = [Node(str(number), {"text": "x" * MIB}) for number in range(4)]
    for other in others[1:3]:
        kept.add(other)
    with pytest.raises(LimitExceeded):
        kept.add(others[3])


def test_the_process_is_looked_at_while_values_are_built() -> None:
    account = MemoryAccount(footprint=Footprint(1))
    plan = Project(numbers(2_000), (("x", call("size", TEXT)),))
    with pytest.raises(MemoryExhausted, match="Memory__Bytes"):
        rows(plan, "x", limits=Limits(max_bytes=64 * MIB, memory=account))


def test_a_process_within_its_bound_is_left_alone() -> None:
    assert not Footprint(2**60).is_over()
    assert read_own_memory() > MIB
    MemoryAccount(footprint=Footprint(2**60)).look()


def test_sizes_are_near_what_values_take() -> None:
    assert 1000 <= measure("x" * 1000, MIB) <= 1100
    assert measure(["x" * 1000] * 10, MIB) >= 10_000
    assert measure({"a": {"b": ["x" * 1000]}}, MIB) >= 1_000
    shared: Any = [1]
    for _ in range(60):
        shared = [shared, shared]
    assert MIB < measure(shared, MIB) < 2 * MIB  # it stops there


def test_parts_are_merged_in_order_and_equal_ones_as_they_came() -> None:
    values = [(number * 7919 % 1000, number) for number in range(3 * PART + 5)]
    assert list(sort_in_parts(values)) == sorted(values)
    by_first = list(sort_in_parts(values, lambda pair: pair[0], part=100))
    assert by_first == sorted(values, key=lambda pair: pair[0])


@pytest.mark.parametrize("descending", [False, True])
def test_more_rows_than_a_part_are_sorted_by_all_keys(descending: bool) -> None:
    source = numbers(2 * PART + 10)
    first = op(var("i"), "%", lit(7))
    plan = Sort(source, (SortKey(first, descending=descending), SortKey(var("i"))))
    found = [row[0] for row in rows(plan, "i", limits=Limits(max_bytes=64 * MIB))]
    sign = -1 if descending else 1
    assert found == sorted(range(1, 2 * PART + 11), key=lambda i: (sign * (i % 7), i))


def test_percentiles_of_more_than_a_part() -> None:
    for kind, expected in (
        (AggregateKind.PERCENTILE_DISC, PART + 1),
        (AggregateKind.PERCENTILE_CONT, PART + 1.0),
    ):
        plan = aggregate(numbers(2 * PART + 1), kind, var("i"), lit(0.5))
        assert rows(plan, "x", limits=Limits(max_bytes=64 * MIB)) == [(expected,)]
