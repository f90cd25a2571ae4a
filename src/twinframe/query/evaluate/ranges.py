"""Compiles `range()` without building a list where its numbers are only iterated over.

Cypher's `range()` is a list of integers; where it is not kept, Python's `range` replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from twinframe.model.values import Value
from twinframe.query.algebra import Expression, FunctionCall, Slice
from twinframe.query.evaluate.arithmetic import check_integer
from twinframe.query.evaluate.failures import build_argument_type_error, build_range_error
from twinframe.query.evaluate.run import Row, Run

EvaluateItems: TypeAlias = "Callable[[Row, Run], Value | range]"
"""A compiled expression for a use that iterates over its value and keeps no list."""


def reads_range(expression: Expression) -> bool:
    """Return whether the expression is a call of `range()`, or a part of one."""
    while True:
        match expression:
            case FunctionCall(name="range"):
                return True
            case FunctionCall(name="tail" | "reverse", arguments=(source,)) | Slice(subject=source):
                expression = source
            case _:
                return False


def build_range(start: Value, end: Value, step: Value = 1) -> range | None:
    """Return integers from `start` to `end`, both inclusive, by `step`; null if one of them is."""
    if start is None or end is None or step is None:
        return None
    bounds: list[int] = []
    for bound in (start, end, step):
        if type(bound) is not int:
            raise build_argument_type_error("range", bound, "Integers", kind="ArgumentError")
        bounds.append(bound)
    first, last, by = bounds
    if by == 0:
        raise build_range_error("range() takes a step other than 0.")
    return range(first, last + (1 if by > 0 else -1), by)


def build_list(numbers: range | None, run: Run) -> list[Value] | None:
    """Return the numbers as a list; raise `LimitExceeded` when it would be too long."""
    if numbers is None:
        return None
    run.budget.check_length(count_numbers(numbers))
    return list(numbers)


def count_numbers(numbers: range) -> int:
    """Count the numbers. NOTE: `len` cannot count beyond the platform's word."""
    away = 1 if numbers.step > 0 else -1
    return max(0, (numbers.stop - away - numbers.start) // numbers.step + 1)


def is_in_range(item: Value, numbers: range) -> bool | None:
    """Compute `item IN range(...)`, without comparing each number."""
    if item is None:
        return None if numbers else False
    if type(item) is float and item.is_integer():
        return int(item) in numbers
    return type(item) is int and item in numbers


ANSWERS: Final[Mapping[str, Callable[[range], Value]]] = {
    "size": lambda numbers: check_integer(count_numbers(numbers)),
    "isEmpty": lambda numbers: not numbers,
    "head": lambda numbers: numbers[0] if numbers else None,
    "last": lambda numbers: numbers[-1] if numbers else None,
}
"""List functions that need no list of a range."""

PARTS: Final[Mapping[str, Callable[[range], range]]] = {
    "tail": lambda numbers: numbers[1:],
    "reverse": lambda numbers: numbers[::-1],
}
"""Functions of a range that return one."""
