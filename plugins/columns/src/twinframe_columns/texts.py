"""Compiles functions of one text to operations on all texts of a column at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from twinframe.query.algebra import BinaryOperator
from twinframe_columns.heap import Heap, join_heaps, read_heap
from twinframe_columns.kinds import Bools
from twinframe_columns.vectors import (
    Constant,
    Mixed,
    Numbers,
    Pieces,
    Texts,
    Truths,
    Vector,
    build_truths,
    join_valid,
    narrow,
)

_MOST: Final = 2**62
_FEW: Final = 5_000
_LONGEST: Final = 1_000
"""Characters that replace others: the evaluator bounds the size of longer results."""

_Apply = Callable[..., Heap]


def _replace(heap: Heap, old: str, new: str) -> Heap:
    return heap.change(lambda text: text.replace(old, new)) if old else heap


def _cut(heap: Heap, first: int, count: int = _MOST) -> Heap:
    return heap.cut(first, min(count, _MOST))


_FUNCTIONS: Final[dict[str, tuple[_Apply, tuple[type, ...], int]]] = {
    "toLower": (Heap.lower, (), 0),
    "toUpper": (Heap.upper, (), 0),
    "trim": (lambda heap: heap.change(str.strip), (), 0),
    "lTrim": (lambda heap: heap.change(str.lstrip), (), 0),
    "rTrim": (lambda heap: heap.change(str.rstrip), (), 0),
    "reverse": (lambda heap: heap.change(lambda text: text[::-1]), (), 0),
    "toString": (lambda heap: heap, (), 0),
    "left": (lambda heap, count: _cut(heap, 0, count), (int,), 1),
    "right": (lambda heap, count: heap.cut_right(min(count, _MOST)), (int,), 1),
    "substring": (_cut, (int, int), 1),
    "replace": (_replace, (str, str), 2),
}
"""The operation, the types of the constants after the text, and how many of these there are at
least.
"""

_TESTS: Final[dict[BinaryOperator, Callable[[Heap, str], Bools]]] = {
    BinaryOperator.STARTS_WITH: Heap.test_prefix,
    BinaryOperator.ENDS_WITH: Heap.test_suffix,
    BinaryOperator.CONTAINS: Heap.test_containing,
    BinaryOperator.EQUAL: Heap.test_equal,
}


def apply_text_function(name: str, vectors: Sequence[Vector]) -> Vector | None:
    """Return a function of texts; None for other functions and values."""
    if not vectors or not all(isinstance(one, Constant) for one in vectors[1:]):
        return None
    pieces = read_pieces(vectors[0])
    if pieces is None:
        return None
    if len(vectors) == 1:
        if name == "size":
            counts = pieces.heap.count_characters().astype(np.float64)
            return Numbers(_pick(counts, pieces), True, pieces.valid)
        if name == "isEmpty":
            return build_truths(_pick(pieces.heap.sizes == 0, pieces), pieces.valid)
    apply, types, least = _FUNCTIONS.get(name, (None, (), 0))
    constants = [one.value for one in vectors[1:] if isinstance(one, Constant)]
    if apply is None or not least <= len(constants) <= len(types):
        return None
    if not all(map(_is_fit, constants, types)):
        return None
    return Pieces(pieces.numbers, apply(pieces.heap, *constants), pieces.valid)


def _is_fit(value: Any, wanted: type[Any]) -> bool:
    """Whether a constant is of the type that a function takes; others are errors."""
    if type(value) is not wanted:
        return False
    is_fit: bool = value >= 0 if wanted is int else len(value) <= _LONGEST
    return is_fit


def read_pieces(vector: Vector) -> Pieces | None:
    """Return texts with those that no row has; None for values of which some are no texts."""
    vector = narrow(vector) if isinstance(vector, Mixed) else vector
    if isinstance(vector, Pieces):
        return vector
    if not isinstance(vector, Texts) or not len(vector.strings):
        return None
    codes = vector.codes
    if vector.valid is not None and len(codes):
        # NOTE: any text that some row has stands for null.
        codes = np.where(vector.valid, codes, codes[np.argmax(vector.valid)])
    heap, numbers = read_heap(vector.strings, codes)
    return Pieces(numbers, heap, vector.valid)


def _pick(values: Any, pieces: Pieces) -> Any:
    """Return what each row has of what each text has."""
    numbers = pieces.numbers
    if pieces.valid is not None:
        numbers = np.where(pieces.valid, numbers, 0)
    return values[numbers]


def join_texts(left: Vector, right: Vector) -> Vector | None:
    """Return texts behind one another; None for other values, and for few different ones."""
    if not isinstance(left, Constant) and not isinstance(right, Constant):
        return _join_pieces(left, right)
    match left, right:
        case Constant(value=str() as text), _ if len(text) <= _LONGEST:
            pieces = read_pieces(right)
            change = lambda own: text + own  # noqa: E731  # as below
        case _, Constant(value=str() as text) if len(text) <= _LONGEST:
            pieces = read_pieces(left)
            change = lambda own: own + text  # noqa: E731  # as above
        case _:
            return None
    if pieces is None:
        return None
    return Pieces(pieces.numbers, pieces.heap.change(change), pieces.valid)


def _count_different(vector: Vector) -> int:
    match vector:
        case Texts():
            return len(vector.strings)
        case Pieces():
            return len(vector.heap)
        case _:
            return 0


def _join_pieces(left: Vector, right: Vector) -> Pieces | None:
    if _count_different(left) * _count_different(right) < _FEW:
        return None
    one, other = read_pieces(left), read_pieces(right)
    if one is None or other is None:
        return None
    valid = join_valid(one.valid, other.valid)
    places = slice(None) if valid is None else np.flatnonzero(valid)
    numbers = np.zeros(len(one.numbers), np.int32)
    heap = join_heaps(one.heap, one.numbers[places], other.heap, other.numbers[places])
    numbers[places] = np.arange(len(heap), dtype=np.int32)
    return Pieces(numbers, heap, valid)


_SIMPLE: Final = re.compile(r"(\(\?i\))?(\.\*)?([\w ,:;/@%&=<>~'\"-]+)(\.\*)?", re.ASCII)
"""Regular expressions that ask for a text at the beginning, at the end or anywhere."""

_NEWLINE: Final = 10


def test_pattern(left: Vector, right: Vector) -> Truths | None:
    """`=~` with a regular expression that is a simpler test; None for all others."""
    pattern = right.value if isinstance(right, Constant) else None
    found = _SIMPLE.fullmatch(pattern) if isinstance(pattern, str) else None
    pieces = None if found is None else read_pieces(left)
    if found is None or pieces is None or (pieces.heap.blob == _NEWLINE).any():
        return None
    is_any_case, before, text, after = found.groups()
    if is_any_case:
        if not pieces.heap.is_ascii:
            return None
        pieces, text = Pieces(pieces.numbers, pieces.heap.lower(), pieces.valid), text.lower()
    operator = BinaryOperator.EQUAL
    if before:
        operator = BinaryOperator.CONTAINS if after else BinaryOperator.ENDS_WITH
    elif after:
        operator = BinaryOperator.STARTS_WITH
    return test_pieces(operator, pieces, text)


def test_pieces(operator: BinaryOperator, pieces: Pieces, text: str) -> Truths | None:
    """Compare with a constant text without an order of all others; None where that is needed."""
    is_unequal = operator is BinaryOperator.NOT_EQUAL
    test = _TESTS.get(BinaryOperator.EQUAL if is_unequal else operator)
    if test is None:
        return None
    found = test(pieces.heap, text)
    return build_truths(_pick(~found if is_unequal else found, pieces), pieces.valid)
