"""The scalar functions that queries find on their connection."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import apsw
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.model.comparison import build_equivalence_key
from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.scalar_functions import add_scalar_functions, render_call

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)),
    st.sampled_from((0.0, -0.0, 1.0, 0.5, 2.0**53, 2.0**63, 1e19, 2.0**64, 1e300)),
    st.sampled_from(("", "1", "true", "é\0", '"\\')),
)
NESTED = st.recursive(
    st.one_of(st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from("ab"), SCALARS)),
    lambda inner: st.one_of(
        st.lists(st.one_of(SCALARS, inner), max_size=2),
        st.dictionaries(st.sampled_from("ab"), st.one_of(SCALARS, inner)),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    add_scalar_functions(connection)
    yield connection
    connection.close()


def call(connection: apsw.Connection, name: str, *values: Any) -> Any:
    marks = ["?"] * len(values)
    return connection.execute(f"SELECT {render_call(name, *marks)}", values).get


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("toUpper", ["straße é"], "STRASSE É"),
        ("toLower", ["İ"], "i̇"),
        ("trim", ["\u00a0a\u2003"], "a"),
        ("split", ["a-b--c", "-"], '["a","b","","c"]'),
        ("split", ["é\0", ""], '["é","\\u0000"]'),
        ("power", [2, 3], 8.0),
        ("power", [10, 400], math.inf),
        ("round", [2.345, 2], 2.35),
        ("log", [0], -math.inf),
        ("toString", [1e22], "1e+22"),
        ("toInteger", [" 12 "], 12),
        ("toInteger", ["x"], None),
        ("toInteger", ["9" * 30], None),
        ("toFloat", ["1e3"], 1000.0),
    ],
)
def test_a_function_is_that_of_cypher(
    name: str, values: list[Any], expected: object, connection: apsw.Connection
) -> None:
    found = call(connection, name, *values)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("log", [-1.0]),
        ("power", [-8, 0.5]),
        ("asin", [2]),
        ("round", [1.5, -1]),
        ("split", ["a" * 10_001, ""]),
    ],
)
def test_what_is_an_error_or_no_value_of_sqlite_is_left_to_the_evaluator(
    name: str, values: list[Any], connection: apsw.Connection
) -> None:
    with pytest.raises(CannotRun):
        call(connection, name, *values)


@settings(max_examples=500, deadline=None)
@given(one=NESTED, other=NESTED)
def test_keys_of_lists_and_maps_are_equal_for_equivalent_ones(
    connection: apsw.Connection, one: Any, other: Any
) -> None:
    keys = [call(connection, "key", orjson.dumps(each).decode()) for each in (one, other)]
    equivalent = build_equivalence_key(one) == build_equivalence_key(other)
    assert (keys[0] == keys[1]) is equivalent
