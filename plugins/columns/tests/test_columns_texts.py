"""Functions of all texts of a column at once give what Python gives for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.query.algebra import BinaryOperator
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.run import Run
from twinframe.query.evaluate.text import matches
from twinframe.query.reader import EmptyReader
from twinframe_columns.heap import Heap
from twinframe_columns.merging import build_vector
from twinframe_columns.strings import build_strings
from twinframe_columns.texts import apply_text_function, join_texts
from twinframe_columns.texts import test_pattern as match_texts
from twinframe_columns.texts import test_pieces as compare_pieces
from twinframe_columns.values import read_scalars
from twinframe_columns.vectors import Constant, Numbers, Pieces, Texts, Truths

# NOTE: texts like those of a column that only has ASCII, and of one that has not.
plain = st.text("abAB \t1-", max_size=12)
texts = st.lists(st.one_of(st.none(), plain), min_size=1) | st.lists(
    st.one_of(st.none(), st.text(max_size=12), plain), min_size=1
)
counts = st.integers(0, 13)
FUNCTIONS: dict[str, tuple[Callable[..., Any], st.SearchStrategy[Any]]] = {
    "toLower": (lambda one: one.lower(), st.just(())),
    "toUpper": (lambda one: one.upper(), st.just(())),
    "trim": (lambda one: one.strip(), st.just(())),
    "lTrim": (lambda one: one.lstrip(), st.just(())),
    "rTrim": (lambda one: one.rstrip(), st.just(())),
    "reverse": (lambda one: one[::-1], st.just(())),
    "toString": (lambda one: one, st.just(())),
    "size": (len, st.just(())),
    "isEmpty": (lambda one: not one, st.just(())),
    "left": (lambda one, count: one[:count], st.tuples(counts)),
    "right": (lambda one, count: one[max(0, len(one) - count) :], st.tuples(counts)),
    "substring": (
        lambda one, first, count=2**63 - 1: one[first : first + count],
        st.tuples(counts) | st.tuples(counts, counts),
    ),
    "replace": (
        lambda one, old, new: one.replace(old, new) if old else one,
        st.tuples(st.text("abA1é", max_size=2), st.text("ab", max_size=2)),
    ),
}
TESTS: dict[BinaryOperator, Callable[[str, str], bool]] = {
    BinaryOperator.STARTS_WITH: str.startswith,
    BinaryOperator.ENDS_WITH: str.endswith,
    BinaryOperator.CONTAINS: lambda one, other: other in one,
    BinaryOperator.EQUAL: lambda one, other: one == other,
    BinaryOperator.NOT_EQUAL: lambda one, other: one != other,
}


def build(values: Sequence[str | None], late: int) -> Texts | None:
    """A column of these values, of which the last `late` different ones were added later."""
    known = sorted({one for one in values if one is not None})
    if not known:
        return None
    split = len(known) - min(late, len(known))
    strings = build_strings([one.encode() for one in known[:split]])
    codes = [0 if one is None else strings.find_or_add(one) for one in values]
    valid = np.array([one is not None for one in values])
    return Texts(np.array(codes, np.int32), strings, None if valid.all() else valid)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(values=texts, data=st.data(), late=st.integers(0, 3))
def test_functions_of_texts(
    name: str, values: list[str | None], data: st.DataObject, late: int
) -> None:
    function, drawn = FUNCTIONS[name]
    vector, constants = build(values, late), data.draw(drawn)
    if vector is None:
        return
    found = apply_text_function(name, [vector, *map(Constant, constants)])
    assert isinstance(found, Pieces | Numbers | Truths)
    expected = [None if one is None else function(one, *constants) for one in values]
    assert read_scalars(found, len(values)) == expected


@given(values=texts, other=st.text("abB é", max_size=3), late=st.integers(0, 3), data=st.data())
def test_pieces_of_texts_are_tested_and_ordered_as_texts(
    values: list[str | None], other: str, late: int, data: st.DataObject
) -> None:
    vector, first = build(values, late), data.draw(counts)
    if vector is None:
        return
    cut = apply_text_function("substring", [vector, Constant(first), Constant(6)])
    assert isinstance(cut, Pieces)
    pieces = apply_text_function("toLower", [cut])
    assert isinstance(pieces, Pieces)
    expected = [None if one is None else one[first : first + 6].lower() for one in values]
    for operator, holds in TESTS.items():
        tested = compare_pieces(operator, pieces, other)
        assert tested is not None
        wanted = [None if one is None else holds(one, other) for one in expected]
        assert read_scalars(tested, len(values)) == wanted, operator
    ordered = pieces.sort()
    ranks = ordered.strings.rank(ordered.codes).tolist()
    for one, rank in zip(expected, ranks, strict=True):
        for another, least in zip(expected, ranks, strict=True):
            if one is not None and another is not None:
                assert (one < another) is (rank < least)
                assert (one == another) is (rank == least)


@given(values=texts, text=st.text(max_size=3))
def test_a_constant_text_is_joined_on_either_side(values: list[str | None], text: str) -> None:
    vector = build(values, 0)
    if vector is None:
        return
    before, after = join_texts(Constant(text), vector), join_texts(vector, Constant(text))
    assert before is not None
    assert after is not None
    count = len(values)
    assert read_scalars(before, count) == [None if one is None else text + one for one in values]
    assert read_scalars(after, count) == [None if one is None else one + text for one in values]


@given(rows=st.lists(st.tuples(st.none() | plain, st.none() | st.text(max_size=3)), min_size=1))
def test_texts_are_joined_row_by_row(rows: list[tuple[str | None, str | None]]) -> None:
    count = len(rows)
    left, right = (build([row[at] for row in rows], 1) for at in (0, 1))
    if left is None or right is None:
        return
    with patch("twinframe_columns.texts._FEW", 0):
        found = join_texts(left, right)
    assert isinstance(found, Pieces)
    assert read_scalars(found, count) == [
        None if one is None or other is None else one + other for one, other in rows
    ]


@pytest.mark.parametrize(
    "pattern",
    ["ab", "ab.*", ".*ab", ".*ab.*", "(?i)AB", "(?i).*aB.*", "(?i)aB.*", ".*1- a"],
)
@given(values=texts)
def test_simple_patterns_match_as_all_others(pattern: str, values: list[str | None]) -> None:
    vector = build(values, 1)
    if vector is None:
        return
    found = match_texts(vector, Constant(pattern))
    if found is None:
        return
    run = Run(EmptyReader(), {}, Limits())
    assert read_scalars(found, len(values)) == [matches(one, pattern, run) for one in values]


def test_which_patterns_are_simple() -> None:
    vector = build_vector(["Room 1", "room 2"])
    for pattern in ("Room 1", ".*1", "Room.*", ".*oom.*", "(?i)ROOM.*"):
        assert match_texts(vector, Constant(pattern)) is not None
    for pattern in (
        "Room.1",
        "R+",
        "[R]oom.*",
        "Room|1",
        "Room$",
        "^Room",
        "(?s).*a",
        "é",
        "",
        ".*",
    ):
        assert match_texts(vector, Constant(pattern)) is None


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        *(("left", (-1,)), ("left", ("1",)), ("left", (True,)), ("left", ()), ("left", (None,))),
        *(("substring", (1, -1)), ("replace", ("a", 1)), ("replace", ("a",)), ("size", (1,))),
        *(("toLower", (1,)), ("split", (",",)), ("replace", ("a", "x" * 2_000))),
    ],
)
def test_what_is_an_error_or_needs_more_is_left_to_the_evaluator(
    name: str, constants: tuple[Any, ...]
) -> None:
    assert apply_text_function(name, [build_vector(["a"]), *map(Constant, constants)]) is None


def test_a_row_of_few_texts_of_many_copies_only_these() -> None:
    names = [f"Name {at:04}" for at in range(1_000)]
    vector = build(names, 0)
    assert vector is not None
    few = Texts(vector.codes[10:20], vector.strings)
    found = apply_text_function("toUpper", [few])
    assert isinstance(found, Pieces)
    assert len(found.heap) == 10
    assert read_scalars(found, 10) == [one.upper() for one in names[10:20]]


def test_a_zero_byte_is_a_character() -> None:
    heap = Heap(np.array([0, 1, 3, 4]), np.array([1, 2, 1, 0]), np.frombuffer(b"aa\0a", np.uint8))
    strings, codes = heap.ordered
    assert strings.read_all(np.arange(len(strings))) == ["", "a", "a\0"]
    assert codes.tolist() == [1, 2, 1, 0]
