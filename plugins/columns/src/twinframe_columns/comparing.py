"""Comparisons, memberships and tests of texts on vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from twinframe.query.algebra import MIRRORED, BinaryOperator
from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.kinds import Bools, Codes, Floats
from twinframe_columns.merging import unify, widen
from twinframe_columns.texts import test_pieces
from twinframe_columns.times import as_texts, is_temporal, rank_constant
from twinframe_columns.vectors import (
    NULL,
    Constant,
    Entities,
    Mixed,
    Numbers,
    Pieces,
    Texts,
    Times,
    Truths,
    Vector,
    build_truths,
    is_null,
    is_plain_number,
    join_valid,
    read_rows,
    simplify,
)

Compare: TypeAlias = Callable[[Any, Any], Any]

_COMPARE: Final[dict[BinaryOperator, Compare]] = {
    BinaryOperator.EQUAL: np.equal,
    BinaryOperator.NOT_EQUAL: np.not_equal,
    BinaryOperator.LESS: np.less,
    BinaryOperator.LESS_EQUAL: np.less_equal,
    BinaryOperator.GREATER: np.greater,
    BinaryOperator.GREATER_EQUAL: np.greater_equal,
}
_IS_EQUALITY: Final = frozenset((BinaryOperator.EQUAL, BinaryOperator.NOT_EQUAL))
_SCALARS: Final = (bool, int, float, str)


def compare(operator: BinaryOperator, left: Vector, right: Vector, count: int) -> Truths:
    """`left operator right` for the operators of `MIRRORED`."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Pieces) and isinstance(other, Constant) and type(other.value) is str:
            tested = test_pieces(operator, one, other.value)  # NOTE: (un)equality has no sides
            if tested is not None:
                return tested
    left, right = simplify(left), simplify(right)
    if left == NULL or right == NULL:
        return Truths(np.zeros(count, np.bool_), np.zeros(count, np.bool_))
    if isinstance(left, Constant) and not isinstance(right, Constant):
        return compare(MIRRORED[operator], right, left, count)
    if isinstance(left, Times) and isinstance(right, Constant) and is_temporal(right.value):
        return _compare_time(operator, left, right)
    if isinstance(left, Times) and isinstance(right, Times) and left.layout != right.layout:
        raise CannotRun("A comparison of times of several layouts.")
    left, right = as_texts(left), as_texts(right)  # as which they compare with texts, too
    if isinstance(right, Constant):
        found = _compare_constant(operator, left, right.value)
        if found is not None:
            return found
    match left, right:
        case Numbers(), Numbers():
            known = join_valid(left.valid, right.valid)
            return build_truths(_COMPARE[operator](left.data, right.data), known)
        case Texts(), Texts() if left.strings is right.strings:
            known = join_valid(left.valid, right.valid)
            ranks = left.strings.rank(left.codes), left.strings.rank(right.codes)
            return build_truths(_COMPARE[operator](*ranks), known)
        case Entities(), Entities():
            return _compare_entities(operator, left, right)
        case Entities(), Constant():
            return _compare_entity_constant(operator, left, right.value, count)
        case _:
            return _compare_mixed(operator, widen(left, count), widen(right, count))


def _compare_time(operator: BinaryOperator, left: Times, right: Constant) -> Truths:
    rank = rank_constant(left, right)
    if rank is None:
        return _differ(operator, ~is_null(left, len(left.codes)))
    ranks = left.strings.rank(left.codes)
    return build_truths(_compare_ranks(operator, ranks, rank), left.valid)


def _compare_ranks(operator: BinaryOperator, ranks: Floats | Codes, rank: float) -> Bools:
    """Compare numbers in the order of texts with one that may lie between two.

    PERF: codes are compared with an integer, so that they need not become floats first.
    """
    true: Bools
    if ranks.dtype == np.float64:
        true = _COMPARE[operator](ranks, rank)
    elif rank.is_integer():
        true = _COMPARE[operator](ranks, int(rank))
    elif operator in _IS_EQUALITY:
        true = np.full(len(ranks), operator is BinaryOperator.NOT_EQUAL)
    elif operator in (BinaryOperator.LESS, BinaryOperator.LESS_EQUAL):
        true = ranks < math.ceil(rank)
    else:
        true = ranks >= math.ceil(rank)
    return true


def _compare_entities(operator: BinaryOperator, left: Entities, right: Entities) -> Truths:
    if operator not in _IS_EQUALITY or left.edges != right.edges:
        raise CannotRun("A comparison of twins with relationships, or their order.")
    known = join_valid(left.valid, right.valid)
    return build_truths(_COMPARE[operator](read_rows(left.rows), read_rows(right.rows)), known)


def _compare_entity_constant(
    operator: BinaryOperator, left: Entities, value: Any, count: int
) -> Truths:
    """A twin is unequal to every scalar, and in no order with it."""
    if not isinstance(value, _SCALARS):
        raise CannotRun("A comparison of a twin with a list or map.")
    return _differ(operator, ~is_null(left, count))


def _differ(operator: BinaryOperator, valid: Bools) -> Truths:
    """Compare values of types that are never equal, and in no order."""
    nothing = np.zeros(len(valid), np.bool_)
    if operator not in _IS_EQUALITY:
        return Truths(nothing, nothing)
    return Truths(valid if operator is BinaryOperator.NOT_EQUAL else nothing, valid)


def _compare_constant(operator: BinaryOperator, left: Vector, value: Any) -> Truths | None:
    """Compare with a constant where that is faster than in general."""
    match left:
        case Numbers() if is_plain_number(value):
            return build_truths(_COMPARE[operator](left.data, value), left.valid)
        case Texts() if isinstance(value, str):
            return build_truths(_compare_texts(operator, left, value), left.valid)
        case Truths() if isinstance(value, bool):
            return build_truths(_COMPARE[operator](left.true, value), left.known)
        case Mixed() if isinstance(value, str):
            same = left.kinds == k.STRING
            true = same
            if left.codes is not None and left.strings is not None:
                true = same & _compare_texts(operator, Texts(left.codes, left.strings), value)
            return _extend(operator, true, same, left.kinds != k.NULL)
        case Mixed() if is_plain_number(value) and left.numbers is not None:
            same = (left.kinds == k.INTEGER) | (left.kinds == k.FLOAT)
            is_exact = operator in _IS_EQUALITY and abs(value) < k.LARGEST_INTEGER
            if not is_exact and (left.kinds == k.OTHER).any():
                raise CannotRun("A list or a large integer.")
            true = same & _COMPARE[operator](left.numbers, value)
            return _extend(operator, true, same, left.kinds != k.NULL)
        case _:
            return None


def _extend(operator: BinaryOperator, true: Bools, same: Bools, known: Bools) -> Truths:
    """Return the truths of rows that are of the other side's type, and of those that are not."""
    if operator is BinaryOperator.EQUAL:
        return Truths(true, known)
    if operator is BinaryOperator.NOT_EQUAL:
        return Truths(true | (known & ~same), known)
    return Truths(true, same)


def _compare_texts(operator: BinaryOperator, left: Texts, value: str) -> Bools:
    if operator in _IS_EQUALITY:
        code = left.strings.find(value)
        true: Bools = _COMPARE[operator](left.codes, code)
        return true
    rank, _ = left.strings.rank_text(value)
    return _compare_ranks(operator, left.strings.rank(left.codes), rank)


def _compare_mixed(operator: BinaryOperator, left: Mixed, right: Mixed) -> Truths:
    """Compare row by row values of any types but lists and maps with each other."""
    apply = _COMPARE[operator]
    true = np.zeros(len(left.kinds), np.bool_)
    same = np.zeros(len(left.kinds), np.bool_)
    groups = _group_kinds(left.kinds), _group_kinds(right.kinds)
    _check_unlike(operator, left, right, groups)
    both = groups[0] == groups[1]
    truths = both & (groups[0] == _TRUTH)
    if truths.any():
        same |= truths
        true |= truths & apply(left.kinds, right.kinds)
    numbers = both & (groups[0] == _NUMBER)
    if numbers.any() and left.numbers is not None and right.numbers is not None:
        same |= numbers
        true |= numbers & apply(left.numbers, right.numbers)
    texts = both & (groups[0] == _TEXT)
    if texts.any():
        strings, (one, other) = unify((left, right))
        if strings is not None and one is not None and other is not None:
            same |= texts
            true |= texts & apply(strings.rank(one), strings.rank(other))
    return _extend(operator, true, same, (left.kinds != k.NULL) & (right.kinds != k.NULL))


_TRUTH: Final = 1
_NUMBER: Final = 2
_TEXT: Final = 3
_MAP: Final = 4
_OTHER: Final = 5
_GROUPS: Final = np.array(
    (0, _TRUTH, _TRUTH, _NUMBER, _NUMBER, _TEXT, _MAP, _OTHER), dtype=np.uint8
)
"""By kind, what is compared with its like."""


def _group_kinds(kinds: k.Bytes) -> k.Bytes:
    return _GROUPS[kinds]


def _check_unlike(
    operator: BinaryOperator, left: Mixed, right: Mixed, groups: tuple[k.Bytes, k.Bytes]
) -> None:
    """Raise `CannotRun` for rows whose comparison needs the values of lists, maps or large
    integers.
    """
    for own, other, values in ((groups[0], groups[1], right), (groups[1], groups[0], left)):
        if ((own >= _MAP) & (other >= _MAP)).any():
            raise CannotRun("A comparison of lists, maps or large integers.")
        doubtful = (own == _OTHER) & (other == _NUMBER)
        if operator in _IS_EQUALITY and values.numbers is not None:
            # NOTE: an integer that no float holds equals no smaller number.
            doubtful &= np.abs(values.numbers) >= k.LARGEST_INTEGER
        if doubtful.any():
            raise CannotRun("A comparison of a list or a large integer.")


# --- texts --------------------------------------------------------------------------------------


def test_text(operator: BinaryOperator, left: Vector, text: Any, count: int) -> Truths:
    """`STARTS WITH`, `ENDS WITH` and `CONTAINS` with a constant; what is no text gives null."""
    if isinstance(left, Pieces) and isinstance(text, str):
        tested = test_pieces(operator, left, text)
        if tested is not None:
            return tested
    nothing = np.zeros(count, np.bool_)
    left = as_texts(simplify(left))
    if left == NULL or not isinstance(text, str) or isinstance(left, Numbers | Truths | Entities):
        return Truths(nothing, nothing)
    valid: Bools | None
    match left:
        case Texts():
            codes, strings, valid = left.codes, left.strings, left.valid
        case Mixed() if left.codes is not None and left.strings is not None:
            codes, strings, valid = left.codes, left.strings, left.kinds == k.STRING
        case Mixed():
            return Truths(nothing, nothing)
        case _:
            raise CannotRun("A test of what is no text.")
    if operator is BinaryOperator.STARTS_WITH:
        low, high, added = strings.test_prefix(text)
        true = (codes >= low) & (codes < high)
        if added:
            true |= np.isin(codes, added)
    elif operator is BinaryOperator.CONTAINS:
        true = strings.test_containing(text)[codes]
    else:
        true = strings.test_suffix(text)[codes]
    return build_truths(true, valid)


# --- membership -----------------------------------------------------------------------------------


def test_in(left: Vector, values: Any, count: int) -> Truths:
    """`left IN [constants]`."""
    left = as_texts(simplify(left))
    if not isinstance(values, list):
        if values is None:
            return Truths(np.zeros(count, np.bool_), np.zeros(count, np.bool_))
        raise CannotRun("IN with what is no list.")
    if not values:
        return Truths(np.zeros(count, np.bool_))
    if left == NULL:
        return Truths(np.zeros(count, np.bool_), np.zeros(count, np.bool_))
    if isinstance(left, Entities):
        true, known = np.zeros(count, np.bool_), ~is_null(left, count)
        if not all(one is None or isinstance(one, _SCALARS) for one in values):
            raise CannotRun("A twin among lists or maps.")
    else:
        mixed = widen(left, count)
        true, known = _find_members(mixed, values), mixed.kinds != k.NULL
    if None in values:  # with a null among them nothing is certainly absent
        known = known & true
    return Truths(true & known, known)


def _find_members(left: Mixed, values: list[Any]) -> Bools:
    kinds = left.kinds
    numbers = [one for one in values if type(one) in (int, float)]
    nested = any(isinstance(one, list | dict) for one in values)
    if not all(one is None or isinstance(one, (*_SCALARS, list, dict)) for one in values):
        raise CannotRun("IN with values of other types.")
    if (nested and (kinds >= k.MAP).any()) or (
        (kinds == k.OTHER).any() and not all(abs(one) < k.LARGEST_INTEGER for one in numbers)
    ):
        raise CannotRun("IN with lists, maps or large integers.")
    true = np.zeros(len(kinds), np.bool_)
    # NOTE: a large integer that a float holds equals that float, others equal no float.
    floats = [float(one) for one in numbers if one == _make_float(one)]
    if floats and left.numbers is not None:
        true |= np.isin(left.numbers, floats) & ((kinds == k.INTEGER) | (kinds == k.FLOAT))
    if left.codes is not None and left.strings is not None:
        codes = [left.strings.find(one) for one in values if isinstance(one, str)]
        codes = [code for code in codes if code >= 0]
        if codes:
            true |= np.isin(left.codes, codes) & (kinds == k.STRING)
    for value, kind in ((False, k.FALSE), (True, k.TRUE)):
        if any(one is value for one in values):
            true |= kinds == kind
    return true


def _make_float(number: float) -> float | None:
    try:
        return float(number)
    except OverflowError:
        return None
