"""How values are spelled in `jsonb`, so that each keeps its type and can be compared exactly.

A float has a decimal point and no exponent, and a negative zero has two decimals. U+0001 stands for
U+0000, which PostgreSQL does not store; text with U+0001 itself has no spelling.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

NEGATIVE_ZERO: Final = "0.00"
"""The spelling of -0.0."""

_ESCAPE: Final = re.compile(r"\\(?:u0001|.)", re.DOTALL)
_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<float>-?\d+(?:\.\d+)?[eE][+-]?\d+|-?\d+\.\d+)', re.DOTALL
)
_FLOAT: Final = re.compile(r"[:\[,\s](-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+))(?=[\],}\s])")
"""Floats, and what looks like one within a text.

PERF: it begins with what precedes a number in JSON. Digits with an `e` are in every other etag.
"""
_EXACT: Final = 2.0**53
_BEYOND: Final = 2.0**63


def render_members(document: str) -> str:
    """Render JSON text for a column of `jsonb`."""
    # PERF: 5 us for a document of 500 bytes; to read all tokens takes 20 to 30.
    if r"\u000" not in document and all(map(_is_spelled, _FLOAT.findall(document))):
        return document
    return _TOKEN.sub(_spell, document)


def has_odd_text(json: str) -> bool:
    """Return whether JSON text has a text with U+0001, which `jsonb` could not tell from U+0000."""
    return "u0001" in json and any(each == r"\u0001" for each in _ESCAPE.findall(json))


def _is_spelled(number: str) -> bool:
    """Whether a float is one that `_spell` leaves as it is; not all such are found."""
    return "e" not in number and number != "-0.0" and repr(float(number)) == number


def _spell(found: re.Match[str]) -> str:
    number = found["float"]
    if number is None:
        return _swap(found[0], r"\u0000", r"\u0001")
    value = float(number)
    if value == 0.0:
        return NEGATIVE_ZERO if number.startswith("-") else "0.0"
    if abs(value) >= _EXACT and -_BEYOND <= value < _BEYOND:
        return f"{int(value)}.0"
    spelled = f"{Decimal(repr(value)):f}"
    return spelled if "." in spelled else f"{spelled}.0"


def _swap(text: str, old: str, new: str) -> str:
    if old not in text:
        return text
    escapes = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
    return escapes.sub(lambda found: new if found[0] == old else found[0], text)


def read_json(spelled: str) -> str:
    """Return the JSON text of a `jsonb` value with the texts that were stored."""
    return _swap(spelled, r"\u0001", r"\u0000")


def read_text(spelled: str) -> str:
    """Return a text as it was stored."""
    return spelled.replace("\1", "\0") if "\1" in spelled else spelled
