"""Dates, times and their combinations as values.

The `text` of a value is its text in the document that it was read from, which is sent unchanged. It
is no part of the value, and computed values have none.

SPEC: openCypher 9 (CIP2015-08-06 «Date and time»). Equality is that of the components: one instant
in two zones is two values, and they are ordered from west to east and then by zone name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from twinframe.model.temporal.calendar import check_day, split_day
from twinframe.model.temporal.failures import check_between
from twinframe.model.temporal.zones import SECONDS_OF_DAY, find_offset, resolve_local

NANOSECONDS = 1_000_000_000
"""Nanoseconds of a second."""
NANOSECONDS_OF_DAY = SECONDS_OF_DAY * NANOSECONDS


@dataclass(frozen=True, slots=True, order=True)
class Date:
    """A day of the calendar: `days` since 1970-01-01."""

    days: int
    text: str | None = field(default=None, compare=False, repr=False)

    def split(self) -> tuple[int, int, int]:
        """Year, month and day."""
        return split_day(self.days)


@dataclass(frozen=True, slots=True, order=True)
class LocalTime:
    """A time of day without a zone: `nanoseconds` since midnight."""

    nanoseconds: int

    def split(self) -> tuple[int, int, int, int]:
        """Hour, minute, second and nanosecond of the second."""
        seconds, nanosecond = divmod(self.nanoseconds, NANOSECONDS)
        minutes, second = divmod(seconds, 60)
        return minutes // 60, minutes % 60, second, nanosecond


MIDNIGHT = LocalTime(0)


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day at an `offset` in seconds east of UTC."""

    local: LocalTime
    offset: int
    text: str | None = field(default=None, compare=False, repr=False)

    @property
    def instant(self) -> int:
        """Nanoseconds since midnight in UTC; below 0 and beyond a day in other offsets."""
        return self.local.nanoseconds - self.offset * NANOSECONDS


@dataclass(frozen=True, slots=True, order=True)
class LocalDateTime:
    """A date and a time of day without a zone."""

    date: Date
    time: LocalTime

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since 1970-01-01T00:00 on the same clocks."""
        return self.date.days * NANOSECONDS_OF_DAY + self.time.nanoseconds


@dataclass(frozen=True, slots=True)
class DateTime:
    """A date and time in a zone: `offset` seconds east of UTC, `zone` its name if it has one.

    Build named ones by `zone_local` and `zone_instant`, which apply the zone's rules.
    """

    local: LocalDateTime
    offset: int
    zone: str | None = None
    text: str | None = field(default=None, compare=False, repr=False)

    @property
    def instant(self) -> int:
        """Nanoseconds since 1970-01-01T00:00Z."""
        return self.local.nanoseconds - self.offset * NANOSECONDS


Instant: TypeAlias = Date | LocalTime | Time | LocalDateTime | DateTime
"""Every temporal value but durations."""

Zone: TypeAlias = int | str
"""A time zone: seconds east of UTC, or the name of a zone with rules."""

UTC: Zone = 0


def build_local_time(
    hour: int = 0, minute: int = 0, second: int = 0, nanosecond: int = 0
) -> LocalTime:
    """A time of day, 00:00:00 to 23:59:59.999999999."""
    check_between("hour", hour, 0, 23)
    check_between("minute", minute, 0, 59)
    check_between("second", second, 0, 59)
    check_between("nanosecond", nanosecond, 0, NANOSECONDS - 1)
    return LocalTime(((hour * 60 + minute) * 60 + second) * NANOSECONDS + nanosecond)


def split_instant(nanoseconds: int) -> LocalDateTime:
    """Return the date and time at `nanoseconds` since 1970, within the supported years."""
    days, rest = divmod(nanoseconds, NANOSECONDS_OF_DAY)
    return LocalDateTime(Date(check_day(days)), LocalTime(rest))


def zone_instant(nanoseconds: int, zone: Zone) -> DateTime:
    """Return the instant of `nanoseconds` since 1970-01-01T00:00Z, in the local time of a zone."""
    if isinstance(zone, str):
        offset, name = find_offset(zone, nanoseconds // NANOSECONDS), zone
        return DateTime(split_instant(nanoseconds + offset * NANOSECONDS), offset, name)
    return DateTime(split_instant(nanoseconds + zone * NANOSECONDS), zone)


def zone_local(local: LocalDateTime, zone: Zone, preferred: int | None = None) -> DateTime:
    """Return the datetime of a local time in a zone.

    A time that occurs twice gets the `preferred` offset, or is the earlier one; a time that is
    skipped moves on by the gap.
    """
    if not isinstance(zone, str):
        return DateTime(local, zone)
    seconds, nanosecond = divmod(local.nanoseconds, NANOSECONDS)
    offset, seconds = resolve_local(zone, seconds, preferred)
    return DateTime(split_instant(seconds * NANOSECONDS + nanosecond), offset, zone)


def find_zone(value: DateTime | Time) -> Zone:
    """Return the zone of a value: its name if it has one, else its offset."""
    return value.zone or value.offset if isinstance(value, DateTime) else value.offset


def build_sort_key(value: Instant) -> tuple[int, int, str]:
    """Return the sort key of values of one type: the instant, then the offset, then the zone."""
    match value:
        case Date():
            return value.days, 0, ""
        case LocalTime() | LocalDateTime():
            return value.nanoseconds, 0, ""
        case Time():
            return value.instant, value.offset, ""
        case DateTime():
            return value.instant, value.offset, value.zone or ""
