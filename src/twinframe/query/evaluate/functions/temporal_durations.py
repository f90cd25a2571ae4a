"""The function `duration(x)` and the durations between two instants."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twinframe.model.temporal.durations import (
    Amount,
    Duration,
    approximate,
    build_amount,
)
from twinframe.model.temporal.failures import build_argument_error, build_name_error
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
)
from twinframe.model.temporal.parsing import parse_duration
from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.declare import Function, strict

_MONTHS = {"years": 12, "quarters": 3, "months": 1}
_DAYS = {"weeks": 7, "days": 1}
_CLOCK = {
    "hours": 3600 * NANOSECONDS,
    "minutes": 60 * NANOSECONDS,
    "seconds": NANOSECONDS,
    "milliseconds": 1_000_000,
    "microseconds": 1_000,
    "nanoseconds": 1,
}


def build_duration_value(value: Value) -> Value:
    """A duration from text, a map of amounts (integers or floats) or a duration."""
    match value:
        case Duration():
            return value
        case str():
            return parse_duration(value)
        case dict():
            return None if None in value.values() else _build_from_map(value)
        case _:
            raise build_argument_type_error("duration", value, "a String or Map")


def measure(function: str, apply: Callable[[Instant, Instant], Duration]) -> Function:
    """A function of two instants that is null when one of them is."""

    def call(start: Value, end: Value) -> Value:
        return apply(_check_instant(function, start), _check_instant(function, end))

    return strict(call)


def _build_from_map(given: Mapping[str, Value]) -> Duration:
    if not given:
        raise build_argument_error("duration() needs at least one amount in its map.")
    amounts: dict[str, Amount] = {}
    for name, value in given.items():
        if name not in _MONTHS and name not in _DAYS and name not in _CLOCK:
            raise build_name_error("For duration(), the unit", name, {*_MONTHS, *_DAYS, *_CLOCK})
        if type(value) is not int and not isinstance(value, float):
            raise build_argument_type_error("duration", value, f"a Number as {name}")
        amounts[name] = build_amount(value)
    months, days, clock = (
        sum((amount * units[name] for name, amount in amounts.items() if name in units), start=0)
        for units in (_MONTHS, _DAYS, _CLOCK)
    )
    return approximate(months, days, clock)


def _check_instant(function: str, value: Value) -> Instant:
    if isinstance(value, Date | LocalTime | Time | LocalDateTime | DateTime):
        return value
    raise build_argument_type_error(function, value, "dates, times or datetimes")
