"""`item IN items` answers alike whether a list comes once, again and again, or anew each time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.query.evaluate.graphs import build_building, build_relationship, build_twin
from twinframe.errors import LimitExceeded, QueryInvalid, QueryTimeout
from twinframe.model.comparison import equals
from twinframe.query.evaluate.limits import Limits, Meter
from twinframe.query.evaluate.membership import compile_membership
from twinframe.query.evaluate.run import Run

FILLER = [*range(100, 120)]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 2.0**53, -0.0, 0.0, 1.0, 2.5, math.nan, math.inf]),
    st.sampled_from(["", "1", "a", "true"]),
)
ENTITIES = st.sampled_from(
    [
        *(build_twin(name, "dtmi:t:Room;2", x=x) for name, x in (("a", 1), ("a", 2), ("b", 1))),
        *(build_relationship("a", name, "has", "b") for name in "ab"),
        build_relationship("b", "a", "has", "b"),
    ]
)
VALUES = st.one_of(SCALARS, ENTITIES, st.lists(SCALARS, max_size=2))


def build_run(limits: Limits | None = None) -> Run:
    return Run(build_building(), {}, limits or Limits())


def find(item: Any, items: Sequence[Any]) -> bool | None:
    """What the language says: an OR over the equalities."""
    answers = [equals(item, one) for one in items]
    return True if True in answers else None if None in answers else False


ask = compile_membership(lambda row, _: row[0], lambda row, _: row[1])


@given(st.lists(VALUES, max_size=6), st.lists(VALUES, min_size=1, max_size=6))
def test_a_list_that_comes_again_answers_as_at_first(items: list[Any], asked: list[Any]) -> None:
    items = [*FILLER, *items]
    run = build_run()
    for item in [*asked, *asked]:
        assert ask((item, items), run) is find(item, items)


def test_lists_that_take_turns_are_not_mixed_up() -> None:
    run, one, other = build_run(), [*FILLER, 1], [*FILLER, 2]
    for items, item, expected in ((one, 1, True), (one, 2, False), (other, 2, True)) * 3:
        assert ask((item, items), run) is expected
    assert [ask((1, [*FILLER, at]), run) for at in range(3)] == [False, True, False]


def test_two_places_keep_their_lists_apart() -> None:
    another = compile_membership(lambda row, _: row[0], lambda _, __: [*FILLER])
    run, items = build_run(), [*FILLER, 1]
    assert [(ask((1, items), run), another((1,), run)) for _ in range(3)] == [(True, False)] * 3


def test_nodes_are_found_in_a_long_list_without_comparing_each() -> None:
    meter, items = Meter(), [build_twin(f"t{at}", "dtmi:t:Room;2") for at in range(500)]
    run = build_run(Limits(meter=meter))
    assert [ask((one, items), run) for one in reversed(items)] == [True] * 500
    assert meter.steps < 3 * 500


def test_the_work_for_a_long_list_is_that_of_its_length_and_of_the_rows() -> None:
    meter, items = Meter(), [*range(2000)]
    run = build_run(Limits(meter=meter))
    assert [ask((item, items), run) for item in (-1, 5, 1999, "5", True, 7.0)] == [
        *(False, True, True, False, False, True)
    ]
    for item in range(5000):
        assert ask((item, items), run) is (item < 2000)
    assert 5000 < meter.steps + 256 < 10_000


def test_a_list_with_lists_in_it_is_looked_through() -> None:
    run, items = build_run(), [*FILLER, [1], [None]]
    for _ in range(3):
        assert ask((100, items), run) is True
        assert ask(([1], items), run) is True
        assert ask(([2], items), run) is None
        assert ask((1, items), run) is False


def test_what_is_no_list_is_refused_and_null_is_null() -> None:
    with pytest.raises(QueryInvalid, match="IN takes a List"):
        ask((1, "abc"), build_run())
    assert ask((1, None), build_run()) is None


def test_a_long_list_ends_at_the_deadline() -> None:
    items = [*range(100_000)]
    with pytest.raises(QueryTimeout):
        ask((-1, items), build_run(Limits(deadline=0.0)))


def test_the_set_of_a_list_counts_as_long_as_it_is_kept() -> None:
    run = build_run(Limits(max_bytes=2 * 2**20))
    for start in range(50):  # a megabyte for each, of which one is kept at a time
        items = list(range(start, start + 15_000))
        assert ask((start, items), run) is True
        assert ask((start, items), run) is True
    items = list(range(40_000))
    assert ask((0, items), run) is True
    with pytest.raises(LimitExceeded, match="Query__MaxBytes"):
        ask((0, items), run)
