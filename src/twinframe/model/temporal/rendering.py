"""Renders temporal values as ISO 8601 text, for `toString()` and the wire.

Seconds are left out when they are zero, and fractions have three, six or nine digits, as in the
openCypher TCK: `12:31`, `12:31:14.645`. Years beyond 9999 have a sign.
"""

from __future__ import annotations

from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
)
from twinframe.model.temporal.zones import render_offset


def render_temporal(value: Instant | Duration) -> str:
    """Render a temporal value as text that parses to the same value."""
    match value:
        case Date():
            return _render_date(value)
        case LocalTime():
            return _render_time(value)
        case Time():
            return _render_time(value.local) + render_offset(value.offset)
        case LocalDateTime():
            return _render_local(value)
        case DateTime():
            name = f"[{value.zone}]" if value.zone else ""
            return _render_local(value.local) + render_offset(value.offset) + name
        case Duration():
            return _render_duration(value)


def _render_date(value: Date) -> str:
    year, month, day = value.split()
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _render_time(value: LocalTime) -> str:
    hour, minute, second, nanosecond = value.split()
    text = f"{hour:02}:{minute:02}"
    if not second and not nanosecond:
        return text
    return f"{text}:{second:02}{_render_thousands(nanosecond)}"


def _render_thousands(nanosecond: int) -> str:
    if not nanosecond:
        return ""
    digits = f"{nanosecond:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}"


def _render_local(value: LocalDateTime) -> str:
    return f"{_render_date(value.date)}T{_render_time(value.time)}"


def _render_duration(value: Duration) -> str:
    sign = "-" if value.months < 0 else ""
    years, months = divmod(abs(value.months), 12)
    text = _render_amounts(sign, (years, "Y"), (months, "M"))
    text += f"{value.days}D" if value.days else ""
    clock = _render_clock(value.clock)
    if clock:
        text += f"T{clock}"
    return f"P{text or 'T0S'}"


def _render_clock(clock: int) -> str:
    sign = "-" if clock < 0 else ""
    seconds, nanosecond = divmod(abs(clock), NANOSECONDS)
    minutes, second = divmod(seconds, 60)
    text = _render_amounts(sign, (minutes // 60, "H"), (minutes % 60, "M"))
    if not second and not nanosecond:
        return text
    fraction = f".{nanosecond:09}".rstrip("0") if nanosecond else ""
    return f"{text}{sign}{second}{fraction}S"


def _render_amounts(sign: str, *amounts: tuple[int, str]) -> str:
    return "".join(f"{sign}{amount}{unit}" for amount, unit in amounts if amount)
