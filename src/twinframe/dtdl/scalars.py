"""The scalar schemas: a test of decoded JSON values for each, and the text of what is valid.

`twinframe.dtdl.values` tests complex schemas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from math import isfinite

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


def _is_date(value: object) -> bool:
    """Return whether `value` is a text such as `2024-02-29`, of a day that exists."""
    if not isinstance(value, str):
        return False
    match = _DATE_ONLY.fullmatch(value)
    return match is not None and _is_real_date(match)


def _is_time(value: object) -> bool:
    """Return whether `value` is a text such as `12:34:56.7Z` or `12:34:56+02:00`."""
    return isinstance(value, str) and _TIME_ONLY.fullmatch(value) is not None


def _is_date_time(value: object) -> bool:
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


Test = Callable[[object], bool]
"""Returns whether a decoded JSON value conforms to one schema."""

# The largest magnitude that still rounds to a finite single-precision number (exclusive).
_FLOAT_END = 3.4028235677973366e38
_DOUBLE_END = 2**1024

# SPEC: DTDL v4 `decimal`: digits with or without sign and fraction; no leading zero before others.
_DECIMAL = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?")
# SPEC: DTDL v4 `uuid`: RFC 9562 section 4, the form with dashes.
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
# SPEC: DTDL v4 `bytes`: RFC 4648 section 4, padded.
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


class NegativeZero(int):
    """The JSON number `-0`, which the unsigned schemas refuse; see `parse_value`."""

    __slots__ = ()


def parse_value(text: str) -> object:
    """Return the JSON value of `text`, keeping what DTDL distinguishes and Python does not.

    `-0` is returned as a zero that the unsigned schemas refuse, as the specification requires.
    Raises `ValueError` where `text` is not JSON (`NaN` and `Infinity` are not).
    """
    return json.loads(text, parse_int=_parse_integer, parse_constant=_refuse_constant)


def _parse_integer(text: str) -> int:
    return NegativeZero() if text == "-0" else int(text)


def _refuse_constant(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def _is_boolean(value: object) -> bool:
    return value is True or value is False


def _build_signed(bits: int) -> Test:
    end = 1 << (bits - 1)

    def test(value: object) -> bool:
        if type(value) is int:
            return -end <= value < end
        return type(value) is NegativeZero

    return test


def _build_unsigned(bits: int) -> Test:
    end = 1 << bits

    def test(value: object) -> bool:
        return type(value) is int and 0 <= value < end

    return test


def _is_float(value: object) -> bool:
    if type(value) is float:
        return -_FLOAT_END < value < _FLOAT_END
    if type(value) is int:
        return -_FLOAT_END < value < _FLOAT_END
    return type(value) is NegativeZero


def _is_double(value: object) -> bool:
    if type(value) is float:
        return isfinite(value)
    if type(value) is int:
        return -_DOUBLE_END < value < _DOUBLE_END
    return type(value) is NegativeZero


def _is_string(value: object) -> bool:
    return type(value) is str


def _build_pattern(pattern: re.Pattern[str]) -> Test:
    match = pattern.fullmatch

    def test(value: object) -> bool:
        return type(value) is str and match(value) is not None

    return test


@dataclass(frozen=True, slots=True)
class Primitive:
    """One predefined scalar: its test, and the text of what is valid."""

    test: Test
    right: str


def _integer(bits: int, *, signed: bool = True) -> Primitive:
    if signed:
        right = f"a whole number without fraction from -2^{bits - 1} to 2^{bits - 1}-1"
        return Primitive(_build_signed(bits), right)
    return Primitive(
        _build_unsigned(bits), f"a whole number without fraction or sign from 0 to 2^{bits}-1"
    )


# SPEC: DTDL "Primitive schemas", with the value forms that the public parser accepts.
PRIMITIVE_TESTS: Mapping[str, Primitive] = {
    "boolean": Primitive(_is_boolean, "true or false"),
    "byte": _integer(8),
    "bytes": Primitive(_build_pattern(_BASE64), "a string of padded base64 such as aGVsbG8="),
    "date": Primitive(_is_date, "a date such as 2024-02-29"),
    "dateTime": Primitive(_is_date_time, "a date and time with zone such as 2024-02-29T12:00:00Z"),
    "decimal": Primitive(_build_pattern(_DECIMAL), 'a string of decimal digits such as "-3.14"'),
    "double": Primitive(_is_double, "a finite number"),
    "duration": Primitive(is_duration, "an ISO 8601 duration such as P1DT12H"),
    "float": Primitive(_is_float, "a number within single precision"),
    "integer": _integer(32),
    "long": _integer(64),
    "short": _integer(16),
    "string": Primitive(_is_string, "a string"),
    "time": Primitive(_is_time, "a time with zone such as 12:00:00Z"),
    "unsignedByte": _integer(8, signed=False),
    "unsignedInteger": _integer(32, signed=False),
    "unsignedLong": _integer(64, signed=False),
    "unsignedShort": _integer(16, signed=False),
    "uuid": Primitive(_build_pattern(_UUID), "a UUID such as 00a185be-a3a4-465a-9dac-cfa24bc7b923"),
}
