"""Months and spans of time in UTC."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.control.billing.months import (
    DAY,
    Interval,
    Month,
    find_month,
    list_months,
    parse_month,
    subtract,
)
from twinframe.errors import InvalidArgument

MONTHS = st.builds(Month, st.integers(1970, 2260), st.integers(1, 12))
INTERVALS = st.tuples(st.integers(0, 40), st.integers(0, 20)).map(
    lambda pair: Interval(pair[0], pair[0] + pair[1])
)


@pytest.mark.parametrize(
    ("month", "days"),
    [("2023-02", 28), ("2024-02", 29), ("2100-02", 28), ("2000-02", 29), ("2024-12", 31)],
)
def test_a_month_has_the_days_of_its_year(month: str, days: int) -> None:
    assert parse_month(month).interval.seconds == days * DAY


@given(MONTHS)
def test_months_follow_each_other_without_gap(month: Month) -> None:
    assert month.interval.end == month.next().interval.begin
    assert month.next().previous() == month
    assert parse_month(str(month)) == month


@given(st.integers(0, 290 * 366 * DAY))
def test_a_moment_lies_in_the_month_of_the_calendar(seconds: int) -> None:
    found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    month = find_month(seconds)
    assert (month.year, month.number) == (found.year, found.month)
    assert month.interval.holds(seconds)


def test_the_last_second_of_a_month_is_its_own_and_the_next_is_not() -> None:
    end = int(datetime(2024, 3, 1, tzinfo=UTC).timestamp())
    assert find_month(end - 1) == Month(2024, 2)
    assert find_month(end) == Month(2024, 3)


def test_the_time_zone_of_the_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Month(2024, 3).interval
    old = os.environ.get("TZ")
    try:
        monkeypatch.setenv("TZ", "Pacific/Auckland")
        time.tzset()
        assert Month(2024, 3).interval == before
        assert find_month(before.begin) == Month(2024, 3)
    finally:
        monkeypatch.undo()
        assert os.environ.get("TZ") == old
        time.tzset()


def test_months_are_listed_over_the_turn_of_a_year() -> None:
    found = [str(month) for month in list_months(Month(2023, 11), Month(2024, 2))]
    assert found == ["2023-11", "2023-12", "2024-01", "2024-02"]
    assert list(list_months(Month(2024, 2), Month(2024, 1))) == []


@pytest.mark.parametrize("text", ["2024-13", "2024-00", "2024-2", "24-02", "2024-02-01", "٢٠٢٤-٠٢"])
def test_what_is_no_month_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is no month"):
        parse_month(text)


@given(INTERVALS, st.lists(INTERVALS, max_size=5))
def test_what_is_left_of_an_interval_is_every_second_in_no_part(
    whole: Interval, parts: list[Interval]
) -> None:
    wanted = {
        second
        for second in range(whole.begin, whole.end)
        if not any(part.holds(second) for part in parts)
    }
    left = subtract(whole, parts)
    assert [second for each in left for second in range(each.begin, each.end)] == sorted(wanted)


@given(INTERVALS, INTERVALS)
def test_a_cut_is_what_both_have(one: Interval, two: Interval) -> None:
    common = set(range(one.begin, one.end)) & set(range(two.begin, two.end))
    cut = one.cut(two)
    assert set(range(cut.begin, cut.end)) == common
