"""Combines two frames: by an equality between them, or each row with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns.counting import count_frame
from twinframe_columns.frame import Frame, Run
from twinframe_columns.grouping import encode
from twinframe_columns.kinds import Integers, Rows
from twinframe_columns.merging import merge
from twinframe_columns.problem import JointCondition, Side
from twinframe_columns.strings import Strings
from twinframe_columns.vectors import Entities, Texts, Vector, is_null, simplify, take
from twinframe_columns.weights import multiply

_FEW: Final = 8
"""Of so many texts one is looked for among the others in the time in which all are compared."""


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
    codes = _encode_texts(left, right) or _encode_both(left, right, one.count, other.count)
    mine = np.flatnonzero(codes[0] >= 0)
    wanted = codes[0][mine]
    # PERF: what has no counterpart is not put in order.
    is_wanted = np.zeros(int(max(one.max(initial=0) for one in codes)) + 1, np.bool_)
    is_wanted[wanted] = True
    theirs = np.flatnonzero(is_wanted[codes[1]] & (codes[1] >= 0))
    held = codes[1][theirs]
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


def _encode_both(left: Vector, right: Vector, count: int, others: int) -> tuple[Integers, Integers]:
    """Return numbers that are equal for equal values, -1 for null."""
    total = count + others
    places = np.arange(count), np.arange(count, total)
    joint = merge([(places[0], left), (places[1], right)], total)
    codes = encode(joint, total, is_equality=True).codes
    codes = np.where(is_null(joint, total), -1, codes)
    return codes[:count], codes[count:]


def _encode_texts(left: Vector, right: Vector) -> tuple[Integers, Integers] | None:
    """Do so for texts, by their codes. PERF: few texts are looked for among many."""
    one, other = simplify(left), simplify(right)
    if not isinstance(one, Texts) or not isinstance(other, Texts):
        return None
    if one.strings is other.strings:
        return _read_codes(one), _read_codes(other)
    found = _translate(one, other.strings)
    if found is not None:
        return found, _read_codes(other)
    found = _translate(other, one.strings)
    return None if found is None else (_read_codes(one), found)


def _read_codes(texts: Texts) -> Integers:
    return texts.codes if texts.valid is None else np.where(texts.valid, texts.codes, -1)


def _translate(texts: Texts, strings: Strings) -> Integers | None:
    """Return the codes that texts have among others; None if they are not few."""
    codes = _read_codes(texts)
    used = np.unique(codes[codes >= 0])
    if len(used) * _FEW > len(strings):
        return None
    table = np.full(len(texts.strings) + 1, -1, np.int64)  # the last one for null
    table[used] = [strings.find(text) for text in texts.strings.read_all(used)]
    return table[codes]


def _pair_up(left: Frame, right: Frame, ones: Rows, others: Rows) -> Frame:
    variables = {name: take(vector, ones) for name, vector in left.variables.items()}
    variables |= {name: take(vector, others) for name, vector in right.variables.items()}
    weights = None
    if left.weights is not None or right.weights is not None:
        mine = np.ones(len(ones), np.int64) if left.weights is None else left.weights[ones]
        theirs = np.ones(len(ones), np.int64) if right.weights is None else right.weights[others]
        weights = multiply(mine, theirs)
    return Frame(len(ones), variables, weights)
