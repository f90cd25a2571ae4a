"""Truncates dates and times to a unit."""

from __future__ import annotations

from twinframe.model.temporal.calendar import (
    LEAST_YEAR,
    build_day,
    build_week_day,
    find_weekday,
    split_week,
)
from twinframe.model.temporal.failures import build_overflow
from twinframe.model.temporal.instants import NANOSECONDS, NANOSECONDS_OF_DAY, Date, LocalTime

DATE_UNITS = frozenset(
    {
        "millennium",
        "century",
        "decade",
        "year",
        "weekYear",
        "quarter",
        "month",
        "week",
        "day",
    }
)
"""Units of a day and more."""

TIME_UNITS = frozenset({"day", "hour", "minute", "second", "millisecond", "microsecond"})
"""Units of a day and less."""

_LENGTHS = {
    "day": NANOSECONDS_OF_DAY,
    "hour": 3600 * NANOSECONDS,
    "minute": 60 * NANOSECONDS,
    "second": NANOSECONDS,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
}
_YEARS = {"millennium": 1000, "century": 100, "decade": 10, "year": 1}


def truncate_date(value: Date, unit: str) -> Date:
    """Return the first day of the `unit` (one of `DATE_UNITS`) that contains the date.

    A unit that begins before the supported years is refused.
    """
    year, month, _ = value.split()
    match unit:
        case "millennium" | "century" | "decade" | "year":
            return Date(build_day(_check_reach(year - year % _YEARS[unit], unit), 1, 1))
        case "weekYear":
            return Date(build_week_day(split_week(value.days)[0], 1, 1))
        case "quarter":
            return Date(build_day(year, (month - 1) // 3 * 3 + 1, 1))
        case "month":
            return Date(build_day(year, month, 1))
        case "week":
            # NOTE: the first supported day is a Monday, so no week begins before it.
            return Date(value.days - find_weekday(value.days) + 1)
        case "day":
            return value
        case _:
            raise ValueError(f"{unit!r} is none of {', '.join(sorted(DATE_UNITS))}.")


def truncate_time(value: LocalTime, unit: str) -> LocalTime:
    """Return the first nanosecond of the `unit` (one of `TIME_UNITS`) that contains the time."""
    return LocalTime(value.nanoseconds - value.nanoseconds % _LENGTHS[unit])


def _check_reach(year: int, unit: str) -> int:
    if year >= LEAST_YEAR:
        return year
    raise build_overflow(f"The {unit} of the date begins before the year {LEAST_YEAR}.")
