"""Functions on single values: conversions and sizes.

SPEC: openCypher 9, «Scalar functions». Text that is no number converts to null; a value of a type
that cannot be converted is a `TypeError`.
"""

from __future__ import annotations

import math
import re
import uuid

from twinframe.model.comparison import INTEGER_MAXIMUM, INTEGER_MINIMUM, equals
from twinframe.model.rendering import render_text
from twinframe.model.values import Path, Temporal, Value
from twinframe.query.evaluate.arithmetic import check_integer
from twinframe.query.evaluate.failures import build_argument_type_error, build_arithmetic_error
from twinframe.query.evaluate.functions.declare import Function, strict, total

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)


def to_string(value: Value) -> Value:
    """The text of a string, number, boolean or temporal value."""
    if isinstance(value, str | bool | int | float | Temporal):
        return render_text(value)
    raise build_argument_type_error(
        "toString", value, "a String, Number, Boolean or temporal value"
    )


def to_integer(value: Value) -> Value:
    """The integer part of a number or of text that spells one; a boolean is 1 or 0."""
    match value:
        case bool() | int():
            return int(value)
        case float():
            return _truncate(value)
        case str():
            return _parse_integer(value.strip())
        case _:
            raise build_argument_type_error("toInteger", value, "a Number, String or Boolean")


def to_float(value: Value) -> Value:
    """The float nearest to a number or to text that spells one."""
    match value:
        case bool():
            raise build_argument_type_error("toFloat", value, "a Number or String")
        case int() | float():
            return float(value)
        case str():
            text = value.strip()
            return float(text) if _NUMBER.fullmatch(text) else None
        case _:
            raise build_argument_type_error("toFloat", value, "a Number or String")


def to_boolean(value: Value) -> Value:
    """Text `true` or `false` in any case; an integer is true unless it is 0."""
    match value:
        case bool():
            return value
        case int():
            return value != 0
        case str():
            return {"true": True, "false": False}.get(value.strip().lower())
        case _:
            raise build_argument_type_error("toBoolean", value, "a Boolean, String or Integer")


def size(value: Value) -> Value:
    """Elements of a list, entries of a map, or characters of a string."""
    if isinstance(value, list | str | dict):
        return len(value)
    raise build_argument_type_error("size", value, "a List, Map or String")


def length(value: Value) -> Value:
    """Relationships of a path."""
    if isinstance(value, Path):
        return len(value.relationships)
    raise build_argument_type_error("length", value, "a Path")


def _truncate(value: float) -> int:
    if not math.isfinite(value):
        raise build_arithmetic_error(f"{render_text(value)} has no integer part.")
    return check_integer(int(value))


def _parse_integer(text: str) -> int | None:
    if len(text) > 400:
        return None
    if _INTEGER.fullmatch(text):
        number = int(text)
    elif _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        number = int(float(text))
    else:
        return None
    return number if INTEGER_MINIMUM <= number <= INTEGER_MAXIMUM else None


FUNCTIONS: dict[str, Function] = {
    "toString": strict(to_string),
    "toInteger": strict(to_integer),
    "toFloat": strict(to_float),
    "toBoolean": strict(to_boolean),
    "size": strict(size),
    "length": strict(length),
    "exists": total(lambda value: value is not None),
    "isEmpty": strict(lambda value: size(value) == 0),
    "nullIf": total(lambda value, other: None if equals(value, other) else value),
    "timestamp": lambda run: run.read_instant() // 1_000_000,
    "randomUUID": total(lambda: str(uuid.uuid4())),
}
