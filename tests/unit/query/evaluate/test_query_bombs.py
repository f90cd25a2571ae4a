"""Short queries that would grow without bound: each ends in an error of limits, soon."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.unit.query.evaluate.terms import call, lit, op, rows, var
from twinframe.errors import LimitExceeded, QueryTimeout
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    ListComprehension,
    MapExpression,
    Operator,
    Project,
    Reduce,
    Unit,
    Unwind,
)
from twinframe.query.evaluate.limits import Limits

LIMITS = Limits(max_rows=10_000)


def grow(start: Any, step: Any, times: int = 60) -> Reduce:
    return Reduce("a", lit(start), "x", call("range", 1, times), lit(step))


BOMBS = [
    grow([1], [var("a"), var("a")]),
    grow([1], MapExpression((("l", var("a")), ("r", var("a"))))),
    grow([1], op(var("a"), "+", var("a"))),
    grow([1], op(var("a"), "+", [var("a")])),
    grow("ab", op(var("a"), "+", var("a"))),
    grow("ab", call("replace", var("a"), "a", op(var("a"), "+", "b"))),
    grow([1], ListComprehension("y", call("range", 1, 100), None, var("a"))),
    call("range", 1, 10**12),
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_value_that_outgrows_the_limits_is_refused(bomb: Any) -> None:
    with pytest.raises(LimitExceeded):
        rows(Project(Unit(), (("x", bomb),)), "x", limits=LIMITS)


def test_collecting_what_was_collected_is_refused_once_it_is_too_much() -> None:
    plan: Operator = Project(Unit(), (("a", lit([1])),))
    for _ in range(30):
        doubled = Unwind(plan, lit([1, 2]), "i")
        plan = Aggregate(doubled, (), (("a", AggregateCall(AggregateKind.COLLECT, (var("a"),))),))
    with pytest.raises(LimitExceeded):
        rows(plan, "a", limits=LIMITS)


def test_work_within_one_row_is_stopped_at_the_deadline() -> None:
    everything = call("range", 1, 1000)
    square = ListComprehension(
        "y", everything, None, ListComprehension("z", everything, op(var("z"), "<", 0), None)
    )
    cube = grow(0, op(var("a"), "+", call("size", square)), 1000)
    with pytest.raises(QueryTimeout):
        rows(
            Project(Unit(), (("x", cube),)),
            "x",
            limits=Limits(10_000, deadline=time.monotonic() + 0.05),
        )


def test_values_of_usual_size_are_not_in_the_way() -> None:
    nested = grow([], op(var("a"), "+", [[var("x")]]), 4000)
    [(value,)] = rows(Project(Unit(), (("x", nested),)), "x", limits=LIMITS)
    assert len(value) == 4000
