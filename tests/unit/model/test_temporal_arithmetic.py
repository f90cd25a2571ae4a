"""Durations: their normal form, added to instants, and measured between them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.model import temporal_strategies as values
from twinframe.errors import QueryInvalid
from twinframe.model.rendering import render_temporal
from twinframe.model.temporal.arithmetic import (
    add_duration,
    measure_between,
    measure_days,
    measure_months,
    measure_seconds,
)
from twinframe.model.temporal.durations import (
    NANOSECONDS_OF_MONTH,
    Duration,
    add_durations,
    approximate,
    build_amount,
    build_duration,
    negate_duration,
    scale_duration,
)
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    NANOSECONDS_OF_DAY,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
    find_zone,
    zone_instant,
)
from twinframe.model.temporal.parsing import (
    parse_date,
    parse_date_time,
    parse_duration,
    parse_local_date_time,
    parse_local_time,
)

clocks = st.integers(-(10**15), 10**15).map(lambda clock: build_duration(clock=clock))
near_dates = st.integers(-800_000, 3_000_000).map(Date)
near_locals = st.builds(LocalDateTime, near_dates, values.local_times)
near_zoned = st.builds(
    zone_instant,
    st.integers(-(10**20), 10**20),
    st.one_of(values.offsets, st.sampled_from(values.ZONES)),
)
near = st.one_of(near_dates, values.local_times, values.times, near_locals, near_zoned)


# --- durations among themselves -----------------------------------------------------------------


@given(values.durations)
def test_a_duration_has_one_form(value: Duration) -> None:
    assert 0 <= value.nanoseconds < NANOSECONDS
    assert build_duration(value.months, value.days, value.clock) == value


@given(values.small_durations, values.small_durations, values.small_durations)
def test_durations_add_as_a_group(one: Duration, other: Duration, third: Duration) -> None:
    nothing = build_duration()
    assert add_durations(one, other) == add_durations(other, one)
    assert add_durations(add_durations(one, other), third) == add_durations(
        one, add_durations(other, third)
    )
    assert add_durations(one, negate_duration(one)) == nothing
    assert add_durations(one, nothing) == one


@given(values.small_durations, st.integers(-50, 50))
def test_a_whole_multiple_is_a_repeated_sum(value: Duration, times: int) -> None:
    total = build_duration()
    for _ in range(abs(times)):
        total = add_durations(total, value)
    assert scale_duration(value, times) == (total if times >= 0 else negate_duration(total))


@given(st.fractions(-1000, 1000), st.fractions(-1000, 1000), st.fractions(-(10**9), 10**9))
def test_fractions_go_down_without_loss_of_length(
    months: Fraction, days: Fraction, clock: Fraction
) -> None:
    value = approximate(months, days, clock)
    length = months * NANOSECONDS_OF_MONTH + days * NANOSECONDS_OF_DAY + clock
    kept = value.months * NANOSECONDS_OF_MONTH + value.days * NANOSECONDS_OF_DAY + value.clock
    assert abs(length - kept) < 1


def test_a_float_is_the_number_it_spells() -> None:
    assert build_amount(0.1) == Fraction(1, 10)
    assert approximate(0, 0, build_amount(0.1) * NANOSECONDS) == parse_duration("PT0.1S")
    for value in (float("nan"), float("inf")):
        with pytest.raises(QueryInvalid, match="no amount of time"):
            build_amount(value)


def test_a_duration_beyond_64_bits_is_refused() -> None:
    most = build_duration(days=2**63 - 1)
    with pytest.raises(QueryInvalid, match="64 bits"):
        add_durations(most, build_duration(days=1))
    with pytest.raises(QueryInvalid, match="64 bits"):
        scale_duration(most, Fraction(10) ** 300)


# --- durations added to instants ----------------------------------------------------------------


@given(near, clocks)
def test_what_the_clock_adds_it_takes_away(value: Instant, duration: Duration) -> None:
    assume(not isinstance(value, Date))
    there = add_duration(value, duration)
    assert add_duration(there, negate_duration(duration)) == value


@given(near_dates, st.integers(-(10**6), 10**6))
def test_what_days_add_they_take_away(value: Date, days: int) -> None:
    there = add_duration(value, build_duration(days=days))
    assert add_duration(there, build_duration(days=-days)) == value


@given(near_locals, values.small_durations)
def test_months_days_and_clock_are_added_in_this_order(
    value: LocalDateTime, duration: Duration
) -> None:
    moved: Instant = value
    for part in (
        build_duration(months=duration.months),
        build_duration(days=duration.days),
        build_duration(clock=duration.clock),
    ):
        moved = add_duration(moved, part)
    assert add_duration(value, duration) == moved


@given(values.local_times, values.times, values.small_durations)
def test_a_time_of_day_takes_the_clock_alone(
    local: LocalTime, time: Time, duration: Duration
) -> None:
    wanted = (local.nanoseconds + duration.clock) % NANOSECONDS_OF_DAY
    assert add_duration(local, duration) == LocalTime(wanted)
    moved = add_duration(time, duration)
    assert isinstance(moved, Time)
    assert (moved.instant - time.instant - duration.clock) % NANOSECONDS_OF_DAY == 0


@given(near_zoned, values.small_durations)
def test_a_sum_stays_in_its_zone(value: DateTime, duration: Duration) -> None:
    moved = add_duration(value, duration)
    assert isinstance(moved, DateTime)
    assert find_zone(moved) == find_zone(value)
    assert zone_instant(moved.instant, find_zone(moved)) == moved


@pytest.mark.parametrize(
    ("start", "duration", "end"),
    [
        ("2017-03-25T02:30+01:00[Europe/Berlin]", "P1D", "2017-03-26T03:30+02:00[Europe/Berlin]"),
        ("2017-03-25T02:30+01:00[Europe/Berlin]", "PT24H", "2017-03-26T03:30+02:00[Europe/Berlin]"),
        ("2017-03-25T12:00+01:00[Europe/Berlin]", "P1D", "2017-03-26T12:00+02:00[Europe/Berlin]"),
        ("2017-03-25T12:00+01:00[Europe/Berlin]", "PT24H", "2017-03-26T13:00+02:00[Europe/Berlin]"),
        ("2017-10-28T02:30+02:00[Europe/Berlin]", "P1D", "2017-10-29T02:30+02:00[Europe/Berlin]"),
        ("2017-10-29T02:30+02:00[Europe/Berlin]", "PT1H", "2017-10-29T02:30+01:00[Europe/Berlin]"),
        ("2017-11-29T02:30+01:00[Europe/Berlin]", "P-1M", "2017-10-29T02:30+01:00[Europe/Berlin]"),
        ("2017-01-31T00:00Z", "P1MT1S", "2017-02-28T00:00:01Z"),
    ],
)
def test_days_move_the_clocks_reading_and_hours_the_instant(
    start: str, duration: str, end: str
) -> None:
    moved = add_duration(parse_date_time(start), parse_duration(duration))
    assert render_temporal(moved) == end


@pytest.mark.parametrize(
    ("duration", "later", "earlier"),
    [
        ("P12Y5M14DT16H13M10.000000002S", "1997-03-25", "1972-04-27"),
        ("P1M-14DT15H49M10S", "1984-10-28", "1984-09-25"),
        ("P155M29DT33H58M13.5S", "1997-10-11", "1971-10-12"),
    ],
)
def test_a_date_takes_whole_days_of_the_clock(duration: str, later: str, earlier: str) -> None:
    start, amount = parse_date("1984-10-11"), parse_duration(duration)
    assert add_duration(start, amount) == parse_date(later)
    assert add_duration(start, negate_duration(amount)) == parse_date(earlier)


@pytest.mark.parametrize(
    ("value", "duration"),
    [
        (parse_date("+999999999-12-31"), "P1D"),
        (parse_local_date_time("-999999999-01-01"), "PT-0.000000001S"),
        (parse_date_time("+999999999-12-31T23:59:59[Europe/Oslo]"), "PT1S"),
        (parse_date("2015-01-01"), "P9000000000000000000M"),
    ],
)
def test_a_sum_outside_of_the_years_is_refused(value: Any, duration: str) -> None:
    with pytest.raises(QueryInvalid, match="outside of the years") as caught:
        add_duration(value, parse_duration(duration))
    assert (caught.value.kind, caught.value.detail) == ("ArithmeticError", "NumberOutOfRange")


# --- durations between instants -----------------------------------------------------------------


@given(st.one_of(*(st.tuples(one, one) for one in (near_dates, near_locals, near_zoned))))
def test_what_lies_between_leads_from_one_to_the_other(pair: tuple[Any, Any]) -> None:
    start, end = pair
    there = add_duration(start, measure_between(start, end))
    if isinstance(there, DateTime):
        assert there.instant == end.instant
    else:
        assert there == end


@given(near, near)
def test_between_is_nothing_exactly_when_seconds_are(start: Instant, end: Instant) -> None:
    nothing = build_duration()
    assert (measure_between(start, end) == nothing) is (measure_seconds(start, end) == nothing)
    assert measure_between(start, start) == nothing


@given(st.one_of(*(st.tuples(one, one) for one in (values.times, near_locals, near_zoned))))
def test_seconds_between_are_the_same_both_ways(pair: tuple[Any, Any]) -> None:
    start, end = pair
    assert measure_seconds(end, start) == negate_duration(measure_seconds(start, end))


@given(near_locals, near_locals)
def test_all_parts_between_have_the_sign_of_the_whole(
    start: LocalDateTime, end: LocalDateTime
) -> None:
    between = measure_between(start, end)
    signs = {(part > 0) - (part < 0) for part in (between.months, between.days, between.clock)}
    assert signs - {0} <= ({1} if end > start else {-1})
    assert abs(between.clock) < NANOSECONDS_OF_DAY
    assert measure_months(start, end) == build_duration(months=between.months)
    length = end.nanoseconds - start.nanoseconds
    days = abs(length) // NANOSECONDS_OF_DAY
    assert measure_days(start, end) == build_duration(days=days if length >= 0 else -days)


def test_what_one_side_lacks_is_taken_from_the_other() -> None:
    berlin = parse_date_time("2017-10-29T00:00[Europe/Berlin]")
    assert measure_seconds(berlin, parse_local_time("04:00")) == parse_duration("PT5H")
    assert measure_seconds(berlin, parse_date("2017-10-30")) == parse_duration("PT25H")
    assert measure_between(parse_local_time("14:30"), parse_date("2015-06-24")) == parse_duration(
        "PT-14H-30M"
    )
    assert measure_months(parse_local_time("14:30"), parse_date("2015-06-24")) == build_duration()


def test_the_longest_time_there_is_can_be_measured() -> None:
    start = parse_local_date_time("-999999999-01-01")
    end = parse_local_date_time("+999999999-12-31T23:59:59")
    assert render_temporal(measure_seconds(start, end)) == "PT17531639991215H59M59S"
