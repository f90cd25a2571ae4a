"""Which plans are tried on the event loop, and which texts and parameters are small enough."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from twinframe.graph.queries.short_runs import SHORT_STEPS, Pace, is_small

SHORT, MOST, LONG = 0.0001, 0.0005, 1.0


def add_threaded(pace: Pace, count: int, seconds: float = SHORT) -> None:
    for _ in range(count):
        pace.add_threaded(seconds, 0, MOST)


def count_awaited(pace: Pace) -> int:
    """Short runs in a thread until the loop is tried again."""
    count = 0
    while not pace.is_short:
        add_threaded(pace, 1)
        count += 1
    return count


def test_a_plan_is_tried_after_a_short_run_and_not_before() -> None:
    pace, seen = Pace(), []
    for seconds in (LONG, SHORT, LONG, LONG, SHORT, SHORT):
        add_threaded(pace, 1, seconds)
        seen.append(pace.is_short)
    assert not Pace().is_short
    assert seen == [False, True, False, False, True, True]


def test_a_run_of_many_steps_is_not_short_however_fast_it_was() -> None:
    pace = Pace()
    pace.add_threaded(SHORT, SHORT_STEPS + 1, MOST)
    assert not pace.is_short


def test_a_plan_stays_known_as_short_when_the_clock_ends_it_on_the_loop() -> None:
    pace = Pace()
    assert not pace.was_short
    add_threaded(pace, 1)
    pace.add_ended()
    assert (pace.is_short, pace.was_short) == (False, True)
    add_threaded(pace, 1, LONG)
    assert not pace.was_short
    pace.add_threaded(SHORT, SHORT_STEPS + 1, MOST)
    assert not pace.was_short


def test_each_end_keeps_a_plan_in_the_threads_for_longer() -> None:
    pace = Pace()
    waits = []
    for _ in range(10):
        pace.add_ended()
        waits.append(count_awaited(pace))
    assert waits == sorted(waits)
    assert waits[0] >= 16
    assert waits[-1] == waits[-2] == 4096


def test_runs_that_stay_short_make_up_for_an_end() -> None:
    pace = Pace()
    pace.add_ended()
    count_awaited(pace)
    for _ in range(100):
        pace.add_short(SHORT)
    add_threaded(pace, 1, LONG)
    assert count_awaited(pace) == 1


def test_a_run_that_came_to_its_end_late_counts_as_ended_once_that_is_measured() -> None:
    pace = Pace()
    add_threaded(pace, 1)
    pace.add_short(LONG)
    assert (pace.is_suspect, pace.is_short) == (True, True)
    pace.add_short(LONG)
    assert not pace.is_suspect
    assert count_awaited(pace) >= 16


def test_a_run_that_only_waited_for_the_processor_is_forgiven() -> None:
    pace = Pace()
    add_threaded(pace, 1)
    for _ in range(10):
        pace.add_short(LONG)
        assert pace.is_suspect
        pace.add_short(SHORT)
        assert not pace.is_suspect
    assert pace.is_short


def test_large_texts_and_parameters_are_not_small() -> None:
    assert is_small("RETURN $x", {"x": "x" * 900, "y": None, "z": 2.5})
    assert is_small("RETURN $x", {"x": list(range(200))})
    assert not is_small("R" * 5000, {})
    assert not is_small("RETURN $x", {"x": "x" * 1001})
    assert not is_small("RETURN $x", {"x": list(range(1000))})
    assert not is_small("RETURN $x", {str(n): "x" * 100 for n in range(10)})


def test_deep_parameters_are_not_small_and_are_not_followed_down() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert not is_small("RETURN $x", {"x": deep})
    assert not is_small("RETURN $x", {"x": {"a": {"b": deep}}})
    while deep:  # else the interpreter takes it apart in one recursion
        deep = deep[0]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=200),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=100,
)


@given(values, values)
def test_what_holds_something_large_is_not_small(value: Any, other: Any) -> None:
    for outer in ({"a": value, "b": "x" * 1500}, {"a": [value, ["x" * 1500]]}):
        assert not is_small("RETURN $a", outer)
    if is_small("RETURN $a", {"a": [value, other]}):
        assert is_small("RETURN $a", {"a": value})
