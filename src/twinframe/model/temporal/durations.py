"""Durations as values: months, days, seconds and nanoseconds.

SPEC: openCypher 9 (CIP2015-08-06). The four amounts never turn into each other, because a month has
no fixed number of days, nor a day of seconds; only fractions are carried down, by averages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from twinframe.model.temporal.failures import build_argument_error, build_overflow
from twinframe.model.temporal.instants import NANOSECONDS, NANOSECONDS_OF_DAY

NANOSECONDS_OF_MONTH = 2_629_746 * NANOSECONDS
"""A twelfth of 365.2425 days, the average of the calendar."""

Amount: TypeAlias = int | Fraction
"""An exact amount of a unit."""

_MOST = 2**63 - 1
_MOST_TEXT = 400


@dataclass(frozen=True, slots=True)
class Duration:
    """`months`, `days` and `seconds` in 64 bits each, `nanoseconds` 0 to 999,999,999.

    Minus a tenth of a second is -1 second and 900,000,000 nanoseconds. Build it by
    `build_duration`. `text` is as with instants.
    """

    months: int
    days: int
    seconds: int
    nanoseconds: int
    text: str | None = field(default=None, compare=False, repr=False)

    @property
    def clock(self) -> int:
        """Seconds and nanoseconds as one signed number of nanoseconds."""
        return self.seconds * NANOSECONDS + self.nanoseconds


def build_duration(months: int = 0, days: int = 0, clock: int = 0) -> Duration:
    """A duration of whole months, days and nanoseconds of the clock, each of any sign."""
    seconds, nanoseconds = divmod(clock, NANOSECONDS)
    for name, amount in (("months", months), ("days", days), ("seconds", seconds)):
        if not -_MOST - 1 <= amount <= _MOST:
            raise build_overflow(f"The {name} of a duration do not fit into 64 bits.")
    return Duration(months, days, seconds, nanoseconds)


def approximate(months: Amount, days: Amount, clock: Amount) -> Duration:
    """Build a duration of fractions: those of months and days are carried down by averages.

    The rest below a nanosecond is dropped, towards zero.
    """
    whole_months = int(months)
    days = days + (months - whole_months) * Fraction(NANOSECONDS_OF_MONTH, NANOSECONDS_OF_DAY)
    whole_days = int(days)
    clock = clock + (days - whole_days) * NANOSECONDS_OF_DAY
    return build_duration(whole_months, whole_days, int(clock))


def build_amount(value: float) -> Amount:
    """Return the exact amount that a number spells: 0.1 is a tenth, not the nearest float."""
    if isinstance(value, int):
        return value
    try:
        return Fraction(repr(value))
    except ValueError as error:
        raise build_argument_error(f"{value} is no amount of time.") from error


def parse_amount(text: str) -> Amount:
    """The exact amount that digits spell, with `.` or `,` before a fraction."""
    if len(text) > _MOST_TEXT:
        raise build_argument_error("A number of a duration has too many digits.")
    return Fraction(text.replace(",", "."))


def add_durations(left: Duration, right: Duration) -> Duration:
    """`left + right`, amount by amount."""
    return build_duration(
        left.months + right.months, left.days + right.days, left.clock + right.clock
    )


def negate_duration(value: Duration) -> Duration:
    """The duration with every amount negated."""
    return build_duration(-value.months, -value.days, -value.clock)


def scale_duration(value: Duration, factor: Amount) -> Duration:
    """Compute `value * factor`; fractions of months and days are carried down by averages."""
    return approximate(value.months * factor, value.days * factor, value.clock * factor)


def divide_towards_zero(amount: int, divisor: int) -> int:
    """Return how many whole `divisor`s (positive) are in an amount of any sign."""
    return amount // divisor if amount >= 0 else -(-amount // divisor)


def build_duration_key(value: Duration) -> tuple[int, int, int, int]:
    """Return the sort key of durations for ORDER BY: their average length, then the amounts."""
    length = value.months * NANOSECONDS_OF_MONTH + value.days * NANOSECONDS_OF_DAY + value.clock
    return length, value.months, value.days, value.clock
