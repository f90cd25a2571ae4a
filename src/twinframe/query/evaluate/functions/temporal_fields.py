"""Builds dates and times of day from maps of components, `{year: 1984, week: 10}`, and a base
value.

`temporal_values` adds zones and builds whole values.

SPEC: openCypher 9 (CIP2015-08-06, «Constructing temporal values»). A date is given by one of four
ways (month, week, quarter, ordinal day). Without a base a component needs all coarser ones; with
one, missing components are the base's, limited to the length of the month, quarter or year.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twinframe.model.temporal import calendar
from twinframe.model.temporal.failures import (
    build_argument_error,
    build_name_error,
    check_between,
)
from twinframe.model.temporal.instants import (
    MIDNIGHT,
    Date,
    DateTime,
    LocalDateTime,
    LocalTime,
    Time,
    Zone,
    build_local_time,
)
from twinframe.model.temporal.parsing import parse_zone
from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_argument_type_error

_WAYS = (("week", "dayOfWeek"), ("quarter", "dayOfQuarter"), ("ordinalDay",), ("month", "day"))
DATE_FIELDS = frozenset({"year", *(name for way in _WAYS for name in way)})
_SUBSECONDS = ("millisecond", "microsecond", "nanosecond")
TIME_FIELDS = frozenset({"hour", "minute", "second", *_SUBSECONDS})
EPOCH_FIELDS = frozenset({"epochSeconds", "epochMillis"})
BASES = frozenset({"date", "time", "datetime"})

_INTEGERS = DATE_FIELDS | TIME_FIELDS | EPOCH_FIELDS
_FINEST = frozenset(way[-1] for way in _WAYS)


@dataclass(frozen=True, slots=True)
class Fields:
    """The checked map of one call: integers, base values and the zone, each by its name."""

    integers: Mapping[str, int]
    bases: Mapping[str, Value]
    zone: Zone | None

    def names_date(self) -> bool:
        """Whether a component of a date is given."""
        return not DATE_FIELDS.isdisjoint(self.integers)

    def names_time(self) -> bool:
        """Whether a component of a time of day is given."""
        return not TIME_FIELDS.isdisjoint(self.integers)

    def is_zone_alone(self) -> bool:
        """Whether nothing but a zone is given."""
        return self.zone is not None and not self.integers and not self.bases


def parse_fields(function: str, given: Mapping[str, Value], allowed: Iterable[str]) -> Fields:
    """The components of a map without nulls; other names and types than allowed are refused."""
    known = frozenset(allowed)
    integers: dict[str, int] = {}
    bases: dict[str, Value] = {}
    zone: Zone | None = None
    for name, value in given.items():
        if name not in known:
            raise build_name_error(f"For {function}(), the component", name, known)
        if name in _INTEGERS:
            integers[name] = _check_integer(function, name, value)
        elif name in BASES:
            bases[name] = value
        else:
            zone = read_zone(function, value)
    return Fields(integers, bases, zone)


def read_zone(function: str, value: Value) -> Zone:
    """A time zone from its text."""
    if isinstance(value, str):
        return parse_zone(value)
    raise build_argument_type_error(function, value, "a String as timezone")


def read_date(function: str, value: Value) -> Date:
    """The date of a value that has one."""
    match value:
        case Date():
            return value
        case LocalDateTime():
            return value.date
        case DateTime():
            return value.local.date
        case _:
            raise build_argument_type_error(function, value, "a value with a date")


def read_time(function: str, value: Value) -> LocalTime:
    """The time of day of a value that has one."""
    match value:
        case LocalTime():
            return value
        case Time():
            return value.local
        case LocalDateTime():
            return value.time
        case DateTime():
            return value.local.time
        case _:
            raise build_argument_type_error(function, value, "a value with a time of day")


def assign_date(given: Mapping[str, int], base: Date | None) -> Date:
    """The date of the given components, completed by the base's."""
    used = [way for way in _WAYS if any(name in given for name in way)] or [("month", "day")]
    if len(used) > 1:
        first, second = (next(name for name in way if name in given) for way in used[:2])
        raise build_argument_error(f"{first} and {second} do not go together in one date.")
    if base is None:
        _check_coarser(given, ("year", *used[0]))
    match used[0][0]:
        case "week":
            return Date(_assign_week(given, base))
        case "quarter":
            return Date(_assign_quarter(given, base))
        case "ordinalDay":
            year = given["year"] if base is None else given.get("year", base.split()[0])
            return Date(calendar.build_ordinal_day(year, given["ordinalDay"]))
        case _:
            return Date(_assign_month(given, base))


def assign_time(given: Mapping[str, int], base: LocalTime | None) -> LocalTime:
    """The time of day of the given components, completed by the base's.

    Fractions of a second add up: with a millisecond, a microsecond is 0 to 999.
    """
    subseconds = any(name in given for name in _SUBSECONDS)
    if base is None:
        _check_coarser(given, ("hour", "minute", "second"), finest_is_given=subseconds)
    hour, minute, second, nanosecond = (base or MIDNIGHT).split()
    if subseconds:
        nanosecond = _add_subseconds(given)
    return build_local_time(
        given.get("hour", hour),
        given.get("minute", minute),
        given.get("second", second),
        nanosecond,
    )


def check_complete_date(given: Mapping[str, int]) -> None:
    """Check that a time of day only follows a date given to the day."""
    if _FINEST.isdisjoint(given):
        raise build_argument_error(
            "A time of day needs a whole date: give month and day, week and dayOfWeek, quarter and "
            "dayOfQuarter, or ordinalDay."
        )


def _check_integer(function: str, name: str, value: Value) -> int:
    if type(value) is int:
        return value
    raise build_argument_type_error(function, value, f"an Integer as {name}")


def _check_coarser(
    given: Mapping[str, int], order: tuple[str, ...], *, finest_is_given: bool = False
) -> None:
    finer = "a fraction of a second" if finest_is_given else ""
    for name in reversed(order):
        if name in given:
            finer = name
        elif finer:
            raise build_argument_error(f"{finer} needs {name} to be given too.")
    if order[0] == "year" and "year" not in given:
        raise build_argument_error("A date needs a year, or a date that it is taken from.")


def _assign_month(given: Mapping[str, int], base: Date | None) -> int:
    year, month, day = (0, 1, 1) if base is None else base.split()
    year, month = given.get("year", year), given.get("month", month)
    day = given.get("day", min(day, calendar.count_month_days(year, month)))
    return calendar.build_day(year, month, day)


def _assign_week(given: Mapping[str, int], base: Date | None) -> int:
    year, week, day = 0, 1, 1
    if base is not None:
        year, week = calendar.split_week(base.days)
        day = calendar.find_weekday(base.days)
    year = given.get("year", year)
    week = given.get("week", min(week, calendar.count_year_weeks(year)))
    return calendar.build_week_day(year, week, given.get("dayOfWeek", day))


def _assign_quarter(given: Mapping[str, int], base: Date | None) -> int:
    year, quarter, day = 0, 1, 1
    if base is not None:
        year, month, _ = base.split()
        quarter, day = (month + 2) // 3, calendar.find_quarter_day(base.days)
    year, quarter = given.get("year", year), given.get("quarter", quarter)
    day = given.get("dayOfQuarter", min(day, calendar.count_quarter_days(year, quarter)))
    return calendar.build_quarter_day(year, quarter, day)


def _add_subseconds(given: Mapping[str, int]) -> int:
    total, coarser = 0, 1
    for name, length in zip(_SUBSECONDS, (1_000_000, 1_000, 1), strict=True):
        if name in given:
            most = 1_000_000_000 // coarser // length - 1
            total += check_between(name, given[name], 0, most) * length
            coarser = 1_000_000_000 // length
    return total
