"""Groups rows by the values of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.frame import Frame
from twinframe_columns.kinds import Bools, Integers, Rows
from twinframe_columns.merging import list_items, measure_items
from twinframe_columns.vectors import (
    Constant,
    Entities,
    Lists,
    Maps,
    Mixed,
    Numbers,
    Paths,
    Pieces,
    Texts,
    Times,
    Truths,
    Vector,
    read_rows,
    simplify,
    take,
)

_WIDEST: Final = 4
"""Codes of groups for each row, up to which groups are counted in a table and not sorted."""

_PART: Final = 16_384

_SHORT: Final = 2**16

_LONGEST: Final = 100
"""Items of lists that are numbered place by place."""


@dataclass(frozen=True, slots=True)
class Present:
    """Values without nulls, in their groups; `weights` says how often each counts."""

    groups: Groups
    vector: Vector
    weights: Integers | None


class Groups:
    """`members` has the group of each row, `firsts` a row of each group."""

    def __init__(self, count: int, members: Integers | Rows, firsts: Integers) -> None:
        self.count = count
        # PERF: NumPy counts these without copying them each time.
        self.members = members.astype(np.intp, copy=False)
        self.firsts = firsts
        self.present: dict[str, Present] = {}
        """The values of expressions that several aggregates read, with the rows that have them."""

    @cached_property
    def sizes(self) -> Integers:
        """The number of rows of each group."""
        return np.bincount(self.members, minlength=self.count)


def order_members(members: Integers | Rows, count: int) -> Integers:
    """Return the rows group by group, those of one in their order. `count`: how many groups.

    PERF: NumPy orders short integers by their digits, in a tenth of the time.
    """
    if count > _SHORT:
        return np.argsort(members, kind="stable")
    return np.argsort(members.astype(np.uint16), kind="stable")


@dataclass(frozen=True, slots=True)
class Encoded:
    """A number below `size` for each row, equal for equal values."""

    codes: Integers | Rows
    size: int


def group(frame: Frame, keys: Sequence[Vector]) -> Groups:
    """Group the rows by equal values; null equals null. Without keys there is one group."""
    keys = [key for key in keys if not isinstance(key, Constant)]
    if not keys:
        has_rows = min(frame.count, 1)
        members = np.zeros(frame.count, np.int64)
        return Groups(has_rows, members, np.zeros(has_rows, np.int64))
    joined = encode(keys[0], frame.count)
    for key in keys[1:]:
        joined = join(joined, encode(key, frame.count))
    return _build_groups(_narrow(joined, frame.count), frame.count)


def _build_groups(encoded: Encoded, count: int) -> Groups:
    codes, size = encoded.codes, encoded.size
    firsts = find_firsts(codes, size, count)
    present = np.flatnonzero(firsts >= 0)
    if len(present) == size:
        return Groups(size, codes, firsts)
    numbers = np.zeros(size, np.int64)
    numbers[present] = np.arange(len(present))
    return Groups(len(present), numbers[codes], firsts[present])


def find_firsts(codes: Integers | Rows, size: int, count: int) -> Integers:
    """Return for each code a row that has it, -1 if none has.

    PERF: few codes are among the first rows, so that the others are only looked at.
    """
    firsts = np.full(size, -1, np.int64)
    part = min(count, max(_PART, 4 * size))
    firsts[codes[:part]] = np.arange(part)
    if part < count and (firsts < 0).any():
        rest = np.flatnonzero((firsts < 0)[codes[part:]]) + part
        firsts[codes[rest]] = rest
    return firsts


def encode(vector: Vector, count: int, *, is_equality: bool = False) -> Encoded:
    """Return a number for each value, equal for equal values and for null.

    With `is_equality` an integer and an equal float have one number; else they raise `CannotRun`,
    as the value of the group would be that of its first row.
    """
    vector = simplify(vector)
    match vector:
        case Constant():
            return Encoded(np.zeros(count, np.int64), 1)
        case Truths():
            codes = vector.true.astype(np.int32)
            return _set_null(codes, vector.known, 2)
        case Texts() | Times():
            return _set_null(vector.codes, vector.valid, max(1, len(vector.strings)))
        case Entities():
            rows = read_rows(vector.rows)
            size = int(rows.max()) + 1 if count else 1
            return _set_null(rows, vector.valid, size)
        case Numbers():
            return _encode_numbers(vector, count, is_equality=is_equality)
        case Mixed():
            return _encode_mixed(vector, count, is_equality=is_equality)
        case Lists() | Maps() if is_equality:
            raise CannotRun("An equality of lists or maps.")
        case Paths():
            raise CannotRun("Groups by paths.")
        case Lists():
            return _encode_lists(vector, count)
        case Maps():
            return _encode_maps(vector, count)
        case Pieces():
            return encode(vector.sort(), count, is_equality=is_equality)


def _set_null(codes: Integers | Rows, valid: Bools | None, size: int) -> Encoded:
    if valid is None:
        # PERF: the texts or twins of one model are next to each other among all.
        if size <= _PART or not len(codes):
            return Encoded(codes, size)
        low = codes.min()
        return Encoded(codes - low, int(codes.max()) - int(low) + 1)
    return Encoded(np.where(valid, codes, codes.dtype.type(size)), size + 1)


def _encode_numbers(vector: Numbers, count: int, *, is_equality: bool) -> Encoded:
    whole, valid = vector.is_integer, vector.valid
    if not isinstance(whole, bool) and not is_equality:
        is_float = ~whole if valid is None else ~whole & valid
        whole = whole if valid is None else whole & valid
        if np.isin(vector.data[whole], vector.data[is_float]).any():
            raise CannotRun("Groups by an integer and an equal float.")
    data = vector.data if valid is None else vector.data[valid]
    if vector.is_integer is True and len(data):
        low, high = float(data.min()), float(data.max())
        if high - low < max(1024, _WIDEST * count):
            kept = vector.data if valid is None else np.where(valid, vector.data, low)
            codes = (kept - low).astype(np.int32)
            return _set_null(codes, valid, int(high - low) + 1)
    values, inverse = np.unique(vector.data, return_inverse=True)
    return _set_null(inverse.astype(np.int64), valid, max(1, len(values)))


def _encode_mixed(vector: Mixed, count: int, *, is_equality: bool) -> Encoded:
    kinds = vector.kinds
    if (kinds >= k.MAP).any():
        raise CannotRun("Groups by lists, maps or large integers.")
    codes = np.zeros(count, np.int64)
    codes[kinds == k.FALSE] = 1
    codes[kinds == k.TRUE] = 2
    size = 3
    places = np.flatnonzero((kinds == k.INTEGER) | (kinds == k.FLOAT))
    if len(places) and vector.numbers is not None:
        own = Numbers(vector.numbers[places], kinds[places] == k.INTEGER)
        found = _encode_numbers(own, len(places), is_equality=is_equality)
        codes[places] = found.codes + np.int64(size)
        size += found.size
    places = np.flatnonzero(kinds == k.STRING)
    if len(places) and vector.codes is not None and vector.strings is not None:
        codes[places] = vector.codes[places] + np.int64(size)
        size += len(vector.strings)
    return Encoded(codes, size)


def _encode_lists(vector: Lists, count: int) -> Encoded:
    """Number lists place by place, so that those are equal whose items all are."""
    longest = int(vector.sizes.max()) if count else 0
    if longest > _LONGEST:
        raise CannotRun("Groups by long lists.")
    total = measure_items(vector)
    items = encode(list_items(vector), total)
    starts = np.cumsum(vector.sizes) - vector.sizes
    joined = _set_null(vector.sizes, vector.valid, longest + 1)
    for at in range(longest):
        is_there = vector.sizes > at
        codes = np.zeros(count, np.int64)
        codes[is_there] = items.codes[starts[is_there] + at]
        joined = join(joined, Encoded(codes, items.size))
    return joined


def _encode_maps(vector: Maps, count: int) -> Encoded:
    if vector.is_partial:
        raise CannotRun("Groups by maps with different keys.")
    joined = _set_null(np.zeros(count, np.int64), vector.valid, 1)
    for one in vector.members.values():
        joined = join(joined, encode(one, count))
    return joined


def join(left: Encoded, right: Encoded) -> Encoded:
    """Return a number for each pair."""
    count = len(left.codes)
    left, right = _narrow(left, count), _narrow(right, count)
    return Encoded(left.codes * np.int64(right.size) + right.codes, left.size * right.size)


def _narrow(encoded: Encoded, count: int) -> Encoded:
    """Return codes without large gaps."""
    if encoded.size <= max(1024, _WIDEST * count):
        return encoded
    values, inverse = np.unique(encoded.codes, return_inverse=True)
    return Encoded(inverse.astype(np.int64), max(1, len(values)))


def keep_distinct(
    groups: Groups, vector: Vector, *, in_order: bool = False
) -> tuple[Groups, Vector]:
    """Return one row for each distinct value of each group; with `in_order` the first."""
    count = len(groups.members)
    codes = join(Encoded(groups.members, max(1, groups.count)), encode(vector, count))
    codes = _narrow(codes, count)
    if in_order:
        firsts = np.sort(np.unique(codes.codes, return_index=True)[1])
    else:
        firsts = find_firsts(codes.codes, codes.size, count)
        firsts = firsts[firsts >= 0]
    return (
        Groups(groups.count, groups.members[firsts], groups.firsts),
        take(vector, firsts.astype(np.int32)),
    )
