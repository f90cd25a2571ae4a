"""Functions that build strings; `twinframe.query.evaluate.text` has the string predicates.

SPEC: openCypher 9, «String functions». Positions count characters (code points) from 0.
"""

from __future__ import annotations

from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_argument_type_error, build_range_error
from twinframe.query.evaluate.functions.declare import Function, strict, strict_with_run
from twinframe.query.evaluate.run import Run


def _text(function: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    raise build_argument_type_error(function, value, "a String")


def _count(function: str, value: Value) -> int:
    if type(value) is not int:
        raise build_argument_type_error(function, value, "a non-negative Integer")
    if value < 0:
        raise build_range_error(f"{function}() takes a non-negative Integer, not {value}.")
    return value


def replace(run: Run, value: Value, search: Value, replacement: Value) -> Value:
    """Every occurrence of `search` replaced, left to right; an empty `search` changes nothing."""
    text, old, new = (_text("replace", one) for one in (value, search, replacement))
    if not old:
        return text
    run.budget.check_text(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new)


def substring(value: Value, start: Value, count: Value = 2**63 - 1) -> Value:
    """`count` characters from position `start`, or all that are left."""
    first = _count("substring", start)
    return _text("substring", value)[first : first + _count("substring", count)]


def left(value: Value, count: Value) -> Value:
    """The first `count` characters."""
    return _text("left", value)[: _count("left", count)]


def right(value: Value, count: Value) -> Value:
    """The last `count` characters."""
    text, wanted = _text("right", value), _count("right", count)
    return text[max(0, len(text) - wanted) :]


def split(run: Run, value: Value, delimiter: Value) -> Value:
    """The parts between delimiters; an empty delimiter parts all characters."""
    text, mark = _text("split", value), _text("split", delimiter)
    parts: list[Value] = [*text.split(mark)] if mark else [*text]
    run.budget.check_length(len(parts))
    return parts


def reverse(value: Value) -> Value:
    """A string or list backwards."""
    if isinstance(value, list):
        return value[::-1]
    if isinstance(value, str):
        return value[::-1]
    raise build_argument_type_error("reverse", value, "a String or List")


FUNCTIONS: dict[str, Function] = {
    "toUpper": strict(lambda value: _text("toUpper", value).upper()),
    "toLower": strict(lambda value: _text("toLower", value).lower()),
    "trim": strict(lambda value: _text("trim", value).strip()),
    "lTrim": strict(lambda value: _text("lTrim", value).lstrip()),
    "rTrim": strict(lambda value: _text("rTrim", value).rstrip()),
    "replace": strict_with_run(replace),
    "substring": strict(substring),
    "left": strict(left),
    "right": strict(right),
    "split": strict_with_run(split),
    "reverse": strict(reverse),
}
