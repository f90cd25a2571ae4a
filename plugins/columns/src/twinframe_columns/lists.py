"""Operations on vectors of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from twinframe.query.algebra import BinaryOperator, QuantifierKind
from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.comparing import compare
from twinframe_columns.frame import Frame
from twinframe_columns.grouping import encode
from twinframe_columns.kinds import Bools, Integers
from twinframe_columns.merging import MOST_ITEMS, list_items, measure_items, merge, read_lists
from twinframe_columns.vectors import (
    NULL,
    Constant,
    Lists,
    Mixed,
    Numbers,
    Truths,
    Vector,
    find_false,
    is_null,
    join_valid,
    simplify,
    take,
)


def open_items(lists: Lists, frame: Frame, variable: str, names: frozenset[str]) -> Frame:
    """Return a row for each item, with the variables `names` of the row that the list is of."""
    items = list_items(lists)
    kept = {name: one for name, one in frame.variables.items() if name in names}
    part = Frame(frame.count, kept).take(find_owners(lists).astype(np.int32))
    return Frame(part.count, {**part.variables, variable: items})


def find_owners(lists: Lists) -> Integers:
    """Return for each item the row that its list is of."""
    measure_items(lists)
    return np.repeat(np.arange(len(lists.sizes)), lists.sizes)


def build_lists(items: Vector, owners: Integers, lists: Lists) -> Lists:
    """Return lists of other items of the same rows."""
    sizes = np.bincount(owners, minlength=len(lists.sizes))
    return Lists(np.cumsum(sizes) - sizes, sizes, items, lists.valid)


def join_rows(vectors: list[Vector], count: int) -> Lists:
    """Return for each row the list of its values."""
    size = len(vectors)
    places = np.arange(count) * size
    if count * size > MOST_ITEMS:
        raise CannotRun("More items than are held at once.")
    items = merge([(places + at, one) for at, one in enumerate(vectors)], count * size)
    return Lists(places, np.full(count, size), items)


# --- parts --------------------------------------------------------------------------------------


def _read_positions(vector: Vector, count: int) -> tuple[Integers, Bools | None]:
    """Return positions in lists, and where they are not null."""
    match simplify(vector):
        case Constant(value=int() as value) if not isinstance(value, bool):
            # NOTE: no list is longer.
            return np.full(count, max(-(2**40), min(2**40, value))), None
        case Constant(value=None):
            return np.zeros(count, np.int64), np.zeros(count, np.bool_)
        case Numbers(is_integer=True) as numbers:
            data, valid = numbers.data, numbers.valid
            return (data if valid is None else np.where(valid, data, 0)).astype(np.int64), valid
        case _:
            raise CannotRun("A position in a list that is no integer.")


def read_element(lists: Lists, index: Vector) -> Vector:
    """`lists[index]`."""
    count = len(lists.sizes)
    positions, valid = _read_positions(index, count)
    positions = np.where(positions < 0, positions + lists.sizes, positions)
    is_there = (positions >= 0) & (positions < lists.sizes)
    for one in (valid, lists.valid):
        is_there = is_there if one is None else is_there & one
    if is_there.all() and count:
        return take(lists.items, (lists.starts + positions).astype(np.int32))
    rows = np.flatnonzero(is_there)
    picked = (lists.starts[rows] + positions[rows]).astype(np.int32)
    return merge([(rows, take(lists.items, picked))], count)


def cut(lists: Lists, start: Vector | None, end: Vector | None) -> Lists:
    """`lists[start..end]`. PERF: the items stay where they are."""
    count, sizes, valid = len(lists.sizes), lists.sizes, lists.valid
    low, high = np.zeros(count, np.int64), sizes
    if start is not None:
        low, own = _read_positions(start, count)
        valid = join_valid(valid, own)
    if end is not None:
        high, own = _read_positions(end, count)
        valid = join_valid(valid, own)
    low, high = (np.clip(np.where(at < 0, at + sizes, at), 0, sizes) for at in (low, high))
    left = np.maximum(high - low, 0)
    if valid is not None:
        left = np.where(valid, left, 0)
    return Lists(lists.starts + low, left, lists.items, valid)


def reverse(lists: Lists) -> Lists:
    """The items from the last to the first."""
    owners = find_owners(lists)
    ends = np.cumsum(lists.sizes)
    places = ends[owners] - 1 - (np.arange(len(owners)) - (ends - lists.sizes)[owners])
    return build_lists(take(list_items(lists), places.astype(np.int32)), owners, lists)


def measure(lists: Lists) -> Numbers:
    """`size(lists)`."""
    return Numbers(lists.sizes.astype(np.float64), True, lists.valid)


def test_empty(lists: Lists) -> Truths:
    """`isEmpty(lists)`."""
    empty = lists.sizes == 0
    return Truths(empty if lists.valid is None else empty & lists.valid, lists.valid)


OF_LISTS: Final[dict[str, Callable[[Lists], Vector]]] = {
    "size": measure,
    "isEmpty": test_empty,
    "head": lambda lists: read_element(lists, Constant(0)),
    "last": lambda lists: read_element(lists, Constant(-1)),
    "tail": lambda lists: cut(lists, Constant(1), None),
    "reverse": reverse,
}
"""Functions of one list."""


def concatenate(left: Vector, right: Vector, count: int) -> Vector:
    """`left + right`, of which one is a list: another value is an item; null gives null."""
    if left == NULL or right == NULL:
        return NULL
    sides = [wrap(one, count) for one in (left, right)]
    valid: Bools | None = None
    for one in sides:
        valid = join_valid(valid, one.valid)
    sizes = sides[0].sizes + sides[1].sizes
    if valid is not None:
        sizes = np.where(valid, sizes, 0)
        sides = [Lists(one.starts, np.where(valid, one.sizes, 0), one.items) for one in sides]
    starts = np.cumsum(sizes) - sizes
    parts = []
    offset = starts
    for one in sides:
        owners = find_owners(one)
        inner = np.arange(len(owners)) - (np.cumsum(one.sizes) - one.sizes)[owners]
        parts.append((offset[owners] + inner, list_items(one)))
        offset = offset + one.sizes
    return Lists(starts, sizes, merge(parts, int(sizes.sum())), valid)


def wrap(vector: Vector, count: int) -> Lists:
    """Return lists as they are, another value as a list of one item, null as an empty list."""
    if is_list(vector):
        return read_lists(vector, count)
    if isinstance(vector, Mixed) and (vector.kinds >= k.MAP).any():
        raise CannotRun("Lists in documents.")
    nulls = is_null(vector, count)
    rows = np.arange(count)
    valid = ~nulls if nulls.any() else None
    return Lists(rows, (~nulls).astype(np.int64), merge([(rows, vector)], count), valid)


def is_list(vector: Vector) -> bool:
    """Whether the values are lists."""
    return isinstance(vector, Lists) or (
        isinstance(vector, Constant) and isinstance(vector.value, list)
    )


def share_items(left: Vector, right: Vector, count: int) -> Bools:
    """Return where two lists, of which one may be a value, have an item in common."""
    one, other = (wrap(side, count) for side in (left, right))
    owners = find_owners(one)
    each = take(other, owners.astype(np.int32))
    assert isinstance(each, Lists)  # noqa: S101  # as it was
    inner = find_owners(each)
    picked = take(list_items(one), inner.astype(np.int32))
    same = compare(BinaryOperator.EQUAL, picked, list_items(each), len(inner)).true
    shared: Bools = np.bincount(owners[inner[same]], minlength=count) > 0
    return shared


# --- tests ----------------------------------------------------------------------------------------


def quantify(kind: QuantifierKind, truths: Truths, lists: Lists) -> Truths:
    """Return whether so many items of each list satisfy a condition.

    SPEC: null where an item of which it is not known could decide.
    """
    owners, count = find_owners(lists), len(lists.sizes)
    is_all = kind is QuantifierKind.ALL
    decisive = find_false(truths) if is_all else truths.true
    found = np.bincount(owners[decisive], minlength=count)
    decided = found >= (2 if kind is QuantifierKind.SINGLE else 1)
    known = lists.valid
    if truths.known is not None:
        open_ones = np.bincount(owners[~truths.known], minlength=count) > 0
        known = join_valid(known, decided | ~open_ones)
    if kind is QuantifierKind.ANY:
        true = decided
    else:
        true = found == 1 if kind is QuantifierKind.SINGLE else ~decided
    return Truths(true if known is None else true & known, known)


def test_membership(left: Vector, lists: Lists) -> Truths:
    """`left IN lists`."""
    count = len(lists.sizes)
    if not count:
        return Truths(np.zeros(0, np.bool_))
    starts, sizes = lists.starts, lists.sizes
    if left != NULL and (starts == starts[0]).all() and (sizes == sizes[0]).all():
        return _test_one(left, lists, count)
    owners = find_owners(lists)
    items = list_items(lists)
    own = take(left, owners.astype(np.int32))
    same = compare(BinaryOperator.EQUAL, own, items, len(owners))
    return quantify(QuantifierKind.ANY, same, lists)


def _test_one(left: Vector, lists: Lists, count: int) -> Truths:
    """PERF: the same list for all rows is looked at once."""
    size, start = int(lists.sizes[0]), int(lists.starts[0])
    items = take(lists.items, slice(start, start + size))
    known = lists.valid
    if not size:
        return Truths(np.zeros(count, np.bool_), known)
    total = count + size
    places = np.arange(count), np.arange(count, total)
    joint = merge([(places[0], left), (places[1], items)], total)
    codes = encode(joint, total, is_equality=True).codes
    nulls = is_null(joint, total)
    true = np.isin(codes[:count], codes[count:][~nulls[count:]]) & ~nulls[:count]
    if nulls.any():
        # NOTE: with a null among them nothing is certainly absent.
        certain = true if nulls[count:].any() else ~nulls[:count]
        known = join_valid(known, certain)
    return Truths(true if known is None else true & known, known)
