"""The truncation functions of instants: `date.truncate(unit, value, components)` and others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twinframe.model.temporal.components import (
    DATE_UNITS,
    TIME_UNITS,
    truncate_date,
    truncate_time,
)
from twinframe.model.temporal.failures import build_name_error
from twinframe.model.temporal.instants import (
    MIDNIGHT,
    UTC,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
    find_zone,
    zone_local,
)
from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.temporal_clock import build_now, find_offset_now
from twinframe.query.evaluate.functions.temporal_fields import (
    DATE_FIELDS,
    TIME_FIELDS,
    Fields,
    assign_date,
    assign_time,
    parse_fields,
    read_date,
    read_time,
)
from twinframe.query.evaluate.run import Run

_UNITS: Mapping[str, frozenset[str]] = {
    "date": DATE_UNITS,
    "localtime": TIME_UNITS,
    "time": TIME_UNITS,
    "localdatetime": DATE_UNITS | TIME_UNITS,
    "datetime": DATE_UNITS | TIME_UNITS,
}
_ALLOWED: Mapping[str, Iterable[str]] = {
    "date": DATE_FIELDS,
    "localtime": TIME_FIELDS,
    "time": TIME_FIELDS | {"timezone"},
    "localdatetime": DATE_FIELDS | TIME_FIELDS,
    "datetime": DATE_FIELDS | TIME_FIELDS | {"timezone"},
}


def truncate(kind: str, run: Run, unit: Value, *rest: Value) -> Value:
    """Return the start of the unit that contains a value (or now), with some finer components
    replaced.

    A `timezone` replaces the zone of the value and keeps the time of day.
    """
    function = f"{kind}.truncate"
    if unit is None or None in rest:
        return None
    value: Value = rest[0] if rest else build_now(kind, run.read_instant(), UTC)
    given: Value = rest[1] if len(rest) > 1 else {}
    if not isinstance(given, dict):
        raise build_argument_type_error(function, given, "a Map of components")
    if None in given.values():
        return None
    name = _check_unit(kind, unit)
    fields = parse_fields(function, given, _ALLOWED[kind])
    match kind:
        case "date":
            return _truncate_date(function, name, value, fields)
        case "localtime":
            return _truncate_time(function, name, value, fields)
        case "time":
            return _truncate_zoned_time(run, name, value, fields)
        case "localdatetime":
            return _truncate_local(function, name, value, fields)
        case _:
            return _truncate_date_time(function, name, value, fields)


def _check_unit(kind: str, unit: Value) -> str:
    if not isinstance(unit, str):
        raise build_argument_type_error(f"{kind}.truncate", unit, "a String as unit")
    if unit in _UNITS[kind]:
        return unit
    raise build_name_error(f"The unit of {kind}.truncate()", unit, _UNITS[kind])


def _truncate_date(function: str, unit: str, value: Value, fields: Fields) -> Date:
    base = truncate_date(read_date(function, value), unit)
    return assign_date(fields.integers, base) if fields.names_date() else base


def _truncate_time(function: str, unit: str, value: Value, fields: Fields) -> LocalTime:
    base = truncate_time(read_time(function, value), unit)
    return assign_time(_keep_subseconds(unit, base, fields.integers), base)


def _keep_subseconds(unit: str, base: LocalTime, given: Mapping[str, int]) -> Mapping[str, int]:
    """Return the components with those fractions of a second that the truncation has left.

    SPEC: TCK, Temporal9: `{nanosecond: 2}` on `.645876` cut to microseconds is `.645876002`.
    """
    kept: dict[str, int] = {}
    nanosecond = base.split()[3]
    if unit == "millisecond" and ("microsecond" in given or "nanosecond" in given):
        kept = {"millisecond": nanosecond // 1_000_000}
    elif unit == "microsecond" and "nanosecond" in given:
        kept = {
            "millisecond": nanosecond // 1_000_000,
            "microsecond": nanosecond // 1_000 % 1_000,
        }
    return {**kept, **given}


def _truncate_zoned_time(run: Run, unit: str, value: Value, fields: Fields) -> Time:
    local = _truncate_time("time.truncate", unit, value, fields)
    if fields.zone is not None:
        return Time(local, find_offset_now(fields.zone, run.read_instant()))
    return Time(local, value.offset if isinstance(value, Time | DateTime) else 0)


def _truncate_local(function: str, unit: str, value: Value, fields: Fields) -> LocalDateTime:
    if unit in DATE_UNITS:
        date = _truncate_date(function, unit, value, fields)
        return LocalDateTime(date, assign_time(fields.integers, MIDNIGHT))
    base = read_date(function, value)
    date = assign_date(fields.integers, base) if fields.names_date() else base
    return LocalDateTime(date, _truncate_time(function, unit, value, fields))


def _truncate_date_time(function: str, unit: str, value: Value, fields: Fields) -> Instant:
    local = _truncate_local(function, unit, value, fields)
    if fields.zone is not None:
        return zone_local(local, fields.zone)
    if isinstance(value, DateTime):
        return zone_local(local, find_zone(value), value.offset)
    return zone_local(local, UTC)
