"""Arithmetic on values: 64-bit integers that never wrap, IEEE floats that never raise.

SPEC: openCypher 9, «Mathematical operators». Integer division truncates, `%` takes the sign of the
dividend, `^` always gives a float, and a null operand gives null.
"""

from __future__ import annotations

import math
from fractions import Fraction

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import INTEGER_MAXIMUM, INTEGER_MINIMUM, is_number, name_type
from twinframe.model.rendering import render_text
from twinframe.model.temporal.arithmetic import add_duration
from twinframe.model.temporal.durations import (
    Duration,
    add_durations,
    build_amount,
    negate_duration,
    scale_duration,
)
from twinframe.model.temporal.instants import Date, DateTime, LocalDateTime, LocalTime, Time
from twinframe.model.values import Temporal, Value
from twinframe.query.evaluate.failures import build_arithmetic_error, build_type_error
from twinframe.query.evaluate.run import Run

_MOST_UNCOUNTED = 1024


def check_integer(value: int) -> int:
    """The integer itself, or the overflow error when 64 bits cannot hold it."""
    if INTEGER_MINIMUM <= value <= INTEGER_MAXIMUM:
        return value
    raise build_arithmetic_error(
        f"The integer result {_abbreviate(value)} is outside of the 64-bit range; "
        "use toFloat() where an approximate result will do."
    )


def add(left: Value, right: Value, run: Run) -> Value:
    """`left + right`: sum, or concatenation of lists, or of strings with any scalar as text."""
    if left is None or right is None:
        return None
    if isinstance(left, list) or isinstance(right, list):
        return _concatenate(left, right, run)
    if type(left) is int and type(right) is int:
        return check_integer(left + right)
    if is_number(left) and is_number(right):
        return float(left) + float(right)  # type: ignore[arg-type]  # both are numbers
    if isinstance(left, str) or isinstance(right, str):
        one, other = _render_operand(left, right), _render_operand(right, left)
        run.budget.check_text(len(one) + len(other))
        return one + other
    return _add_temporal(left, right)


def subtract(left: Value, right: Value) -> Value:
    """`left - right`."""
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        return check_integer(left - right)
    if isinstance(right, Duration) and isinstance(left, Temporal):
        return _add_temporal(left, negate_duration(right), "-")
    one, other = _as_floats("-", left, right)
    return one - other


def multiply(left: Value, right: Value) -> Value:
    """`left * right`."""
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        return check_integer(left * right)
    if isinstance(left, Duration):
        return _scale("*", left, right)
    if isinstance(right, Duration):
        return _scale("*", right, left)
    one, other = _as_floats("*", left, right)
    return one * other


def divide(left: Value, right: Value) -> Value:
    """`left / right`: truncating on integers, where a zero divisor is an error."""
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        if right == 0:
            raise build_arithmetic_error("/ by zero.", detail="DivisionByZero")
        quotient = abs(left) // abs(right)
        return check_integer(quotient if (left < 0) == (right < 0) else -quotient)
    if isinstance(left, Duration):
        return _scale("/", left, right)
    one, other = _as_floats("/", left, right)
    if other == 0.0:
        if one == 0.0 or math.isnan(one):
            return math.nan
        return math.copysign(math.inf, one) * math.copysign(1.0, other)
    return one / other


def modulo(left: Value, right: Value) -> Value:
    """`left % right`, with the sign of the dividend."""
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        if right == 0:
            raise build_arithmetic_error("% by zero.", detail="DivisionByZero")
        remainder = abs(left) % abs(right)
        return remainder if left >= 0 else -remainder
    one, other = _as_floats("%", left, right)
    if other == 0.0 or math.isinf(one):
        return math.nan
    return math.fmod(one, other)


def power(left: Value, right: Value) -> Value:
    """`left ^ right`, always a float."""
    if left is None or right is None:
        return None
    one, other = _as_floats("^", left, right)
    try:
        return math.pow(one, other)
    except OverflowError:
        return math.inf if one > 0 or other % 2 == 0 else -math.inf
    except ValueError:  # a zero base with a negative exponent, or a negative base with a fraction
        return math.inf if one == 0.0 else math.nan


def minus(operand: Value) -> Value:
    """`-operand`."""
    if operand is None:
        return None
    if type(operand) is int:
        return check_integer(-operand)
    if isinstance(operand, float):
        return -operand
    raise build_type_error(f"'-' takes a number, not {name_type(operand)}.")


def plus(operand: Value) -> Value:
    """`+operand`: the number itself."""
    if operand is None or is_number(operand):
        return operand
    raise build_type_error(f"'+' takes a number, not {name_type(operand)}.")


def _concatenate(left: Value, right: Value, run: Run) -> list[Value]:
    head: list[Value] = left if isinstance(left, list) else [left]
    tail: list[Value] = right if isinstance(right, list) else [right]
    length = len(head) + len(tail)
    run.budget.check_length(length)
    nested = run.budget.check_members(tail)
    if nested > _MOST_UNCOUNTED or length.bit_length() != len(head).bit_length():
        # PERF: a list that grows by small pieces is measured each time its length has doubled.
        run.budget.check_members(head)
    return head + tail


def _render_operand(operand: Value, other: Value) -> str:
    if isinstance(operand, str | bool | int | float | Temporal):
        return render_text(operand)
    raise _refuse("+", operand, other)


def _add_temporal(left: Value, right: Value, operator: str = "+") -> Value:
    match left, right:
        case Duration(), Duration():
            return add_durations(left, right)
        case ((Date() | LocalTime() | Time() | LocalDateTime() | DateTime()), Duration()):
            return add_duration(left, right)
        case Duration(), (Date() | LocalTime() | Time() | LocalDateTime() | DateTime()):
            return add_duration(right, left)
        case _:
            raise _refuse(operator, left, right)


def _scale(operator: str, duration: Duration, factor: Value) -> Value:
    if type(factor) is not int and not isinstance(factor, float):
        raise _refuse(operator, duration, factor)
    amount = build_amount(factor)
    if operator == "*":
        return scale_duration(duration, amount)
    if amount == 0:
        raise build_arithmetic_error("/ by zero.", detail="DivisionByZero")
    return scale_duration(duration, Fraction(1) / amount)


def _as_floats(operator: str, left: Value, right: Value) -> tuple[float, float]:
    if is_number(left) and is_number(right):
        return float(left), float(right)  # type: ignore[arg-type]  # both are numbers
    raise _refuse(operator, left, right)


def _refuse(operator: str, left: Value, right: Value) -> QueryInvalid:
    return build_type_error(
        f"'{operator}' cannot combine {name_type(left)} with {name_type(right)}."
    )


def _abbreviate(value: int) -> str:
    text = str(value) if value.bit_length() < 4096 else f"of {value.bit_length()} bits"
    return text if len(text) <= 40 else f"{text[:20]}..."
