"""What a value brings to light while a query runs is told with its kind and its place."""

# ruff: noqa: E501 -- one case a line
from __future__ import annotations

from typing import Any

import pytest

from twinframe.errors import QueryInvalid
from twinframe.testing.factories import SENSOR

CASES = [
    ("RETURN 1, ‸1 / 0", "ArithmeticError", "DivisionByZero"),
    ("MATCH (s:Sensor)\nRETURN ‸7 % (size(s.serial) - 1) AS x", "ArithmeticError", "DivisionByZero"),
    ("MATCH (s:Sensor) RETURN ‸size(s.serial) + 9223372036854775807", "ArithmeticError", "NumberOutOfRange"),
    ("MATCH (s:Sensor) WHERE ‸s.serial - 1 > 0 RETURN s", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) WHERE ‸s.serial RETURN s", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) WHERE NOT ‸s.serial RETURN s", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) WHERE s.nope OR ‸s.serial RETURN s", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN true XOR ‸s.serial", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN CASE WHEN ‸s.serial THEN 1 END", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN 1 + ‸toInteger({a: s.serial})", "TypeError", "InvalidArgumentValue"),
    ("MATCH (s:Sensor) RETURN ‸s.serial.unit", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN ‸[1, 2][s.serial]", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN ‸[1, 2][0..s.serial]", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN 1 IN ‸s.serial", "TypeError", "InvalidArgumentType"),
    ("RETURN 1 IN ‸$p", "TypeError", "InvalidArgumentType"),
    ("UNWIND [1, 'a'] AS x RETURN ‸-x", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) WITH s.serial AS x RETURN ‸x:Sensor", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) WITH s.serial AS x MATCH ‸(x)-->(y) RETURN y", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN [x IN ‸s.serial | x]", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN all(x IN [s.serial] WHERE ‸x)", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN reduce(a = 1, x IN [s.serial] | ‸a * x)", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN count(*), ‸sum(s.serial)", "TypeError", "InvalidArgumentValue"),
    ("UNWIND [9223372036854775807, 1] AS x RETURN ‸sum(x)", "ArithmeticError", "NumberOutOfRange"),
    ("MATCH (s:Sensor) RETURN ‸percentileCont(size(s.serial), 2)", "ArgumentError", "NumberOutOfRange"),
    ("MATCH (s:Sensor) RETURN ‸percentileDisc(size(s.serial), s.serial)", "TypeError", "InvalidArgumentValue"),
    ("MATCH (s:Sensor) RETURN ‸stDev(s.serial)", "TypeError", "InvalidArgumentValue"),
    ("MATCH (s:Sensor) WITH s.serial AS x RETURN ‸x {.a}", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN s ORDER BY ‸s.serial - 1", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN s LIMIT ‸toInteger('-1')", "SyntaxError", "NegativeIntegerArgument"),
    ("MATCH (s:Sensor) RETURN s SKIP ‸$p", "SyntaxError", "InvalidArgumentType"),
    ("UNWIND ‸range(1, 5, 0) AS x RETURN x", "ArgumentError", "NumberOutOfRange"),
    ("MATCH (s:Sensor) RETURN ‸s.serial =~ '('", "ArgumentError", "InvalidArgumentValue"),
    ("MATCH (s:Sensor) RETURN ‸date(s.serial + '!')", "ArgumentError", "InvalidArgumentValue"),
    ("MATCH (s:Sensor {serial: ‸1 / 0}) RETURN s", "ArithmeticError", "DivisionByZero"),
    ("MATCH (s:Sensor) WHERE EXISTS { (t) WHERE ‸t.serial - 1 > 0 } RETURN s", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) CALL { WITH s RETURN ‸s.serial - 1 AS x } RETURN x", "TypeError", "InvalidArgumentType"),
    ("MATCH (s:Sensor) RETURN [(s)--(t) | ‸1 / 0] + [‸1 / 0]", "ArithmeticError", "DivisionByZero"),
]  # fmt: skip


@pytest.fixture
def sensors(world: Any) -> Any:
    """One sensor, with a string that is taken for other things."""
    world.put("s", SENSOR, serial="a")
    return world


@pytest.mark.parametrize(("marked", "kind", "detail"), CASES)
def test_an_error_of_a_run_has_its_kind_and_its_place(
    marked: str, kind: str, detail: str, sensors: Any
) -> None:
    text, before = marked.replace("‸", ""), marked.rsplit("‸", 1)[0].replace("‸", "")
    with pytest.raises(QueryInvalid) as caught:
        sensors.do(sensors.graph.queries.run(text, {"p": "a"} if "$p" in text else {}))
    error = caught.value
    assert (error.kind, error.detail, error.phase) == (kind, detail, "runtime")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    assert (error.line, error.column) == (line, column)
    assert error.message.startswith(f"{kind}: {detail} at line {line}, column {column}: ")
    shown, caret = error.message.split("\n")[-2:]
    assert shown in text
    assert len(caret) == column


def test_the_vendor_s_language_says_it_in_its_own_form(sensors: Any) -> None:
    text = "SELECT SUM(T.serial) AS x\nFROM DIGITALTWINS T"
    with pytest.raises(QueryInvalid) as caught:
        sensors.do(sensors.graph.queries.run(text))
    assert caught.value.message.startswith(
        "SQL query failed: TypeError: InvalidArgumentValue, Line=1, Position=7, Message=sum() takes"
    )


def test_an_error_on_a_later_page_is_told_alike(world: Any) -> None:
    for n in range(5):
        world.put(f"s{n}", SENSOR, serial=str(n))
    text = "MATCH (s:Sensor) WITH s ORDER BY s.serial RETURN 4 / (4 - toInteger(s.serial)) AS x"
    token = None
    for _ in range(2):
        page = world.do(world.graph.queries.run(text if token is None else None, None, token, 2))
        token = page.continuation_token
    with pytest.raises(QueryInvalid, match=r"DivisionByZero at line 1, column 50: / by zero"):
        world.do(world.graph.queries.run(None, None, token))
