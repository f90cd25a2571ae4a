"""Calendar months and time intervals, in whole seconds since 1970-01-01T00:00:00Z.

All times are UTC without leap seconds: a day has 86,400 seconds.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from twinframe.errors import InvalidArgument

DAY: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MONTH: Final = re.compile(r"([12][0-9]{3})-(0[1-9]|1[0-2])", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """From `begin` to before `end`. It is empty when they are equal."""

    begin: int
    end: int

    @property
    def seconds(self) -> int:
        """The length in seconds."""
        return self.end - self.begin

    def cut(self, other: Interval) -> Interval:
        """Return the common part of both, empty if there is none."""
        begin = max(self.begin, other.begin)
        return Interval(begin, max(begin, min(self.end, other.end)))

    def holds(self, moment: int) -> bool:
        """Return whether it contains the moment."""
        return self.begin <= moment < self.end


def subtract(whole: Interval, parts: Iterable[Interval]) -> list[Interval]:
    """Return the parts of `whole` that are outside all of the parts, in order of time."""
    rest, begin = list[Interval](), whole.begin
    for part in sorted(parts):
        if part.seconds and part.begin > begin:
            rest.append(Interval(begin, min(part.begin, whole.end)))
        begin = max(begin, part.end if part.seconds else begin)
        if begin >= whole.end:
            break
    if begin < whole.end:
        rest.append(Interval(begin, whole.end))
    return [each for each in rest if each.seconds > 0]


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A month of the calendar in UTC; `number` is 1 for January."""

    year: int
    number: int

    @property
    def interval(self) -> Interval:
        """The interval from its first second to before the first of the next month."""
        return Interval(self._begin(), self.next()._begin())

    def next(self) -> Month:
        """The month after this."""
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    def previous(self) -> Month:
        """The month before this."""
        return Month(self.year - (self.number == 1), (self.number + 10) % 12 + 1)

    def __str__(self) -> str:
        """`2024-02`. NOTE: texts of months sort as the months do."""
        return f"{self.year:04}-{self.number:02}"

    def _begin(self) -> int:
        return calendar.timegm((self.year, self.number, 1, 0, 0, 0))


def find_month(moment: int) -> Month:
    """Return the month that contains a moment (seconds)."""
    found = _EPOCH + timedelta(seconds=moment)
    return Month(found.year, found.month)


def parse_month(text: str) -> Month:
    """Parse a month such as `2024-02`. Raises `InvalidArgument`."""
    found = _MONTH.fullmatch(text)
    if found is None:
        raise InvalidArgument(f"{text[:40]!a} is no month: write one such as 2024-02.")
    return Month(int(found[1]), int(found[2]))


def list_months(first: Month, last: Month) -> Iterator[Month]:
    """Yield all months from the first to the last, inclusive."""
    while first <= last:
        yield first
        first = first.next()


def read_seconds(moment: int) -> int:
    """Convert a moment in nanoseconds, as clocks and records have it, to whole seconds."""
    return moment // 1_000_000_000
