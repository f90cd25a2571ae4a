"""Adds durations to instants, and measures durations between them; `durations` adds durations.

SPEC: openCypher 9 (CIP2015-08-06). Months come first, then days, then the clock. A time of day
takes the clock alone and wraps at midnight; a date takes months, days and whole days of the clock.
In a named zone months and days move the clocks' reading, the clock moves the instant.
"""

from __future__ import annotations

from twinframe.model.temporal.calendar import add_months, check_day, count_months
from twinframe.model.temporal.durations import Duration, build_duration, divide_towards_zero
from twinframe.model.temporal.instants import (
    MIDNIGHT,
    NANOSECONDS_OF_DAY,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
    find_zone,
    split_instant,
    zone_instant,
    zone_local,
)

_SOME_DAY = Date(0)


def add_duration(value: Instant, duration: Duration) -> Instant:
    """Compute `value + duration`; a date outside of the supported years is refused."""
    match value:
        case Date():
            days = divide_towards_zero(duration.clock, NANOSECONDS_OF_DAY)
            return _move_date(value, duration.months, duration.days + days)
        case LocalTime():
            return _move_time(value, duration.clock)
        case Time():
            return Time(_move_time(value.local, duration.clock), value.offset)
        case LocalDateTime():
            return split_instant(_move_local(value, duration).nanoseconds + duration.clock)
        case DateTime():
            return _move_date_time(value, duration)


def measure_between(start: Instant, end: Instant) -> Duration:
    """Return months, days and clock from `start` to `end`; the clock alone without two dates.

    A part that only one has (date, time of day, zone) is taken from the other, or is midnight.
    """
    one, other = _bring_together(start, end)
    if not (_has_date(start) and _has_date(end)):
        return build_duration(clock=_count_clock(one, other))
    months = _count_months(one, other)
    one = _move_dates(one, Duration(months, 0, 0, 0))
    days = _count_days(one, other)
    one = _move_dates(one, Duration(0, days, 0, 0))
    return build_duration(months, days, _count_clock(one, other))


def measure_months(start: Instant, end: Instant) -> Duration:
    """Return the whole months from `start` to `end`; none without two dates."""
    if not (_has_date(start) and _has_date(end)):
        return build_duration()
    return build_duration(months=_count_months(*_bring_together(start, end)))


def measure_days(start: Instant, end: Instant) -> Duration:
    """Return the whole days from `start` to `end`; none without two dates."""
    if not (_has_date(start) and _has_date(end)):
        return build_duration()
    return build_duration(days=_count_days(*_bring_together(start, end)))


def measure_seconds(start: Instant, end: Instant) -> Duration:
    """Return the time on the clock from `start` to `end`, to the nanosecond."""
    return build_duration(clock=_count_clock(*_bring_together(start, end)))


# --- moving -------------------------------------------------------------------------------------


def _move_date(value: Date, months: int, days: int) -> Date:
    moved = add_months(value.days, months) if months else value.days
    return Date(check_day(moved + days))


def _move_time(value: LocalTime, clock: int) -> LocalTime:
    return LocalTime((value.nanoseconds + clock) % NANOSECONDS_OF_DAY)


def _move_local(value: LocalDateTime, duration: Duration) -> LocalDateTime:
    return LocalDateTime(_move_date(value.date, duration.months, duration.days), value.time)


def _move_date_time(value: DateTime, duration: Duration) -> DateTime:
    zone, moved = find_zone(value), value
    if duration.months or duration.days:
        moved = zone_local(_move_local(value.local, duration), zone, value.offset)
    if duration.clock:
        moved = zone_instant(moved.instant + duration.clock, zone)
    return moved


def _move_dates(value: LocalDateTime | DateTime, duration: Duration) -> LocalDateTime | DateTime:
    if isinstance(value, DateTime):
        return _move_date_time(value, duration)
    return _move_local(value, duration)


# --- measuring ----------------------------------------------------------------------------------


def _has_date(value: Instant) -> bool:
    return isinstance(value, Date | LocalDateTime | DateTime)


def _bring_together(
    start: Instant, end: Instant
) -> tuple[LocalDateTime | DateTime, LocalDateTime | DateTime]:
    """Return both as local datetimes, or both as datetimes in the zone of `start` (or of `end`)."""
    one = _complete(start, _read_date(end))
    other = _complete(end, _read_date(start))
    if isinstance(start, DateTime | Time):
        zone = find_zone(start)
    elif isinstance(end, DateTime | Time):
        zone = find_zone(end)
    else:
        return one, other
    return _place(one, start, zone), _place(other, end, zone)


def _complete(value: Instant, date: Date) -> LocalDateTime:
    match value:
        case Date():
            return LocalDateTime(value, MIDNIGHT)
        case LocalTime():
            return LocalDateTime(date, value)
        case Time():
            return LocalDateTime(date, value.local)
        case LocalDateTime():
            return value
        case DateTime():
            return value.local


def _read_date(value: Instant) -> Date:
    match value:
        case Date():
            return value
        case LocalDateTime():
            return value.date
        case DateTime():
            return value.local.date
        case _:
            return _SOME_DAY


def _place(local: LocalDateTime, value: Instant, zone: int | str) -> DateTime:
    match value:
        case DateTime():
            return zone_instant(value.instant, zone)
        case Time():
            return zone_instant(DateTime(local, value.offset).instant, zone)
        case _:
            return zone_local(local, zone)


def _count_months(start: LocalDateTime | DateTime, end: LocalDateTime | DateTime) -> int:
    one, other = _read_local(start), _read_local(end)
    return count_months(one.date.days, _count_last_day(one, other))


def _count_days(start: LocalDateTime | DateTime, end: LocalDateTime | DateTime) -> int:
    one, other = _read_local(start), _read_local(end)
    return _count_last_day(one, other) - one.date.days


def _count_last_day(start: LocalDateTime, end: LocalDateTime) -> int:
    """Return the last day that `end` has reached as a whole, counted from `start`'s time of day."""
    days = end.date.days
    if days > start.date.days and end.time < start.time:
        return days - 1
    if days < start.date.days and end.time > start.time:
        return days + 1
    return days


def _count_clock(start: LocalDateTime | DateTime, end: LocalDateTime | DateTime) -> int:
    if isinstance(start, DateTime) and isinstance(end, DateTime):
        return end.instant - start.instant
    return _read_local(end).nanoseconds - _read_local(start).nanoseconds


def _read_local(value: LocalDateTime | DateTime) -> LocalDateTime:
    return value.local if isinstance(value, DateTime) else value
