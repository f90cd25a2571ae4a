"""Scalar functions by tables, and their agreement with the names the language knows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.query.evaluate.graphs import FLOOR, ROOM, SENSOR, SPACE
from tests.unit.query.evaluate.terms import call, lit, node, pattern, prop, rel, rows, value_of, var
from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.algebra import Match, PathPattern, Project, Unit
from twinframe.query.cypher.functions import FUNCTIONS as KNOWN
from twinframe.query.evaluate.calls import SPECIAL
from twinframe.query.evaluate.functions import FUNCTIONS
from twinframe.query.evaluate.limits import Limits

N = None


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("toString", [1], "1"), ("toString", [2.5], "2.5"), ("toString", [True], "true"),
        ("toString", [N], N),
        ("toInteger", ["2.9"], 2), ("toInteger", ["foo"], N), ("toInteger", [-2.9], -2),
        ("toInteger", ["9223372036854775807"], 2**63 - 1),
        ("toInteger", ["9223372036854775808"], N),
        ("toInteger", ["1e3"], 1000), ("toInteger", ["\u0661"], N), ("toInteger", [True], 1),
        ("toFloat", ["1.5"], 1.5), ("toFloat", ["1_0"], N), ("toFloat", ["nan"], N),
        ("toFloat", [3], 3.0), ("toFloat", [""], N),
        ("toBoolean", ["TRUE"], True), ("toBoolean", [" tru "], N), ("toBoolean", [0], False),
        ("size", [[1, N]], 2), ("size", ["äb"], 2), ("size", [N], N),
        ("isEmpty", [""], True), ("isEmpty", [{"a": 1}], False),
        ("coalesce", [N, 2, 3], 2), ("coalesce", [N], N),
        ("nullIf", [1, 1.0], N), ("nullIf", [1, 2], 1), ("exists", [N], False),
        ("head", [[1, 2]], 1), ("head", [[]], N), ("last", [[1, 2]], 2), ("tail", [[1, 2]], [2]),
        ("tail", [[]], []),
        ("range", [0, 3], [0, 1, 2, 3]), ("range", [3, 0, -2], [3, 1]), ("range", [1, 0], []),
        ("range", [N, 0], N), ("range", [5, 5, -1], [5]),
        ("reverse", ["abc"], "cba"), ("reverse", [[1, 2]], [2, 1]),
        ("keys", [{"a": 1, "b": N}], ["a", "b"]), ("properties", [{"a": 1}], {"a": 1}),
        ("abs", [-2], 2), ("abs", [-2.5], 2.5), ("sign", [-7], -1), ("sign", [0.0], 0),
        ("ceil", [1.2], 2.0), ("floor", [-1.2], -2.0),
        ("round", [2.5], 3.0), ("round", [-2.5], -2.0),
        ("round", [3], 3.0), ("round", [1.25, 1], 1.3), ("sqrt", [16], 4.0), ("exp", [0], 1.0),
        ("exp", [1000], math.inf), ("log", [1], 0.0), ("log", [0], -math.inf),
        ("log10", [100], 2.0),
        ("atan2", [0, 1], 0.0), ("degrees", [0], 0.0), ("haversin", [0], 0.0), ("sin", [N], N),
        ("toUpper", ["äß"], "ÄSS"), ("toLower", ["ÄB"], "äb"), ("trim", [" a "], "a"),
        ("lTrim", [" a "], "a "), ("rTrim", [" a "], " a"),
        ("replace", ["aba", "a", "cc"], "ccbcc"), ("replace", ["ab", "", "x"], "ab"),
        ("substring", ["hello", 1], "ello"), ("substring", ["hello", 1, 2], "el"),
        ("substring", ["hi", 9], ""), ("left", ["hello", 2], "he"), ("right", ["hello", 2], "lo"),
        ("right", ["hello", 0], ""), ("right", ["hi", 9], "hi"),
        ("split", ["a,b", ","], ["a", "b"]), ("split", ["ab", ""], ["a", "b"]),
        ("is_bool", [True], True), ("is_bool", [1], False), ("is_number", [1.5], True),
        ("is_number", [True], False), ("is_string", ["a"], True), ("is_string", [N], False),
        ("is_object", [{}], True), ("is_object", [[]], False),
        ("array_contains", [[1, 2], 2.0], True), ("array_contains", [[1], "1"], False),
        ("array_contains", ["abc", "a"], False), ("array_contains", [N, 1], False),
        ("is_primitive", [{}], False), ("is_primitive", [1], True),
    ],
)  # fmt: skip
def test_a_function_gives_its_value(name: str, arguments: list[Any], expected: Any) -> None:
    value = value_of(call(name, *arguments))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "detail"),
    [
        ("toInteger", [[]], "TypeError", "InvalidArgumentValue"),
        ("toInteger", [1e300], "ArithmeticError", "NumberOutOfRange"),
        ("toFloat", [True], "TypeError", "InvalidArgumentValue"),
        ("toBoolean", [1.0], "TypeError", "InvalidArgumentValue"),
        ("toString", [[]], "TypeError", "InvalidArgumentValue"),
        ("labels", [1], "TypeError", "InvalidArgumentValue"),
        ("type", [""], "TypeError", "InvalidArgumentValue"),
        ("range", [2, 8, 0], "ArgumentError", "NumberOutOfRange"),
        ("range", [0, 1.0], "ArgumentError", "InvalidArgumentType"),
        ("range", [True, 1], "ArgumentError", "InvalidArgumentType"),
        ("abs", [-(2**63)], "ArithmeticError", "NumberOutOfRange"),
        ("abs", [True], "TypeError", "InvalidArgumentValue"),
        ("left", ["a", -1], "ArgumentError", "NumberOutOfRange"),
        ("toUpper", [1], "TypeError", "InvalidArgumentValue"),
    ],
)
def test_a_function_refuses_what_it_cannot_take(
    name: str, arguments: list[Any], kind: str, detail: str
) -> None:
    with pytest.raises(QueryInvalid) as raised:
        value_of(call(name, *arguments))
    assert (raised.value.kind, raised.value.detail) == (kind, detail)


@pytest.mark.parametrize("name", ["sqrt", "log", "asin"])
def test_a_value_out_of_the_domain_gives_not_a_number(name: str) -> None:
    assert math.isnan(value_of(call(name, -2)))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("range", [0, 10**9]),
        ("range", [-(2**63), 2**63 - 1]),
        ("split", ["a" * 101, ""]),
    ],
)
def test_a_list_longer_than_may_be_held_is_refused(name: str, arguments: list[Any]) -> None:
    plan = Project(Unit(), (("x", call(name, *arguments)),))
    with pytest.raises(LimitExceeded):
        rows(plan, "x", limits=Limits(max_rows=100))


def test_every_function_the_language_knows_can_be_called() -> None:
    missing = {
        one.name
        for one in KNOWN
        if one.aggregate is None and one.name not in FUNCTIONS and one.name not in SPECIAL
    }
    assert missing == set()


def test_no_function_is_there_that_the_language_does_not_know() -> None:
    assert {*FUNCTIONS, *SPECIAL} <= {one.name for one in KNOWN}


def test_an_unknown_function_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(QueryInvalid, match=r"toUpper\(\)"):
        value_of(call("toUper", "a"))


def test_functions_of_things_show_what_they_are() -> None:
    found = pattern(
        node("a", id="r1"), node("b"), rel("r", "a", "b", "door"), PathPattern("p", ("a", "r", "b"))
    )
    items = {
        "keys": call("keys", var("a")),
        "labels": call("labels", var("a")),
        "type": call("type", var("r")),
        "id": call("elementId", var("a")),
        "rid": call("elementId", var("r")),
        "own": call("properties", var("r")),
        "start": call("startNode", var("r")),
        "end": call("endNode", var("r")),
        "nodes": call("nodes", var("p")),
        "crossed": call("relationships", var("p")),
        "length": call("length", var("p")),
    }
    [row] = rows(Project(Match(Unit(), found), tuple(items.items())), *items)
    assert dict(zip(items, row, strict=True)) == {
        "keys": ["name", "area", "tags"],
        "labels": ["Room", "Space", "Twin", ROOM, SPACE],
        "type": "door",
        "id": "r1",
        "rid": "r1/d1",
        "own": {"width": 1},
        "start": "r1",
        "end": "r2",
        "nodes": ["r1", "r2"],
        "crossed": ["r1:d1"],
        "length": 1,
    }


@pytest.mark.parametrize(
    ("model", "exact", "expected"),
    [
        ("dtmi:t:Room;1", [], ["r1", "r2", "r3"]),
        (ROOM, [], ["r1", "r2", "r3"]),
        ("dtmi:t:Room;3", [], []),
        (SPACE, [], ["floor", "r1", "r2", "r3"]),
        (SPACE, [True], []),
        ("dtmi:t:Room;1", ["exact"], []),
        (ROOM, [True], ["r1", "r2", "r3"]),
        (FLOOR, [False], ["floor"]),
        (SENSOR, [], ["s1", "s2"]),
        ("dtmi:t:Roo;1", [], []),
        ("dtmi:t:Room;" + "9" * 5000, [], []),
    ],
)
def test_is_of_model_counts_later_versions_and_heirs(
    model: str, exact: list[Any], expected: list[str]
) -> None:
    test = call("digitaltwins.is_of_model", var("t"), model, *exact)
    assert [one for (one,) in rows(Match(Unit(), pattern(node("t")), test), "t")] == expected


def test_presence_tells_a_missing_member_from_a_null_one() -> None:
    value = lit({"there": None, "full": 1})
    for name, on_null, on_full, on_missing in (
        ("is_defined", True, True, False),
        ("is_null", True, False, False),
        ("is_primitive", True, True, False),
    ):
        answers = [
            rows(
                Project(Project(Unit(), (("m", value),)), (("x", call(name, prop("m", key))),)),
                "x",
            )[0][0]
            for key in ("there", "full", "missing")
        ]
        assert answers == [on_null, on_full, on_missing], name
