"""The calendar against Python's own where that reaches, and against itself beyond."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.model.temporal_strategies import FIRST, LAST
from twinframe.errors import QueryInvalid
from twinframe.model.temporal import calendar
from twinframe.model.temporal.instants import NANOSECONDS_OF_DAY, build_local_time

EPOCH = date(1970, 1, 1)
known_dates = st.dates()
all_days = st.integers(FIRST, LAST)


@given(known_dates)
def test_a_day_has_the_names_that_python_gives_it(known: date) -> None:
    days = (known - EPOCH).days
    assert calendar.split_day(days) == (known.year, known.month, known.day)
    assert calendar.build_day(known.year, known.month, known.day) == days
    assert calendar.find_weekday(days) == known.isoweekday()
    assert calendar.split_week(days) == known.isocalendar()[:2]
    assert calendar.find_ordinal(days) == known.timetuple().tm_yday
    first = date(known.year, (known.month - 1) // 3 * 3 + 1, 1)
    assert calendar.find_quarter_day(days) == (known - first).days + 1


@pytest.mark.parametrize("year", [-400, 0, 4, 100, 400, 1900, 1970, 2000, 2004, 2100, 2400])
def test_a_leap_day_stands_between_february_and_march(year: int) -> None:
    march = calendar.build_day(year, 3, 1)
    last = 29 if calendar.is_leap(year) else 28
    assert calendar.is_leap(year) is (year % 4 == 0 and year not in {100, 1900, 2100})
    assert calendar.split_day(march - 1) == (year, 2, last)
    assert calendar.split_day(march) == (year, 3, 1)
    assert calendar.build_day(year, 2, last) == march - 1
    assert calendar.build_day(year + 1, 1, 1) - calendar.build_day(year, 1, 1) == 337 + last


@given(all_days)
def test_every_way_to_name_a_day_leads_back_to_it(days: int) -> None:
    year, month, day = calendar.split_day(days)
    assert calendar.build_day(year, month, day) == days
    assert calendar.build_ordinal_day(year, calendar.find_ordinal(days)) == days
    quarter = (month + 2) // 3
    assert calendar.build_quarter_day(year, quarter, calendar.find_quarter_day(days)) == days
    week_year, week = calendar.split_week(days)
    if abs(week_year) < calendar.MOST_YEAR:
        assert calendar.build_week_day(week_year, week, calendar.find_weekday(days)) == days


@given(st.integers(FIRST, LAST - 1))
def test_the_next_day_is_later_by_its_names(days: int) -> None:
    assert calendar.split_day(days) < calendar.split_day(days + 1)
    assert calendar.find_weekday(days + 1) == calendar.find_weekday(days) % 7 + 1


@given(known_dates, st.integers(-2000, 2000))
def test_months_keep_the_day_or_end_with_the_month(known: date, months: int) -> None:
    start = (known - EPOCH).days
    moved = calendar.add_months(start, months)
    year, month, day = calendar.split_day(moved)
    assert (year * 12 + month) - (known.year * 12 + known.month) == months
    assert day == min(known.day, calendar.count_month_days(year, month))


@given(all_days, all_days)
def test_whole_months_do_not_reach_beyond_the_end(start: int, end: int) -> None:
    months = calendar.count_months(start, end)
    reached = calendar.add_months(start, months)
    step = 1 if end >= start else -1
    assert abs(reached - start) <= abs(end - start)
    assert calendar.count_months(start, reached) in {months, months - step}
    over = start + (end - start) // abs(end - start) * 31 if end != start else start
    assert calendar.count_months(start, over) in {-1, 0, 1}


def test_the_week_of_january_fourth_is_the_first_one() -> None:
    assert [calendar.count_year_weeks(year) for year in (2015, 2016, 2020, 2021)] == [
        *(53, 52),
        *(53, 52),
    ]
    assert calendar.split_week((date(1984, 1, 1) - EPOCH).days) == (1983, 52)


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: calendar.build_day(2021, 2, 29), "day must be 1 to 28, not 29"),
        (lambda: calendar.build_day(2021, 13, 1), "month must be 1 to 12, not 13"),
        (lambda: calendar.build_day(10**9, 1, 1), "year must be -999999999 to 999999999"),
        (lambda: calendar.build_ordinal_day(2021, 366), "ordinalDay must be 1 to 365"),
        (lambda: calendar.build_week_day(2021, 53, 1), "week must be 1 to 52"),
        (lambda: calendar.build_quarter_day(2021, 1, 91), "dayOfQuarter must be 1 to 90"),
        (lambda: calendar.add_months(LAST, 1), "outside of the years"),
    ],
)
def test_a_day_that_is_none_is_refused(build: object, part: str) -> None:
    assert callable(build)
    with pytest.raises(QueryInvalid, match=part):
        build()


def test_a_time_of_day_ends_a_nanosecond_before_midnight() -> None:
    last = build_local_time(23, 59, 59, 999_999_999)
    assert last.nanoseconds == NANOSECONDS_OF_DAY - 1
    with pytest.raises(QueryInvalid, match="nanosecond must be 0 to 999999999"):
        build_local_time(23, 59, 59, 1_000_000_000)


def test_the_calendar_repeats_after_its_cycle() -> None:
    later = EPOCH + timedelta(days=calendar.CYCLE_DAYS)
    assert (later.year - EPOCH.year, later.month, later.day) == (calendar.CYCLE_YEARS, 1, 1)
    assert later.isoweekday() == EPOCH.isoweekday()
