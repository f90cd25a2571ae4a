"""Numbers of rows that a row stands for."""

from __future__ import annotations

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.kinds import Integers, Rows


def multiply(left: Integers, right: Integers) -> Integers:
    """Multiply numbers of rows; raise `CannotRun` where they may not fit."""
    if len(left) and float(left.max()) * float(right.max()) >= k.LARGEST_INTEGER:
        raise CannotRun("More rows than a float counts.")
    return left * right


def count_weighted(groups: Rows | Integers, weights: Integers | None, least: int) -> Integers:
    """Return how many rows each group has; there are at least `least` groups."""
    if weights is None:
        return np.bincount(groups, minlength=least)
    check_total(weights)
    return np.bincount(groups, weights=weights, minlength=least).astype(np.int64)


def add_up(weights: Integers) -> int:
    """Return the sum."""
    check_total(weights)
    return int(weights.sum())


def check_total(weights: Integers) -> None:
    """Raise `CannotRun` for more rows together than a float counts."""
    if not len(weights) or float(weights.max()) * len(weights) < k.LARGEST_INTEGER:
        return
    if float(weights.astype(np.float64).sum()) >= k.LARGEST_INTEGER:
        raise CannotRun("More rows than a float counts.")
