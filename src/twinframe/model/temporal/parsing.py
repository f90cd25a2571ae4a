"""Parses temporal values in the forms of ISO 8601 that openCypher accepts.

SPEC: dates by calendar, ISO week, quarter or ordinal day, with or without dashes; times with or
without colons; years beyond four digits have a sign, and then dashes. Fractions of seconds have at
most nine digits, after `.` or `,`.
"""

from __future__ import annotations

import re

from twinframe.errors import QueryInvalid
from twinframe.model.temporal.calendar import (
    build_day,
    build_ordinal_day,
    build_quarter_day,
    build_week_day,
)
from twinframe.model.temporal.durations import Amount, Duration, approximate, parse_amount
from twinframe.model.temporal.failures import build_argument_error, shorten
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    UTC,
    Date,
    DateTime,
    LocalDateTime,
    LocalTime,
    Time,
    Zone,
    build_local_time,
    zone_local,
)
from twinframe.model.temporal.zones import parse_offset, parse_zone_name

_DATE = re.compile(
    r"(?P<year>\d{4}|[+-]\d{4,9}(?=-|\Z))"
    r"(?:(?P<dash>-?)(?:"
    r"W(?P<week>\d\d)(?:(?P=dash)(?P<week_day>\d))?"
    r"|Q(?P<quarter>\d)(?:(?P=dash)(?P<quarter_day>\d\d))?"
    r"|(?P<ordinal>\d{3})"
    r"|(?P<month>\d\d)(?:(?P=dash)(?P<day>\d\d))?))?",
    re.ASCII,
)
_TIME = re.compile(
    r"(?P<hour>\d\d)(?:(?P<colon>:?)(?P<minute>\d\d)"
    r"(?:(?P=colon)(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?P<offset>[Zz]|[+-][\d:]+)?(?:\[(?P<zone>[^\]]{1,64})\])?",
    re.ASCII,
)
_NUMBER = r"([+-]?\d+(?:[.,]\d+)?)"
_DURATION = re.compile(
    rf"([+-]?)P(?=.)(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.ASCII,
)
_DURATION_AS_DATE = re.compile(
    r"([+-]?)P(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)", re.ASCII
)
_MOST_TEXT = 400


def parse_date(text: str) -> Date:
    """`2015-07-21`, `201507`, `2015-W30-2`, `2015Q3`, `2015-202`, `+12015-07-21`, ..."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise _refuse(text, "a date", "'2015-07-21'")
    try:
        return Date(_build_day(found))
    except QueryInvalid as error:
        raise _explain(text, error) from error


def parse_local_time(text: str) -> LocalTime:
    """`21:40:32.142`, `2140`, `21`, ..."""
    time, offset, zone = _parse_time(text, "a local time", "'21:40:32.142'")
    if offset is not None or zone is not None:
        raise _refuse(text, "a local time, which has no zone", "'21:40:32.142'")
    return time


def parse_time(text: str, default: int = 0) -> Time:
    """`21:40:32+01:00`, `2140Z`, `21:40` (at the `default` offset), ..."""
    time, offset, zone = _parse_time(text, "a time", "'21:40:32+01:00'")
    if zone is not None:
        raise _refuse(text, "a time, which has an offset but no named zone", "'21:40:32+01:00'")
    return Time(time, default if offset is None else offset)


def parse_local_date_time(text: str) -> LocalDateTime:
    """A date and a time around a `T`; the time may be left out."""
    local, offset, zone = _parse_date_time(text)
    if offset is not None or zone is not None:
        raise _refuse(text, "a local datetime, which has no zone", "'2015-07-21T21:40:32'")
    return local


def parse_date_time(text: str, default: Zone = UTC) -> DateTime:
    """A date and a time around a `T`, then an offset, a `[zone name]` or both.

    An offset that the named zone does not have at that time is refused.
    """
    local, offset, name = _parse_date_time(text)
    if name is None:
        return zone_local(local, default if offset is None else offset)
    placed = zone_local(local, parse_zone_name(name), offset)
    if offset is not None and (placed.offset != offset or placed.local != local):
        raise build_argument_error(f"{text!r} gives an offset that {name} does not have then.")
    return placed


def parse_zone(text: str) -> Zone:
    """An offset (`+01:00`, `Z`) or the name of a zone."""
    if text in {"Z", "z"} or text[:1] in {"+", "-"}:
        return parse_offset(text)
    return parse_zone_name(text)


def parse_duration(text: str) -> Duration:
    """`P1Y2M3W4DT5H6M7.8S`, any part with a sign and a fraction, or `P2012-02-02T14:37:21.545`."""
    if len(text) > _MOST_TEXT:
        raise build_argument_error("The text of a duration is too long.")
    if found := _DURATION.fullmatch(text):
        years, months, weeks, days, hours, minutes, seconds = _read_amounts(found.groups())
        days += weeks * 7
    elif found := _DURATION_AS_DATE.fullmatch(text):
        years, months, days, hours, minutes, seconds = _read_amounts(found.groups())
    else:
        raise _refuse(text, "a duration", "'P1Y2M3DT4H5M6.7S'")
    clock = ((hours * 60 + minutes) * 60 + seconds) * NANOSECONDS
    return approximate(years * 12 + months, days, clock)


def _read_amounts(groups: tuple[str | None, ...]) -> list[Amount]:
    sign, *parts = groups
    factor = -1 if sign == "-" else 1
    return [factor * parse_amount(part) if part else 0 for part in parts]


def _build_day(found: re.Match[str]) -> int:
    part = {name: int(text) for name, text in found.groupdict().items() if text and text != "-"}
    year = part["year"]
    if "week" in part:
        return build_week_day(year, part["week"], part.get("week_day", 1))
    if "quarter" in part:
        return build_quarter_day(year, part["quarter"], part.get("quarter_day", 1))
    if "ordinal" in part:
        return build_ordinal_day(year, part["ordinal"])
    return build_day(year, part.get("month", 1), part.get("day", 1))


def _parse_time(text: str, what: str, example: str) -> tuple[LocalTime, int | None, str | None]:
    found = _TIME.fullmatch(text)
    if found is None:
        raise _refuse(text, what, example)
    fraction = (found["fraction"] or "").ljust(9, "0")
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    try:
        time = build_local_time(hour, minute, second, int(fraction))
        offset = None if found["offset"] is None else parse_offset(found["offset"])
    except QueryInvalid as error:
        raise _explain(text, error) from error
    return time, offset, found["zone"]


def _parse_date_time(text: str) -> tuple[LocalDateTime, int | None, str | None]:
    date, mark, time = text.partition("T")
    local, offset, zone = LocalTime(0), None, None
    if mark or "[" in text:
        local, offset, zone = _parse_time(time, "a datetime", "'2015-07-21T21:40:32+01:00'")
    return LocalDateTime(parse_date(date), local), offset, zone


def _refuse(text: str, what: str, example: str) -> QueryInvalid:
    return build_argument_error(f"{shorten(text)!r} is not {what} such as {example}.")


def _explain(text: str, error: QueryInvalid) -> QueryInvalid:
    return build_argument_error(f"{shorten(text)!r} cannot be: {error}")
