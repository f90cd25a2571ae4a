"""Arithmetic on vectors of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import repeat
from typing import Final

import numpy as np

from twinframe.query.algebra import BinaryOperator
from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.kinds import Bools, Floats
from twinframe_columns.vectors import (
    NULL,
    Constant,
    Numbers,
    Vector,
    is_plain_number,
    join_valid,
    simplify,
)

_SIMPLE: Final = {
    BinaryOperator.ADD: np.add,
    BinaryOperator.SUBTRACT: np.subtract,
    BinaryOperator.MULTIPLY: np.multiply,
}


def calculate(operator: BinaryOperator, left: Vector, right: Vector, count: int) -> Vector:
    """`+`, `-`, `*`, `/` and `%` of numbers."""
    left, right = simplify(left), simplify(right)
    if left == NULL or right == NULL:
        return NULL
    one, other = read_numbers(left), read_numbers(right)
    valid = join_valid(one.valid, other.valid)
    both = _are_both(one.is_integer, other.is_integer)
    with np.errstate(all="ignore"):
        simple = _SIMPLE.get(operator)
        if simple is not None:
            data = simple(one.data, other.data)
        elif operator is BinaryOperator.DIVIDE:
            data = _divide(one.data, other.data, both, valid)
        else:
            data = _find_remainder(one.data, other.data, both, valid)
    data = np.broadcast_to(np.asarray(data, np.float64), (count,))
    return check_numbers(Numbers(data, both, valid))


def check_numbers(numbers: Numbers) -> Numbers:
    """Return the numbers; raise `CannotRun` where one is not finite, or an integer no float
    holds.
    """
    # PERF: first of all, nulls included: what is in their place is small, too, in most cases.
    if _find_largest(numbers.data) < k.LARGEST_INTEGER:
        return numbers
    present = numbers.data if numbers.valid is None else numbers.data[numbers.valid]
    if not _find_largest(present) < math.inf:
        raise CannotRun("A result that is not finite.")
    whole = numbers.is_integer
    if whole is False:
        return numbers
    if whole is not True:
        present = numbers.data[whole if numbers.valid is None else whole & numbers.valid]
    if _find_largest(present) >= k.LARGEST_INTEGER:
        raise CannotRun("A large integer.")
    return numbers


def _find_largest(data: Floats) -> float:
    """Return the largest size; NaN where one is none."""
    return max(-float(data.min()), float(data.max())) if len(data) else 0.0


def read_numbers(vector: Vector) -> Numbers:
    """Return the vector as numbers; raise `CannotRun` for values of another type."""
    if isinstance(vector, Numbers):
        return vector
    if isinstance(vector, Constant) and is_plain_number(vector.value):
        # NOTE: an array without an axis goes with every number of rows.
        return Numbers(np.asarray(float(vector.value)), type(vector.value) is int)
    raise CannotRun("Arithmetic with what is no number.")


def _are_both(one: bool | Bools, other: bool | Bools) -> bool | Bools:
    if one is False or other is False:
        return False
    if one is True:
        return other
    return one if other is True else one & other


def _divide(one: Floats, other: Floats, both: bool | Bools, valid: Bools | None) -> Floats:
    found: Floats = one / other
    if both is False:
        return found
    _check_divisor(other, both, valid)
    # NOTE: integers divide towards zero; a quotient of floats may be rounded up to an integer.
    low, high = _read_integers(one), _read_integers(other)
    quotient = np.abs(low) // np.abs(high)
    whole = np.where((low < 0) == (high < 0), quotient, -quotient).astype(np.float64)
    return whole if both is True else np.where(both, whole, found)


def _read_integers(data: Floats) -> k.Integers:
    found: k.Integers = np.where(np.isfinite(data), data, 0.0).astype(np.int64)
    return found


def _find_remainder(one: Floats, other: Floats, both: bool | Bools, valid: Bools | None) -> Floats:
    if both is not False:
        _check_divisor(other, both, valid)
    found: Floats = np.fmod(one, other)
    return found


def _check_divisor(other: Floats, both: bool | Bools, valid: Bools | None) -> None:
    is_zero = other == 0
    if both is not True:
        is_zero = is_zero & both
    if valid is not None:
        is_zero = is_zero & valid
    if is_zero.any():
        raise CannotRun("A division of integers by zero.")


# --- functions ------------------------------------------------------------------------------------


def _round(data: Floats) -> Floats:
    found: Floats = np.where(np.abs(data) >= 2**52, data, np.floor(data + 0.5))
    return found


# NOTE: adding 0.0 makes 0.0 of -0.0.


def _floor(data: Floats) -> Floats:
    found: Floats = np.floor(data) + 0.0
    return found


def _ceil(data: Floats) -> Floats:
    found: Floats = np.ceil(data) + 0.0
    return found


def _keep(data: Floats) -> Floats:
    return data


_FUNCTIONS: Final[dict[str, tuple[Callable[[Floats], Floats], bool | None]]] = {
    "abs": (np.abs, None),
    "sign": (np.sign, True),
    "floor": (_floor, False),
    "ceil": (_ceil, False),
    "round": (_round, False),
    "toFloat": (_keep, False),
    "toInteger": (np.trunc, True),
}
"""Functions of one number, and whether the result is an integer; None: as the number is."""


_BY_PYTHON: Final[dict[str, Callable[[float], float]]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "degrees": math.degrees,
    "radians": math.radians,
}
"""Functions whose last digit NumPy may compute in another way."""


def _compute(apply: Callable[..., float], numbers: Numbers, *more: float) -> Numbers | None:
    """Return a function of each number; None where it is none for one of them."""
    data, valid = numbers.data, numbers.valid
    present = data if valid is None else data[valid]
    try:
        found = np.fromiter(
            map(apply, present.tolist(), *map(repeat, more)), np.float64, len(present)
        )
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        return None
    if valid is not None:
        spread = np.zeros(len(data))
        spread[valid] = found
        found = spread
    return check_numbers(Numbers(found, False, valid))


def raise_to(left: Vector, right: Vector) -> Numbers | None:
    """Return the powers of numbers by a constant; None for other values."""
    if not isinstance(left, Numbers) or not isinstance(right, Constant):
        return None
    if not is_plain_number(right.value):
        return None
    return _compute(math.pow, left, float(right.value))


def apply_function(name: str, vector: Vector) -> Numbers | None:
    """Return a function of numbers; None for other functions and values."""
    if isinstance(vector, Numbers) and name in _BY_PYTHON:
        return _compute(_BY_PYTHON[name], vector)
    found = _FUNCTIONS.get(name)
    if found is None or not isinstance(vector, Numbers):
        return None
    apply, whole = found
    data = apply(vector.data)
    return check_numbers(Numbers(data, vector.is_integer if whole is None else whole, vector.valid))
