"""Aggregates within groups of rows."""

from __future__ import annotations

import math
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from twinframe.query.algebra import AggregateKind
from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.arithmetic import check_numbers
from twinframe_columns.frame import MOST_ROWS, Frame
from twinframe_columns.grouping import Groups, Present, keep_distinct, order_members
from twinframe_columns.kinds import Bools, Floats, Integers, Rows
from twinframe_columns.merging import merge
from twinframe_columns.vectors import (
    NULL,
    Constant,
    Entities,
    Lists,
    Maps,
    Mixed,
    Numbers,
    Paths,
    Texts,
    Times,
    Truths,
    Vector,
    is_plain_number,
    simplify,
    take,
)
from twinframe_columns.weights import add_up, count_weighted

_MANY: Final = 100_000
"""Numbers of one sign that are added one after the other without losing digits that count."""

_DENSE: Final = 1.1
_WIDEST: Final = 4
_FEW_GROUPS: Final = 2_000
_LARGEST: Final = 1e290
_SPREAD: Final = 1_000
"""How many times the deviation the mean may be, so that twelve digits of it are certain."""


def aggregate(kind: AggregateKind, present: Present, *, distinct: bool) -> Vector:
    """Return the aggregate of each group."""
    own, vector, weights = present.groups, present.vector, present.weights
    is_count = distinct and kind is AggregateKind.COUNT
    if is_count and own.count == 1 and isinstance(vector, Numbers | Texts):
        return Numbers(np.array([_count_different(vector)], np.float64), True)
    if distinct and kind is AggregateKind.COLLECT:
        own, vector = keep_distinct(own, vector, in_order=True)
        weights = None
    elif distinct and kind not in (AggregateKind.MIN, AggregateKind.MAX):
        own, vector = keep_distinct(own, vector)
        weights = None
    match kind:
        case AggregateKind.COUNT:
            return Numbers(count_rows(own, weights).astype(np.float64), True)
        case AggregateKind.SUM:
            return _sum(own, vector, weights)
        case AggregateKind.AVG:
            return _average(own, vector, weights)
        case AggregateKind.MIN | AggregateKind.MAX:
            is_greatest = kind is AggregateKind.MAX
            return _find_extreme(own, vector, is_greatest=is_greatest)
        case AggregateKind.COLLECT:
            return _collect(own, vector, weights)
        case AggregateKind.STDEV | AggregateKind.STDEVP:
            return _deviate(own, vector, weights, is_sample=kind is AggregateKind.STDEV)
        case _:
            raise CannotRun(f"{kind.value} in columns.")


def _count_different(vector: Numbers | Texts) -> int:
    """Return how many different values there are.

    PERF: flags are set in a table where it is not much longer than the rows, since many more fit
    into the processor's cache than values.
    """
    if isinstance(vector, Texts):
        return _count_codes(vector.codes, len(vector.strings))
    data = vector.data
    if not len(data):
        return 0
    low, high = float(data.min()), float(data.max())
    if vector.is_integer is True and high - low < len(data) * _WIDEST:
        return _count_codes((data - low).astype(np.intp), int(high - low) + 1)
    ordered = np.sort(data)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def _count_codes(codes: Integers, size: int) -> int:
    table = np.zeros(size, np.bool_)
    table[codes] = True
    return int(np.count_nonzero(table))


def count_present(vector: Vector | None, frame: Frame, groups: Groups) -> Vector:
    """Return the number of values of each group; `vector` None is for `count(*)`.

    PERF: without the values.
    """
    present = None if vector is None else _find_present(vector, frame.count)
    weights, members = frame.weights, groups.members
    if present is None:
        return Numbers(count_rows(groups, weights).astype(np.float64), True)
    if groups.count == 1 and weights is None:
        return Numbers(np.array([np.count_nonzero(present)], np.float64), True)
    own = Groups(groups.count, members[present], groups.firsts)
    counts = count_rows(own, None if weights is None else weights[present])
    return Numbers(counts.astype(np.float64), True)


def leave_out_nulls(vector: Vector, frame: Frame, groups: Groups) -> Present:
    """Return the values that are there."""
    vector, weights, members = simplify(vector), frame.weights, groups.members
    present = _find_present(vector, frame.count)
    if present is None:
        return Present(groups, vector, weights)
    places = _find_places(vector, present)
    vector = _drop_valid(simplify(take(_drop_valid(vector), cast("Rows", places))))
    weights = None if weights is None else weights[places]
    # PERF: one group has the number 0 in every row.
    members = members[: np.count_nonzero(present)] if groups.count == 1 else members[places]
    return Present(Groups(groups.count, members, groups.firsts), vector, weights)


def _find_places(vector: Vector, present: Bools) -> Bools | Integers:
    """Return what picks the values that are there.

    PERF: NumPy copies by flags what lies between them, which is faster where it is long.
    """
    if isinstance(vector, Numbers) and np.count_nonzero(present) * _DENSE > len(present):
        return present
    return np.flatnonzero(present)


def _drop_valid(vector: Vector) -> Vector:
    match vector:
        case Numbers():
            return Numbers(vector.data, vector.is_integer)
        case Texts():
            return Texts(vector.codes, vector.strings)
        case Times():
            return Times(vector.codes, vector.strings, vector.layout)
        case Truths():
            return Truths(vector.true)
        case Lists():
            return Lists(vector.starts, vector.sizes, vector.items)
        case Maps():
            return Maps(vector.members, None, vector.is_partial)
        case Paths():
            return Paths(vector.elements)
        case Entities():
            return Entities(vector.rows, vector.edges)
        case _:
            return vector


def count_rows(groups: Groups, weights: Integers | None) -> Integers:
    """Return the number of rows of each group."""
    if groups.count == 1:
        total = len(groups.members) if weights is None else add_up(weights)
        return np.array([total], np.int64)
    if weights is None:
        return groups.sizes
    return count_weighted(groups.members, weights, groups.count)


def _find_present(vector: Vector, count: int) -> Bools | None:
    match vector:
        case Constant():
            return np.zeros(count, np.bool_) if vector.value is None else None
        case Truths():
            return vector.known
        case Mixed(kinds=kinds):
            present: Bools = kinds != k.NULL
            return present
        case _:
            return vector.valid


def _collect(groups: Groups, vector: Vector, weights: Integers | None) -> Vector:
    """Make a list of the values of each group, in the order of the rows."""
    members = groups.members
    order: Integers = np.arange(len(members))
    if weights is not None:
        if add_up(weights) > MOST_ROWS:
            raise CannotRun("More rows than are held at once.")
        order = np.repeat(order, weights)
        members = members[order]
    if groups.count > 1:
        order = order[order_members(members, groups.count)]
    sizes = np.bincount(members, minlength=groups.count)
    return Lists(np.cumsum(sizes) - sizes, sizes, take(vector, order.astype(np.int32)))


# --- sums ---------------------------------------------------------------------------------------


def _read_numbers(vector: Vector, count: int) -> Numbers:
    match vector:
        case Numbers():
            return vector
        case Constant(value=value) if is_plain_number(value):
            return Numbers(np.full(count, float(value)), type(value) is int)
        case _ if not count:
            return Numbers(np.empty(0, np.float64), True)
        case _:
            raise CannotRun("An aggregate of what are no numbers.")


def add_numbers(groups: Groups, data: Floats, weights: Integers | None) -> Floats:
    """Return the sum of each group, with all digits that the exact sum has."""
    if not len(data):
        return np.zeros(groups.count)
    if weights is None:
        plain = _add_plainly(groups, data)
        if plain is not None:
            return plain
    return _add_exactly(groups, data, weights)


def _add_plainly(groups: Groups, data: Floats) -> Floats | None:
    """Add as the processor does, where no digits are lost that count."""
    if groups.count == 1:
        total = float(data.sum())
        # NOTE: NumPy adds in pairs, so that few digits are lost unless the sum is much smaller.
        sizes = total if float(data.min()) >= 0 else float(np.abs(data).sum())
        return np.array([total]) if sizes <= 100 * abs(total) < math.inf else None
    low, high = float(data.min()), float(data.max())
    largest = max(-low, high)
    if len(data) > _MANY * groups.count or largest > _LARGEST:
        return None
    totals = _count_up(groups, data)
    if low < 0 < high and not (groups.sizes * largest <= 100 * np.abs(totals)).all():
        return None
    return totals


def _add_exactly(groups: Groups, data: Floats, weights: Integers | None) -> Floats:
    """Add high and low digits apart: the sum of the high ones is exact."""
    largest = max(-float(data.min()), float(data.max()))
    rows = len(data) if weights is None else add_up(weights)
    if largest > _LARGEST / max(1, rows):
        raise CannotRun("A sum of very large numbers.")
    if not largest:
        return np.zeros(groups.count)
    bound = 2.0 ** math.ceil(math.log2(largest * max(1, rows)) + 1)
    high = (data + bound) - bound
    low = data - high
    if weights is not None:
        high, low = high * weights, low * weights
    if groups.count == 1:
        return np.array([high.sum() + low.sum()])
    return _count_up(groups, high) + _count_up(groups, low)


def _count_up(groups: Groups, data: Floats) -> Floats:
    found: Floats = np.bincount(groups.members, weights=data, minlength=groups.count)  # type: ignore[assignment]  # floats, with weights
    return found


def _sum(groups: Groups, vector: Vector, weights: Integers | None) -> Vector:
    numbers = _read_numbers(vector, len(groups.members))
    whole = numbers.is_integer
    if whole is True:
        _check_integers(numbers.data, weights)
    elif whole is not False:
        raise CannotRun("A sum of integers and floats.")
    totals = add_numbers(groups, numbers.data, weights)
    if whole is True:
        return Numbers(totals, True)
    # NOTE: the sum of nothing is the integer 0.
    filled = count_rows(groups, None) > 0
    return check_numbers(Numbers(totals, False if filled.all() else ~filled))


def _check_integers(data: Floats, weights: Integers | None) -> None:
    if not len(data):
        return
    largest = max(-float(data.min()), float(data.max()))
    if largest * (len(data) if weights is None else add_up(weights)) < k.LARGEST_INTEGER:
        return
    sizes = np.abs(data) if weights is None else np.abs(data) * weights
    if float(sizes.sum()) >= k.LARGEST_INTEGER:
        raise CannotRun("A large sum of integers.")


def _average(groups: Groups, vector: Vector, weights: Integers | None) -> Vector:
    numbers = _read_numbers(vector, len(groups.members))
    counts = count_rows(groups, weights)
    totals = add_numbers(groups, numbers.data, weights)
    filled = counts > 0
    means = totals / np.maximum(counts, 1)
    return check_numbers(Numbers(means, False, None if filled.all() else filled))


# --- extremes -----------------------------------------------------------------------------------


def _find_extreme(groups: Groups, vector: Vector, *, is_greatest: bool) -> Vector:
    match vector:
        case Constant(value=value):
            if value is None or not len(groups.members):
                return NULL
            filled = count_rows(groups, None) > 0
            return merge([(np.flatnonzero(filled), vector)], groups.count)
        case Numbers():
            return _find_extreme_number(groups, vector, is_greatest=is_greatest)
        case Texts():
            return _find_extreme_text(groups, vector, is_greatest=is_greatest)
        case Times():
            texts = Texts(vector.codes, vector.strings)
            found = _find_extreme_text(groups, texts, is_greatest=is_greatest)
            if not isinstance(found, Texts):
                return found
            return Times(found.codes, found.strings, vector.layout, found.valid)
        case Truths():
            best, valid = _reduce(groups, vector.true.astype(np.int8), is_greatest=is_greatest)
            return Truths(best > 0 if valid is None else (best > 0) & valid, valid)
        case Mixed():
            return _find_extreme_mixed(groups, vector, is_greatest=is_greatest)
        case _:
            raise CannotRun("The least of twins or relationships.")


def _find_extreme_number(groups: Groups, vector: Numbers, *, is_greatest: bool) -> Vector:
    whole = vector.is_integer
    best, valid = _reduce(groups, vector.data, is_greatest=is_greatest)
    if not len(vector.data):
        return NULL
    if isinstance(whole, bool):
        return Numbers(best, whole, valid)
    is_best = vector.data == best[groups.members]
    whole_best, _ = _reduce(groups, (is_best & whole).astype(np.int8), is_greatest=True)
    part_best, _ = _reduce(groups, (is_best & ~whole).astype(np.int8), is_greatest=True)
    if ((whole_best > 0) & (part_best > 0)).any():
        raise CannotRun("An integer and an equal float, of which the first counts.")
    return Numbers(best, whole_best > 0, valid)


def _find_extreme_text(groups: Groups, vector: Texts, *, is_greatest: bool) -> Vector:
    if not len(vector.codes):
        return NULL
    strings = vector.strings
    ranks = strings.rank(vector.codes)
    best, valid = _reduce(groups, ranks, is_greatest=is_greatest)
    if strings.is_ordered:
        return Texts(best.astype(np.int32), strings, valid)
    # NOTE: ranks are no codes once texts were added; any row with the best rank has the code.
    is_best = ranks == best[groups.members]
    codes = np.zeros(groups.count, np.int32)
    codes[groups.members[is_best]] = vector.codes[is_best]
    return Texts(codes, strings, valid)


def _find_extreme_mixed(groups: Groups, vector: Mixed, *, is_greatest: bool) -> Vector:
    """Find the extreme among the types that come last, or first: texts, booleans, numbers."""
    if (vector.kinds >= k.MAP).any():
        raise CannotRun("The least of lists, maps or large integers.")
    order = np.array((0, 2, 2, 3, 3, 1), np.int8)[vector.kinds]
    best, _ = _reduce(groups, order, is_greatest=is_greatest)
    is_first = order == best[groups.members]
    parts = []
    for each in (1, 2, 3):
        places = np.flatnonzero(is_first & (order == each))
        if len(places):
            own = Groups(groups.count, groups.members[places], groups.firsts)
            part = simplify(take(vector, places.astype(np.int32)))
            found = _find_extreme(own, part, is_greatest=is_greatest)
            filled = np.flatnonzero(count_rows(own, None) > 0)
            parts.append((filled, take(found, filled.astype(np.int32))))
    return merge(parts, groups.count)


def _reduce(
    groups: Groups, data: npt.NDArray[Any], *, is_greatest: bool
) -> tuple[npt.NDArray[Any], Bools | None]:
    """Return the extreme of each group, and which groups have one."""
    if not len(data):
        return np.zeros(groups.count, data.dtype), np.zeros(groups.count, np.bool_)
    if groups.count == 1:
        return np.array([data.max() if is_greatest else data.min()], data.dtype), None
    filled = count_rows(groups, None) > 0
    best = np.full(groups.count, data.min() if is_greatest else data.max(), data.dtype)
    (np.maximum if is_greatest else np.minimum).at(best, groups.members, data)
    return best, None if filled.all() else filled


# --- deviations and percentiles -----------------------------------------------------------------


def _deviate(
    groups: Groups, vector: Vector, weights: Integers | None, *, is_sample: bool
) -> Vector:
    numbers = _read_numbers(vector, len(groups.members))
    counts = count_rows(groups, weights)
    if len(numbers.data) and float(np.abs(numbers.data).max()) > 1e140:
        raise CannotRun("The deviation of very large numbers.")
    means = add_numbers(groups, numbers.data, weights) / np.maximum(counts, 1)
    distances = numbers.data - means[groups.members]
    squares = add_numbers(groups, distances * distances, weights)
    degrees = counts - 1 if is_sample else counts
    found = np.where(degrees > 0, np.sqrt(squares / np.maximum(degrees, 1)), 0.0)
    doubtful = (found > 0) & (found * _SPREAD < np.abs(means))
    if doubtful.any():
        # NOTE: the digits that are left of close values depend on the way they are added.
        low, _ = _reduce(groups, numbers.data, is_greatest=False)
        high, _ = _reduce(groups, numbers.data, is_greatest=True)
        if (doubtful & (low != high)).any():
            raise CannotRun("The deviation of values that are close together.")
        found[doubtful] = 0.0
    return check_numbers(Numbers(found, False))


def find_percentile(
    vector: Vector,
    wanted: Vector,
    frame: Frame,
    groups: Groups,
    *,
    distinct: bool,
    is_continuous: bool,
) -> Vector:
    """Return `percentileCont` or `percentileDisc` of each group; `wanted` is a constant."""
    present = leave_out_nulls(vector, frame, groups)
    own, vector, weights = present.groups, present.vector, present.weights
    if distinct:
        own, vector = keep_distinct(own, vector)
        weights = None
    if not len(own.members):
        return NULL
    part = wanted.value if isinstance(wanted, Constant) else None
    if isinstance(part, bool) or not isinstance(part, int | float) or not 0 <= part <= 1:
        raise CannotRun("A percentile that is none, or differs from row to row.")
    numbers = _read_numbers(vector, len(own.members))
    if not isinstance(numbers.is_integer, bool):
        raise CannotRun("A percentile of integers and floats.")
    data, members = numbers.data, own.members
    if weights is not None:
        if add_up(weights) > MOST_ROWS:
            raise CannotRun("More rows than are held at once.")
        data, members = np.repeat(data, weights), np.repeat(members, weights)
    ordered = np.sort(data) if groups.count == 1 else _sort_groups(data, members, groups.count)
    counts = np.bincount(members, minlength=groups.count)
    starts = np.cumsum(counts) - counts
    filled = counts > 0
    valid = None if filled.all() else filled
    last = np.maximum(counts - 1, 0)
    if not is_continuous:
        places = np.clip(np.ceil(part * counts).astype(np.int64) - 1, 0, last)
        return Numbers(_pick(ordered, starts + places), numbers.is_integer, valid)
    position = part * last
    below = np.floor(position)
    low = _pick(ordered, starts + below.astype(np.int64))
    high = _pick(ordered, starts + np.ceil(position).astype(np.int64))
    found = np.where(low == high, low, low + (high - low) * (position - below))
    return check_numbers(Numbers(found, False, valid))


def _sort_groups(data: Floats, members: Integers, count: int) -> Floats:
    """Return the values of the first group in order, then those of the next one, and so on."""
    if count > _FEW_GROUPS:
        return data[np.lexsort((data, members))]
    # PERF: numbers of 16 bits are sorted by their digits.
    ordered = data[np.argsort(members.astype(np.uint16), kind="stable")]
    ends = np.cumsum(np.bincount(members, minlength=count)).tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        ordered[start:end].sort()
    return ordered


def _pick(ordered: Floats, places: Integers) -> Floats:
    found: Floats = ordered[np.minimum(places, len(ordered) - 1)]
    return found
