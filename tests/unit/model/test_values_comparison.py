"""The laws of equality, equivalence and order, and the tables of openCypher."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.model.comparison import (
    build_equivalence_key,
    build_order_key,
    equals,
    is_less,
    is_less_or_equal,
)
from twinframe.model.values import Node, Path, Relationship

NAN = math.nan


def is_equivalent(left: Any, right: Any) -> bool:
    return build_equivalence_key(left) == build_equivalence_key(right)


NODES = st.builds(Node, st.sampled_from("abc"), st.just({}))
RELATIONSHIPS = st.builds(
    Relationship,
    st.sampled_from("ab"),
    st.sampled_from("xy"),
    st.just("c"),
    st.just("knows"),
    st.just({}),
)
PATHS = st.builds(
    lambda first, crossed, last: Path((first, last), (crossed,)), NODES, RELATIONSHIPS, NODES
)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.sampled_from([2**53, 2**53 + 1, float(2**53), 0.0, -0.0]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=3))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(SCALARS, NODES, RELATIONSHIPS, PATHS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("kl"), inner, max_size=2)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0.0, False),
        (None, None, None),
        (None, 1, None),
        ("1", 1, False),
        (2**53, float(2**53), True),
        (2**53 + 1, float(2**53), False),
        (NAN, NAN, False),
        ({}, {}, True),
        ({}, {"k": None}, False),
        ({"k": 1}, {"k": 1, "l": None}, False),
        ({"k": None}, {"k": None}, None),
        ({"k": 1, "l": None}, {"k": 1, "l": 1}, None),
        ({"k": 1, "l": None}, {"k": 2, "l": 1}, False),
        ([1, 2], [1.0, 2], True),
        ([1], [1, None], False),
        ([1, None], [1, 2], None),
        ([None, 1], [2, 3], False),
        ([], {}, False),
        (Node("a", {"x": 1}), Node("a", {}), True),
        (Node("a", {}), Node("b", {}), False),
    ],
)
def test_equality_is_three_valued(left: Any, right: Any, expected: bool | None) -> None:
    assert equals(left, right) is expected
    assert equals(right, left) is expected


@pytest.mark.parametrize(
    ("left", "right", "less", "less_or_equal"),
    [
        (1, 2, True, True),
        (1, 1.0, False, True),
        (2**53, float(2**53) + 2, True, True),
        ("a", "b", True, True),
        (False, True, True, True),
        (True, 2, None, None),
        ("1", 1, None, None),
        (NAN, 1, False, False),
        (NAN, NAN, False, False),
        (NAN, "a", None, None),
        (None, 1, None, None),
        ([1], [1, 0], True, True),
        ([1, 2], [1, None], None, None),
        ([1, 2], [3, None], True, True),
        ([1], [1], False, True),
        ({"a": 1}, {"a": 2}, None, None),
    ],
)
def test_values_of_one_type_compare_and_others_are_unknown(
    left: Any, right: Any, less: bool | None, less_or_equal: bool | None
) -> None:
    assert is_less(left, right) is less
    assert is_less_or_equal(left, right) is less_or_equal


def test_order_across_types_is_the_one_of_the_specification() -> None:
    node, relationship = Node("n", {}), Relationship("n", "r", "n", "t", {})
    expected = [
        {"a": "map"},
        node,
        relationship,
        [],
        ["a"],
        ["a", 1],
        [1],
        [None],
        Path((node,), ()),
        "",
        "text",
        False,
        True,
        -math.inf,
        1,
        1.5,
        math.inf,
        NAN,
        None,
    ]
    shuffled = expected[1::2] + expected[::2]
    assert sorted(shuffled, key=build_order_key) == expected


def test_distinct_takes_nulls_and_nans_as_one_and_booleans_never_as_numbers() -> None:
    assert is_equivalent(None, None)
    assert is_equivalent(NAN, -NAN)
    assert is_equivalent([1, None], [1.0, None])
    assert not is_equivalent(True, 1)
    assert not is_equivalent([False], [0])
    assert not is_equivalent([], {})


@given(VALUES)
def test_every_value_is_equivalent_to_itself(value: Any) -> None:
    assert is_equivalent(value, value)
    assert hash(build_equivalence_key(value)) == hash(build_equivalence_key(value))


@given(VALUES, VALUES)
def test_order_agrees_with_equivalence(left: Any, right: Any) -> None:
    one, other = build_order_key(left), build_order_key(right)
    assert (one == other) is is_equivalent(left, right)
    assert (one < other) + (other < one) + (one == other) == 1


@given(VALUES, VALUES, VALUES)
def test_order_is_transitive(left: Any, middle: Any, right: Any) -> None:
    first, second, third = sorted((left, middle, right), key=build_order_key)
    assert build_order_key(first) <= build_order_key(second) <= build_order_key(third)
    assert build_order_key(first) <= build_order_key(third)


@given(VALUES, VALUES)
def test_equal_values_are_equivalent_and_unequal_ones_are_not(left: Any, right: Any) -> None:
    same = equals(left, right)
    assert same is equals(right, left)
    if same is True:
        assert is_equivalent(left, right)


@given(NUMBERS, NUMBERS)
def test_less_on_numbers_is_the_order_but_for_nan(left: Any, right: Any) -> None:
    if left == left and right == right:
        assert is_less(left, right) is (build_order_key(left) < build_order_key(right))
