"""Functions on lists; comprehensions, quantifiers and `reduce` are expressions.

SPEC: openCypher 9, «List functions».
"""

from __future__ import annotations

from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.declare import Function, strict
from twinframe.query.evaluate.ranges import build_list, build_range


def _list(function: str, value: Value) -> list[Value]:
    if isinstance(value, list):
        return value
    raise build_argument_type_error(function, value, "a List")


def head(value: Value) -> Value:
    """The first element, or null."""
    items = _list("head", value)
    return items[0] if items else None


def last(value: Value) -> Value:
    """The last element, or null."""
    items = _list("last", value)
    return items[-1] if items else None


FUNCTIONS: dict[str, Function] = {
    "head": strict(head),
    "last": strict(last),
    "tail": strict(lambda value: _list("tail", value)[1:]),
    "range": lambda run, *bounds: build_list(build_range(*bounds), run),
}
