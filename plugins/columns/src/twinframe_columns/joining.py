"""Combines two frames: by an equality between them, or each row with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns.counting import count_frame
from twinframe_columns.frame import Frame, Run
from twinframe_columns.grouping import encode
from twinframe_columns.kinds import Integers, Rows
from twinframe_columns.merging import merge
from twinframe_columns.problem import JointCondition, Side
from twinframe_columns.vectors import Entities, Vector, is_null, take
from twinframe_columns.weights import multiply


def combine(
    run: Run, left: Frame, right: Frame, conditions: Sequence[JointCondition]
) -> tuple[Frame, list[JointCondition]]:
    """Return the combined rows, and the conditions that they do not satisfy already."""
    rest = list(conditions)
    if not right.variables:
        return _multiply(left, count_frame(right)), rest
    if not left.variables:
        return _multiply(right, count_frame(left)), rest
    for condition in conditions:
        sides = _match_sides(condition, left, right)
        if sides is None:
            continue
        picked = _join(
            run, sides[0].evaluate(run, left), sides[1].evaluate(run, right), left, right
        )
        if picked is not None:
            rest.remove(condition)
            return _pair_up(left, right, *picked), rest
    if left.count * right.count > run.most_rows:
        raise CannotRun("More rows than are held at once.")
    ones = np.repeat(np.arange(left.count, dtype=np.int32), right.count)
    others = np.tile(np.arange(right.count, dtype=np.int32), left.count)
    return _pair_up(left, right, ones, others), rest


def _match_sides(condition: JointCondition, left: Frame, right: Frame) -> tuple[Side, Side] | None:
    if condition.sides is None:
        return None
    one, other = condition.sides
    if one.names <= left.variables.keys() and other.names <= right.variables.keys():
        return one, other
    if other.names <= left.variables.keys() and one.names <= right.variables.keys():
        return other, one
    return None


def _multiply(frame: Frame, times: int) -> Frame:
    if not times:
        return frame.take(np.empty(0, np.int32))
    if times == 1:
        return frame
    own = np.full(frame.count, times, np.int64)
    return replace(frame, weights=own if frame.weights is None else multiply(frame.weights, own))


def _join(
    run: Run, left: Vector, right: Vector, one: Frame, other: Frame
) -> tuple[Rows, Rows] | None:
    """Return the pairs of rows with equal values, none of them null; None if they are of types
    that are compared one by one.
    """
    if isinstance(left, Entities) != isinstance(right, Entities):
        return None
    total = one.count + other.count
    places = np.arange(one.count), np.arange(one.count, total)
    joint = merge([(places[0], left), (places[1], right)], total)
    nulls = is_null(joint, total)
    codes = encode(joint, total, is_equality=True).codes
    mine = np.flatnonzero(~nulls[: one.count])
    theirs = np.flatnonzero(~nulls[one.count :])
    wanted, held = codes[mine], codes[one.count + theirs]
    order = np.argsort(held, kind="stable")
    ordered = held[order]
    low = np.searchsorted(ordered, wanted, "left")
    counts = np.searchsorted(ordered, wanted, "right") - low
    rows = int(counts.sum())
    if rows > run.most_rows:
        raise CannotRun("More rows than are held at once.")
    which = np.repeat(np.arange(len(mine)), counts)
    at: Integers = np.arange(rows) + (low - (np.cumsum(counts) - counts))[which]
    return mine[which].astype(np.int32), theirs[order[at]].astype(np.int32)


def _pair_up(left: Frame, right: Frame, ones: Rows, others: Rows) -> Frame:
    variables = {name: take(vector, ones) for name, vector in left.variables.items()}
    variables |= {name: take(vector, others) for name, vector in right.variables.items()}
    weights = None
    if left.weights is not None or right.weights is not None:
        mine = np.ones(len(ones), np.int64) if left.weights is None else left.weights[ones]
        theirs = np.ones(len(ones), np.int64) if right.weights is None else right.weights[others]
        weights = multiply(mine, theirs)
    return Frame(len(ones), variables, weights)
