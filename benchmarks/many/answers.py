"""When the answers of two engines are the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

Rows: TypeAlias = list[list[Any]]

_DIGITS = 1e-9


def are_equal(one: Rows, other: Rows, *, is_ordered: bool) -> bool:
    """Whether two results are the same, floats to nine digits.

    Engines add floats in different orders. A boolean is no number, an integer may equal a float.
    """
    if len(one) != len(other):
        return False
    if not is_ordered:
        one, other = sorted(one, key=_build_key), sorted(other, key=_build_key)
    return all(
        len(left) == len(right) and all(map(_is_same, left, right))
        for left, right in zip(one, other, strict=True)
    )


def _is_same(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        if isinstance(left, int) and isinstance(right, int):
            return left == right
        return math.isclose(left, right, rel_tol=_DIGITS, abs_tol=_DIGITS)
    return left == right


def _build_key(row: Sequence[object]) -> tuple[list[str], list[str]]:
    """A key that sorts by what is exact first, and by rounded floats then."""
    exact = [repr(value) for value in row if not isinstance(value, float)]
    return exact, [f"{value:.6g}" for value in row if isinstance(value, float)]
