"""Mathematical functions, which give NaN for a value out of their domain, as IEEE does.

SPEC: openCypher 9, «Mathematical functions». `abs` and `sign` give integers of integers, all others
give floats.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from twinframe.model.values import Value
from twinframe.query.evaluate.arithmetic import check_integer
from twinframe.query.evaluate.failures import build_argument_type_error, build_range_error
from twinframe.query.evaluate.functions.declare import Function, strict, total


def _number(function: str, value: Value) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise build_argument_type_error(function, value, "a Number")


def _continuous(name: str, apply: Callable[..., float]) -> Function:
    def call(*arguments: Value) -> Value:
        numbers = [float(_number(name, one)) for one in arguments]
        try:
            return apply(*numbers)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return strict(call)


def absolute(value: Value) -> Value:
    """The magnitude, of the same type."""
    number = _number("abs", value)
    return check_integer(abs(number)) if isinstance(number, int) else abs(number)


def sign(value: Value) -> Value:
    """-1, 0 or 1."""
    number = _number("sign", value)
    return (number > 0) - (number < 0)


def round_half_up(value: Value, precision: Value = 0) -> Value:
    """The nearest float of `precision` decimals; a tie goes towards positive infinity."""
    number = float(_number("round", value))
    if type(precision) is not int:
        raise build_argument_type_error("round", precision, "an Integer as precision")
    if not 0 <= precision <= 308:
        raise build_range_error(f"round() takes 0 to 308 decimals, not {precision}.")
    if not math.isfinite(number) or abs(number) >= 2**52:
        return number
    scaled = number * 10.0**precision
    if not math.isfinite(scaled):
        return number
    return math.floor(scaled + 0.5) / 10.0**precision


def _integral(name: str, apply: Callable[[float], int]) -> Function:
    def call(value: Value) -> Value:
        number = float(_number(name, value))
        return float(apply(number)) if math.isfinite(number) else number

    return strict(call)


def _log(number: float) -> float:
    return -math.inf if number == 0.0 else math.log(number)


def _log10(number: float) -> float:
    return -math.inf if number == 0.0 else math.log10(number)


def _cotangent(number: float) -> float:
    tangent = math.tan(number)
    return math.inf if tangent == 0.0 else 1.0 / tangent


FUNCTIONS: dict[str, Function] = {
    "abs": strict(absolute),
    "sign": strict(sign),
    "round": strict(round_half_up),
    "ceil": _integral("ceil", math.ceil),
    "floor": _integral("floor", math.floor),
    "sqrt": _continuous("sqrt", math.sqrt),
    "exp": _continuous("exp", math.exp),
    "log": _continuous("log", _log),
    "log10": _continuous("log10", _log10),
    "sin": _continuous("sin", math.sin),
    "cos": _continuous("cos", math.cos),
    "tan": _continuous("tan", math.tan),
    "cot": _continuous("cot", _cotangent),
    "asin": _continuous("asin", math.asin),
    "acos": _continuous("acos", math.acos),
    "atan": _continuous("atan", math.atan),
    "atan2": _continuous("atan2", math.atan2),
    "degrees": _continuous("degrees", math.degrees),
    "radians": _continuous("radians", math.radians),
    "haversin": _continuous("haversin", lambda number: (1.0 - math.cos(number)) / 2.0),
    "pi": total(lambda: math.pi),
    "e": total(lambda: math.e),
    "rand": total(lambda: random.random()),  # noqa: S311, PLW0108  # no secret; looked up per call
}
