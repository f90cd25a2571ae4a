"""Equality, equivalence and order of temporal values."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.model import temporal_strategies as values
from twinframe.model.comparison import (
    build_equivalence_key,
    build_order_key,
    equals,
    is_less,
    is_less_or_equal,
    name_type,
)
from twinframe.model.temporal.durations import Duration, build_duration
from twinframe.model.temporal.instants import DateTime, Time
from twinframe.model.temporal.parsing import (
    parse_date,
    parse_date_time,
    parse_duration,
    parse_local_date_time,
    parse_local_time,
    parse_time,
)

temporal = st.one_of(values.instants, values.durations)
of_one_type = st.one_of(
    *(
        st.tuples(one, one)
        for one in (
            *(values.dates, values.local_times, values.times),
            *(values.local_date_times, values.date_times, values.durations),
        )
    )
)


@given(st.one_of(st.tuples(temporal, temporal), of_one_type, temporal.map(lambda x: (x, x))))
def test_order_is_total_and_agrees_with_equality(pair: tuple[Any, Any]) -> None:
    left, right = pair
    one, other = build_order_key(left), build_order_key(right)
    assert (one < other) + (one == other) + (one > other) == 1
    assert (one == other) is equals(left, right)
    same = build_equivalence_key(left) == build_equivalence_key(right)
    assert same is equals(left, right)
    if same:
        assert hash(build_equivalence_key(left)) == hash(build_equivalence_key(right))


@given(of_one_type)
def test_less_is_the_order_of_instants_and_unknown_of_durations(pair: tuple[Any, Any]) -> None:
    left, right = pair
    if isinstance(left, Duration):
        assert is_less(left, right) is None
        assert is_less_or_equal(left, right) is None
    else:
        assert is_less(left, right) is (build_order_key(left) < build_order_key(right))
        assert is_less_or_equal(left, right) is (build_order_key(left) <= build_order_key(right))


@given(temporal, temporal)
def test_types_are_never_equal_nor_comparable(left: Any, right: Any) -> None:
    if type(left) is not type(right):
        assert equals(left, right) is False
        assert is_less(left, right) is None


ASCENDING: list[Any] = [
    [],
    parse_date_time("2015-07-21T10:00+02:00"),
    parse_date_time("2015-07-21T10:00+01:00"),
    parse_local_date_time("0001-01-01"),
    parse_date("0001-01-01"),
    parse_time("12:00+02:00"),
    parse_time("11:00Z"),
    parse_local_time("00:00"),
    parse_duration("P29D"),
    parse_duration("P1M"),
    parse_duration("P31D"),
    "",
    False,
    -1,
    None,
]


def test_temporal_values_stand_between_lists_and_strings() -> None:
    for mixed in (ASCENDING[::-1], ASCENDING[1::2] + ASCENDING[::2]):
        assert sorted(mixed, key=build_order_key) == ASCENDING


@pytest.mark.parametrize(
    "texts",
    [
        ("2015-07-21T09:00-01:00", "2015-07-21T10:00Z", "2015-07-21T12:00+02:00"),
        (
            "2015-07-21T12:00+02:00",
            "2015-07-21T12:00+02:00[Europe/Oslo]",
            "2015-07-21T12:00+02:00[Europe/Paris]",
        ),
    ],
)
def test_one_instant_in_several_zones_is_ordered_from_west_to_east(texts: tuple[str, ...]) -> None:
    moments = [parse_date_time(text) for text in texts]
    assert len({moment.instant for moment in moments}) == 1
    for earlier, later in itertools.pairwise(moments):
        assert equals(earlier, later) is False
        assert is_less(earlier, later) is True


@given(
    st.one_of(
        st.tuples(values.times, values.times), st.tuples(values.date_times, values.date_times)
    )
)
def test_the_earlier_instant_is_less_whatever_the_zones(
    pair: tuple[Time, Time] | tuple[DateTime, DateTime],
) -> None:
    left, right = pair
    if left.instant != right.instant:
        assert is_less(left, right) is (left.instant < right.instant)


def test_durations_are_equal_by_their_amounts() -> None:
    assert equals(parse_duration("PT60M"), parse_duration("PT1H")) is True
    assert equals(parse_duration("P1Y"), parse_duration("P12M")) is True
    assert equals(parse_duration("P1D"), parse_duration("PT24H")) is False
    assert equals(build_duration(0, 0, -1), parse_duration("PT-0.000000001S")) is True


def test_every_temporal_type_has_a_name_for_messages() -> None:
    names = {name_type(value) for value in ASCENDING[1:9]}
    assert names == {"DateTime", "LocalDateTime", "Date", "Time", "LocalTime", "Duration"}
