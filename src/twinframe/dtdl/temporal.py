"""Tests texts against DTDL's grammars of date, time, dateTime and duration, and the calendar."""

from __future__ import annotations

import re
from datetime import date

_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
# SPEC: RFC 3339 section 5.6 with the zone mandatory and the letters in upper case; offsets end at
# 14:00 as in XML Schema Part 2, section 3.2.7.3.
_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))"
_DATE_ONLY = re.compile(_DATE)
_TIME_ONLY = re.compile(_TIME + _ZONE)
_DATE_TIME = re.compile(_DATE + "T" + _TIME + _ZONE)

# SPEC: ISO 8601 durations: weeks only without years and months, a fraction only in the last part.
_NUMBER = r"[0-9]+"
_DURATION = re.compile(
    rf"P(?=[0-9]|T[0-9])(?:(?:{_NUMBER}Y)?(?:{_NUMBER}M)?|(?:{_NUMBER}W)?)"
    rf"(?:{_NUMBER}D)?(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)
_FRACTION = re.compile(r"[.,][0-9]+(?=[YMWDHS]\Z)")
_DAYS_SAFE_IN_ANY_MONTH = 28


def _is_real_date(match: re.Match[str]) -> bool:
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if 1 <= month <= 12 and 1 <= day <= _DAYS_SAFE_IN_ANY_MONTH:
        return year >= 1
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def is_date(value: object) -> bool:
    """Return whether `value` is a text such as `2024-02-29`, of a day that exists."""
    if not isinstance(value, str):
        return False
    match = _DATE_ONLY.fullmatch(value)
    return match is not None and _is_real_date(match)


def is_time(value: object) -> bool:
    """Return whether `value` is a text such as `12:34:56.7Z` or `12:34:56+02:00`."""
    return isinstance(value, str) and _TIME_ONLY.fullmatch(value) is not None


def is_date_time(value: object) -> bool:
    """Return whether `value` is a text such as `2024-02-29T12:34:56Z`, of a day that exists."""
    if not isinstance(value, str):
        return False
    match = _DATE_TIME.fullmatch(value)
    return match is not None and _is_real_date(match)


def is_duration(value: object) -> bool:
    """Return whether `value` is a text such as `P3DT4H` or `PT0.5S`."""
    if not isinstance(value, str):
        return False
    return _DURATION.fullmatch(_FRACTION.sub("", value, count=1)) is not None
