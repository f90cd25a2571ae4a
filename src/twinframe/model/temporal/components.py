"""Reads the components of temporal values by name, for `value.year`, and truncates to a unit.

SPEC: openCypher 9 (CIP2015-08-06, «Accessing components»). `millisecond` and `microsecond` of a
time are those of its whole second; those of a duration of its whole length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from twinframe.model.temporal import calendar
from twinframe.model.temporal.calendar import (
    LEAST_YEAR,
    build_day,
    build_week_day,
    find_weekday,
    split_week,
)
from twinframe.model.temporal.durations import Duration, divide_towards_zero
from twinframe.model.temporal.failures import build_name_error, build_overflow
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    NANOSECONDS_OF_DAY,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
)
from twinframe.model.temporal.zones import render_offset

Component: TypeAlias = int | str

_DATE: dict[str, Callable[[int], int]] = {
    "year": lambda days: calendar.split_day(days)[0],
    "quarter": lambda days: (calendar.split_day(days)[1] + 2) // 3,
    "month": lambda days: calendar.split_day(days)[1],
    "week": lambda days: calendar.split_week(days)[1],
    "weekYear": lambda days: calendar.split_week(days)[0],
    "day": lambda days: calendar.split_day(days)[2],
    "ordinalDay": calendar.find_ordinal,
    "dayOfQuarter": calendar.find_quarter_day,
    "quarterDay": calendar.find_quarter_day,
    "dayOfWeek": calendar.find_weekday,
    "weekDay": calendar.find_weekday,
}
"""From days since 1970-01-01."""

_TIME: dict[str, Callable[[LocalTime], int]] = {
    "hour": lambda time: time.split()[0],
    "minute": lambda time: time.split()[1],
    "second": lambda time: time.split()[2],
    "millisecond": lambda time: time.split()[3] // 1_000_000,
    "microsecond": lambda time: time.split()[3] // 1_000,
    "nanosecond": lambda time: time.split()[3],
}

_OFFSET: dict[str, Callable[[int], Component]] = {
    "timezone": render_offset,
    "offset": render_offset,
    "offsetMinutes": lambda offset: divide_towards_zero(offset, 60),
    "offsetSeconds": lambda offset: offset,
}
"""From seconds east of UTC."""

_EPOCH: dict[str, Callable[[int], int]] = {
    "epochSeconds": lambda instant: instant // NANOSECONDS,
    "epochMillis": lambda instant: instant // 1_000_000,
}
"""From nanoseconds since 1970-01-01T00:00Z."""


def _remainder(amount: int, divisor: int) -> int:
    return amount - divide_towards_zero(amount, divisor) * divisor


_DURATION: dict[str, Callable[[Duration], int]] = {
    "years": lambda value: divide_towards_zero(value.months, 12),
    "quarters": lambda value: divide_towards_zero(value.months, 3),
    "months": lambda value: value.months,
    "weeks": lambda value: divide_towards_zero(value.days, 7),
    "days": lambda value: value.days,
    "hours": lambda value: divide_towards_zero(value.seconds, 3600),
    "minutes": lambda value: divide_towards_zero(value.seconds, 60),
    "seconds": lambda value: value.seconds,
    "milliseconds": lambda value: value.clock // 1_000_000,
    "microseconds": lambda value: value.clock // 1_000,
    "nanoseconds": lambda value: value.clock,
    "quartersOfYear": lambda value: _remainder(divide_towards_zero(value.months, 3), 4),
    "monthsOfQuarter": lambda value: _remainder(value.months, 3),
    "monthsOfYear": lambda value: _remainder(value.months, 12),
    "daysOfWeek": lambda value: _remainder(value.days, 7),
    "minutesOfHour": lambda value: _remainder(divide_towards_zero(value.seconds, 60), 60),
    "secondsOfMinute": lambda value: _remainder(value.seconds, 60),
    "millisecondsOfSecond": lambda value: value.nanoseconds // 1_000_000,
    "microsecondsOfSecond": lambda value: value.nanoseconds // 1_000,
    "nanosecondsOfSecond": lambda value: value.nanoseconds,
}

COMPONENTS: Mapping[type, frozenset[str]] = MappingProxyType(
    {
        Date: frozenset(_DATE),
        LocalTime: frozenset(_TIME),
        Time: frozenset({*_TIME, *_OFFSET}),
        LocalDateTime: frozenset({*_DATE, *_TIME}),
        DateTime: frozenset({*_DATE, *_TIME, *_OFFSET, *_EPOCH}),
        Duration: frozenset(_DURATION),
    }
)
"""The names of the components of each type."""


def read_component(value: Instant | Duration, name: str) -> Component:
    """Return a component of a value; one that its type does not have is refused by name."""
    if name not in COMPONENTS[type(value)]:
        what = f"The component of a {type(value).__name__}"
        raise build_name_error(what, name, COMPONENTS[type(value)])
    match value:
        case Date():
            return _DATE[name](value.days)
        case LocalTime():
            return _TIME[name](value)
        case Time():
            return _TIME[name](value.local) if name in _TIME else _OFFSET[name](value.offset)
        case LocalDateTime():
            return _read_local(value, name)
        case DateTime():
            return _read_date_time(value, name)
        case Duration():
            return _DURATION[name](value)


def _read_local(value: LocalDateTime, name: str) -> int:
    return _DATE[name](value.date.days) if name in _DATE else _TIME[name](value.time)


def _read_date_time(value: DateTime, name: str) -> Component:
    if name == "timezone" and value.zone is not None:
        return value.zone
    if name in _OFFSET:
        return _OFFSET[name](value.offset)
    if name in _EPOCH:
        return _EPOCH[name](value.instant)
    return _read_local(value.local, name)


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
