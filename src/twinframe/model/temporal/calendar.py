"""The proleptic Gregorian calendar: converts days since 1970-01-01 to and from its dates.

Everything is integer arithmetic without loops, for years of any size. SPEC: ISO 8601, weeks and
quarters included; year 0 is 1 BC.
"""

from __future__ import annotations

from twinframe.model.temporal.failures import build_overflow, check_between

LEAST_YEAR = -999_999_999
MOST_YEAR = 999_999_999
CYCLE_YEARS = 400
CYCLE_DAYS = 146_097
"""Leap years and weekdays repeat after 400 years."""

_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAYS_FROM_ERA = 719_468  # 0000-03-01, where the years below begin, to 1970-01-01


def is_leap(year: int) -> bool:
    """Whether the year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def count_month_days(year: int, month: int) -> int:
    """Days of a month, 28 to 31."""
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 if month in {4, 6, 9, 11} else 31


def count_year_days(year: int) -> int:
    """Days of a year, 365 or 366."""
    return 366 if is_leap(year) else 365


def count_quarter_days(year: int, quarter: int) -> int:
    """Days of a quarter, 90 to 92."""
    return sum(count_month_days(year, month) for month in range(quarter * 3 - 2, quarter * 3 + 1))


def count_year_weeks(year: int) -> int:
    """Weeks of an ISO week year, 52 or 53."""
    return (_find_first_monday(year + 1) - _find_first_monday(year)) // 7


def build_day(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a date; a year, month or day out of range is refused."""
    check_between("year", year, LEAST_YEAR, MOST_YEAR)
    check_between("month", month, 1, 12)
    check_between("day", day, 1, count_month_days(year, month))
    return _count_days(year, month, day)


def build_ordinal_day(year: int, ordinal: int) -> int:
    """Days since 1970-01-01 of the `ordinal`-th day of a year."""
    check_between("ordinalDay", ordinal, 1, count_year_days(year))
    return build_day(year, 1, 1) + ordinal - 1


def build_quarter_day(year: int, quarter: int, day: int) -> int:
    """Days since 1970-01-01 of the `day`-th day of a quarter."""
    check_between("quarter", quarter, 1, 4)
    check_between("dayOfQuarter", day, 1, count_quarter_days(year, quarter))
    return build_day(year, quarter * 3 - 2, 1) + day - 1


def build_week_day(week_year: int, week: int, day: int) -> int:
    """Days since 1970-01-01 of the `day`-th day (Monday is 1) of an ISO week."""
    check_between("year", week_year, LEAST_YEAR, MOST_YEAR)
    check_between("week", week, 1, count_year_weeks(week_year))
    check_between("dayOfWeek", day, 1, 7)
    return check_day(_find_first_monday(week_year) + (week - 1) * 7 + day - 1)


def split_day(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970-01-01.

    NOTE: years are counted from March, so that a leap day is the last one of its year.
    """
    cycle, rest = divmod(days + _DAYS_FROM_ERA, CYCLE_DAYS)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    day_of_year = rest - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return cycle * CYCLE_YEARS + year + (month <= 2), month, day


def find_weekday(days: int) -> int:
    """The day of the week, Monday 1 to Sunday 7."""
    return (days + 3) % 7 + 1


def split_week(days: int) -> tuple[int, int]:
    """The ISO week year and week of a day since 1970-01-01: those of the Thursday of its week."""
    year, _, _ = split_day(days - find_weekday(days) + 4)
    return year, (days - _find_first_monday(year)) // 7 + 1


def find_ordinal(days: int) -> int:
    """The number of a day within its year, from 1."""
    year, month, day = split_day(days)
    return _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and is_leap(year)) + day


def find_quarter_day(days: int) -> int:
    """The number of a day within its quarter, from 1."""
    year, month, _ = split_day(days)
    return days - _count_days(year, (month - 1) // 3 * 3 + 1, 1) + 1


def add_months(days: int, months: int) -> int:
    """The same day of another month, or that month's last day when it is shorter."""
    year, month, day = split_day(days)
    later_year, later_month = divmod(year * 12 + month - 1 + months, 12)
    later_month += 1
    length = count_month_days(later_year, later_month)
    return check_day(_count_days(later_year, later_month, min(day, length)))


def count_months(start: int, end: int) -> int:
    """Whole months from one day to another, negative when `end` is earlier."""
    year, month, day = split_day(start)
    end_year, end_month, end_day = split_day(end)
    months = (end_year - year) * 12 + end_month - month
    if months > 0 and end_day < day:
        return months - 1
    if months < 0 and end_day > day:
        return months + 1
    return months


def check_day(days: int) -> int:
    """Return the day itself; raise an error for a date outside of the supported years."""
    if _LEAST_DAY <= days <= _MOST_DAY:
        return days
    raise build_overflow(f"The date is outside of the years {LEAST_YEAR} to {MOST_YEAR}.")


def _count_days(year: int, month: int, day: int) -> int:
    cycle, rest = divmod(year - (month <= 2), CYCLE_YEARS)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return cycle * CYCLE_DAYS + rest * 365 + rest // 4 - rest // 100 + day_of_year - _DAYS_FROM_ERA


def _find_first_monday(week_year: int) -> int:
    fourth = _count_days(week_year, 1, 4)  # the week of January 4th is the first one
    return fourth - find_weekday(fourth) + 1


_LEAST_DAY = _count_days(LEAST_YEAR, 1, 1)
_MOST_DAY = _count_days(MOST_YEAR, 12, 31)
