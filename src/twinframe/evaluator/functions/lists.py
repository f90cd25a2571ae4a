"""Functions on lists. Comprehensions, quantifiers and `reduce` are expressions, not functions.

SPEC: openCypher 9, «List functions».
"""

from __future__ import annotations

from twinframe.evaluator.failures import build_argument_type_error, build_range_error
from twinframe.evaluator.functions.declare import Function, strict, strict_with_run
from twinframe.evaluator.run import Run
from twinframe.model.values import Value


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


def build_range(run: Run, start: Value, end: Value, step: Value = 1) -> Value:
    """Integers from `start` to `end`, both inclusive, by `step`."""
    for bound in (start, end, step):
        if type(bound) is not int:
            raise build_argument_type_error("range", bound, "Integers", kind="ArgumentError")
    if step == 0:
        raise build_range_error("range() takes a step other than 0.")
    assert isinstance(start, int) and isinstance(end, int) and isinstance(step, int)  # noqa: S101, PT018  # narrows for the type checker
    numbers = range(start, end + (1 if step > 0 else -1), step)
    run.budget.check_length(_count(start, end, step))
    return list(numbers)


def _count(start: int, end: int, step: int) -> int:
    # NOTE: len() of a range cannot count beyond the platform's word.
    return max(0, (end - start) // step + 1)


FUNCTIONS: dict[str, Function] = {
    "head": strict(head),
    "last": strict(last),
    "tail": strict(lambda value: _list("tail", value)[1:]),
    "range": strict_with_run(build_range),
}
