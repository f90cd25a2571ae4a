"""Builds temporal values from maps, text and one another: `date(x)`, `datetime(x)` and others.

`temporal_clock` reads the clock, `temporal_truncation` truncates, `temporal_durations` has the
durations.

SPEC: openCypher 9 (CIP2015-08-06). A zone given with a base value that has a zone keeps the
instant; beside one that has none it keeps the time of day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twinframe.model.temporal.failures import build_argument_error, check_between
from twinframe.model.temporal.instants import (
    UTC,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
    Zone,
    find_zone,
    zone_instant,
    zone_local,
)
from twinframe.model.temporal.parsing import (
    parse_date,
    parse_date_time,
    parse_local_date_time,
    parse_local_time,
    parse_time,
)
from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.temporal_clock import build_now, find_offset_now
from twinframe.query.evaluate.functions.temporal_fields import (
    DATE_FIELDS,
    EPOCH_FIELDS,
    TIME_FIELDS,
    Fields,
    assign_date,
    assign_time,
    check_complete_date,
    parse_fields,
    read_date,
    read_time,
)
from twinframe.query.evaluate.run import Run

_ALLOWED: Mapping[str, frozenset[str]] = {
    "date": DATE_FIELDS | {"date", "timezone"},
    "localtime": TIME_FIELDS | {"time", "timezone"},
    "time": TIME_FIELDS | {"time", "timezone"},
    "localdatetime": DATE_FIELDS | TIME_FIELDS | {"date", "time", "datetime", "timezone"},
    "datetime": (
        DATE_FIELDS | TIME_FIELDS | EPOCH_FIELDS | {"date", "time", "datetime", "timezone"}
    ),
}
_EPOCH_UNITS = {"epochSeconds": 1_000_000_000, "epochMillis": 1_000_000}

_PARSERS: Mapping[str, Callable[[str], Instant]] = {
    "date": parse_date,
    "localtime": parse_local_time,
    "time": parse_time,
    "localdatetime": parse_local_date_time,
    "datetime": parse_date_time,
}


def build_instant(kind: str, run: Run, value: Value) -> Value:
    """Build the value of `kind` (`date`, `time`, ...) from text, a map or another value.

    A null in the map makes the result null.
    """
    match value:
        case None:
            return None
        case str():
            return _PARSERS[kind](value)
        case dict():
            return None if None in value.values() else _build_from_map(kind, run, value)
        case Date() | LocalTime() | Time() | LocalDateTime() | DateTime():
            return _convert(kind, value)
        case _:
            raise build_argument_type_error(kind, value, "a String, Map or temporal value")


def build_from_epoch(seconds: Value, nanoseconds: Value) -> DateTime:
    """`datetime.fromEpoch()`: seconds and nanoseconds since 1970-01-01T00:00Z."""
    if type(seconds) is not int or type(nanoseconds) is not int:
        wrong = nanoseconds if type(seconds) is int else seconds
        raise build_argument_type_error("datetime.fromEpoch", wrong, "Integers")
    return zone_instant(seconds * 1_000_000_000 + nanoseconds, UTC)


def build_from_epoch_millis(milliseconds: Value) -> DateTime:
    """`datetime.fromEpochMillis()`: milliseconds since 1970-01-01T00:00Z."""
    if type(milliseconds) is not int:
        raise build_argument_type_error("datetime.fromEpochMillis", milliseconds, "an Integer")
    return zone_instant(milliseconds * 1_000_000, UTC)


def _convert(kind: str, value: Instant) -> Instant:
    match kind:
        case "date":
            return read_date(kind, value)
        case "localtime":
            return read_time(kind, value)
        case "time":
            offset = value.offset if isinstance(value, Time | DateTime) else 0
            return Time(read_time(kind, value), offset)
        case _:
            local = LocalDateTime(read_date(kind, value), read_time(kind, value))
            if kind == "localdatetime":
                return local
            return value if isinstance(value, DateTime) else zone_local(local, UTC)


def _build_from_map(kind: str, run: Run, given: Mapping[str, Value]) -> Instant:
    if not given:
        raise build_argument_error(f"{kind}() needs at least one component in its map.")
    fields = parse_fields(kind, given, _ALLOWED[kind])
    if fields.zone is not None and fields.is_zone_alone():
        return build_now(kind, run.read_instant(), fields.zone)
    if fields.zone is not None and kind not in {"time", "datetime"}:
        raise build_argument_error(f"{kind}() takes a timezone only on its own, for the clock.")
    match kind:
        case "date":
            return _assign_date(kind, fields)
        case "localtime":
            return assign_time(fields.integers, _read_base_time(kind, fields))
        case "time":
            return _build_time(run, fields)
        case "localdatetime":
            return _assign_local(kind, fields)
        case _:
            return _build_date_time(fields)


def _build_time(run: Run, fields: Fields) -> Time:
    local = assign_time(fields.integers, _read_base_time("time", fields))
    base = fields.bases.get("time")
    is_zoned = isinstance(base, Time | DateTime)
    offset = base.offset if isinstance(base, Time | DateTime) else 0
    if fields.zone is None:
        return Time(local, offset)
    wanted = find_offset_now(fields.zone, run.read_instant())
    if is_zoned:
        nanoseconds = local.nanoseconds + (wanted - offset) * 1_000_000_000
        return Time(LocalTime(nanoseconds % (86_400 * 1_000_000_000)), wanted)
    return Time(local, wanted)


def _build_date_time(fields: Fields) -> DateTime:
    if not EPOCH_FIELDS.isdisjoint(fields.integers):
        return _build_from_epoch_fields(fields)
    local = _assign_local("datetime", fields)
    base = fields.bases.get("datetime", fields.bases.get("time"))
    if not isinstance(base, DateTime | Time):
        return zone_local(local, UTC if fields.zone is None else fields.zone)
    preferred = base.offset
    placed = zone_local(local, find_zone(base), preferred)
    return placed if fields.zone is None else zone_instant(placed.instant, fields.zone)


def _build_from_epoch_fields(fields: Fields) -> DateTime:
    names = set(fields.integers) - {"nanosecond"}
    if len(names) != 1 or fields.bases:
        raise build_argument_error(
            "epochSeconds or epochMillis goes with nanosecond and timezone alone."
        )
    name = names.pop()
    length = _EPOCH_UNITS[name]
    fraction = check_between("nanosecond", fields.integers.get("nanosecond", 0), 0, length - 1)
    zone: Zone = UTC if fields.zone is None else fields.zone
    return zone_instant(fields.integers[name] * length + fraction, zone)


def _assign_local(kind: str, fields: Fields) -> LocalDateTime:
    base = fields.bases.get("datetime")
    if base is not None:
        if len(fields.bases) > 1:
            raise build_argument_error("datetime goes with neither date nor time in one map.")
        return LocalDateTime(
            assign_date(fields.integers, read_date(kind, base)),
            assign_time(fields.integers, read_time(kind, base)),
        )
    if "date" not in fields.bases and (fields.names_time() or "time" in fields.bases):
        check_complete_date(fields.integers)
    return LocalDateTime(
        _assign_date(kind, fields), assign_time(fields.integers, _read_base_time(kind, fields))
    )


def _assign_date(kind: str, fields: Fields) -> Date:
    base = fields.bases.get("date")
    return assign_date(fields.integers, None if base is None else read_date(kind, base))


def _read_base_time(kind: str, fields: Fields) -> LocalTime | None:
    base = fields.bases.get("time")
    return None if base is None else read_time(kind, base)
