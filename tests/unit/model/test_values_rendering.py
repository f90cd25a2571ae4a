"""Values as they go to the wire, and the signature of parameters."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import orjson
import pytest

from twinframe.errors import LimitExceeded
from twinframe.model.rendering import render_json, render_row, render_text
from twinframe.model.temporal.parsing import parse_date_time
from twinframe.model.values import Node, Path, Relationship, parameter_signature

NODE = Node("a", {"$dtId": "a", "x": 1})
LAST = Node("b", {"$dtId": "b"})
KNOWS = Relationship("a", "r", "b", "knows", {"$relationshipId": "r"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (2**63 - 1, "9223372036854775807"),
        (-(2**63), "-9223372036854775808"),
        (1.0, "1.0"),
        (math.nan, '"NaN"'),
        ([math.inf, {"low": -math.inf}], '["Infinity",{"low":"-Infinity"}]'),
        ("ä\"", '"ä\\""'),
        (NODE, '{"$dtId":"a","x":1}'),
        (KNOWS, '{"$relationshipId":"r"}'),
        ([NODE], '[{"$dtId":"a","x":1}]'),
        (
            Path((NODE, LAST), (KNOWS,)),
            '[{"$dtId":"a","x":1},{"$relationshipId":"r"},{"$dtId":"b"}]',
        ),
        (Path((LAST,), ()), '[{"$dtId":"b"}]'),
        (Node("m", MappingProxyType({"a": 1})), '{"a":1}'),
    ],
)  # fmt: skip
def test_a_value_has_one_json_form(value: Any, text: str) -> None:
    assert render_json(value).decode() == text


def test_a_row_keeps_the_order_of_its_columns_and_may_leave_out_nulls() -> None:
    assert render_row(("b", "a"), (1, None)) == b'{"b":1,"a":null}'
    assert render_row(("b", "a"), (1, None), omit_null=True) == b'{"b":1}'


def test_a_value_nested_too_deeply_is_refused() -> None:
    value: Any = 1
    for _ in range(400):
        value = [value]
    with pytest.raises(LimitExceeded, match="JSON"):
        render_json(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (True, "true"), (42, "42"), (2.3, "2.3"), (1.0, "1.0"), (-math.inf, "-Infinity")],
)
def test_text_of_a_scalar_is_the_shortest_that_reads_back(value: Any, text: str) -> None:
    assert render_text(value) == text


def test_a_stored_time_is_written_as_it_stands_there_and_is_the_same_value() -> None:
    stored = replace(parse_date_time("2015-07-21T21:40:00.000Z"), text="2015-07-21T21:40:00.000Z")
    computed = parse_date_time("2015-07-21T21:40Z")
    assert render_json([stored, computed]) == b'["2015-07-21T21:40:00.000Z","2015-07-21T21:40Z"]'
    assert stored == computed
    assert hash(stored) == hash(computed)
    assert render_text(stored) == "2015-07-21T21:40:00.000Z"
    assert render_text(computed) == "2015-07-21T21:40Z"


def test_a_signature_tells_types_and_not_values() -> None:
    assert parameter_signature({"a": 1, "b": "x"}) == parameter_signature({"b": "y", "a": 2})
    assert parameter_signature({"a": 1}) != parameter_signature({"a": 1.0})
    assert parameter_signature({"a": 1}) != parameter_signature({"a": True})
    assert parameter_signature({"a": [1]}) != parameter_signature({"a": ["1"]})
    assert parameter_signature({"a": [1, "x"]}) == parameter_signature({"a": ["y", 2, 3]})


def test_rendered_documents_read_back_unchanged() -> None:
    document = {"$dtId": "t", "n": 1.5, "deep": {"list": [1, None, "x"]}}
    assert orjson.loads(render_json(Node("t", document))) == document
