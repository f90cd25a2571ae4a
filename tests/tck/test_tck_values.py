"""The TCK's notation of values."""

from __future__ import annotations

import math

import pytest

from tests.tck.comparison import build_key
from tests.tck.values import (
    Expected,
    ExpectedNode,
    ExpectedPath,
    ExpectedRelationship,
    parse_value,
)

A = ExpectedNode(frozenset({"A"}), {})
EMPTY = ExpectedNode(frozenset(), {})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("-7", -7),
        ("1.50", 1.5),
        ("-1e9", -1e9),
        (".5", 0.5),
        ("1.0E-3", 0.001),
        ("Inf", math.inf),
        ("-Inf", -math.inf),
        ("''", ""),
        (r"'it\'s'", "it's"),
        (r"'a\\b'", r"a\b"),
        (r"'a\d'", r"a\d"),
        ("'null'", "null"),
        ("[]", []),
        ("[1, [null], {a: 'b'}]", [1, [None], {"a": "b"}]),
        ("{}", {}),
        ("{a: 1, `b c`: [2]}", {"a": 1, "b c": [2]}),
        ("()", EMPTY),
        ("(:A:B {x: -1})", ExpectedNode(frozenset({"A", "B"}), {"x": -1})),
        ("({x: 'y'})", ExpectedNode(frozenset(), {"x": "y"})),
        ("[:T]", ExpectedRelationship("T", {})),
        ("[:T {x: 1.0}]", ExpectedRelationship("T", {"x": 1.0})),
        ("<(:A)>", ExpectedPath(A, ())),
        (
            "<(:A)-[:T]->()<-[:U]-(:A)>",
            ExpectedPath(
                A,
                (
                    (ExpectedRelationship("T", {}), True, EMPTY),
                    (ExpectedRelationship("U", {}), False, A),
                ),
            ),
        ),
    ],
)
def test_a_value_is_read_with_its_type(text: str, value: Expected) -> None:
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_nan_is_read_and_is_itself() -> None:
    assert build_key(parse_value("NaN")) == build_key(math.nan)


@pytest.mark.parametrize(
    "text", ["", "1 2", "[1", "'open", "{a 1}", "(:A", "<(:A)-[:T]-()>", "nul"]
)
def test_what_is_no_value_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_value(text)


def test_values_of_different_types_have_different_keys() -> None:
    texts = ["1", "1.0", "true", "'1'", "null", "'null'", "[]", "{}", "()", "NaN", "'NaN'", "[1]"]
    assert len({build_key(parse_value(text)) for text in texts}) == len(texts)
