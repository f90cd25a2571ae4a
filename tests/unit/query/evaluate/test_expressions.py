"""Expressions of every kind, by tables."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.query.evaluate.terms import (
    call,
    lit,
    node,
    op,
    pattern,
    prop,
    rel,
    rows,
    value_of,
    var,
)
from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.algebra import (
    Argument,
    Case,
    HasLabels,
    LabelAnd,
    LabelName,
    LabelNot,
    LabelOr,
    ListComprehension,
    Match,
    Parameter,
    Project,
    Property,
    Quantifier,
    QuantifierKind,
    Reduce,
    Slice,
    Subplan,
    SubplanKind,
    Subscript,
    Unary,
    UnaryOperator,
    Unit,
)

T, F, N = True, False, None


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (T, "AND", N, N), (F, "AND", N, F), (N, "AND", F, F), (T, "AND", T, T),
        (T, "OR", N, T), (N, "OR", T, T), (N, "OR", F, N), (F, "OR", F, F),
        (T, "XOR", F, T), (T, "XOR", T, F), (N, "XOR", T, N),
        (1, "=", 1.0, T), (1, "<>", 2, T), (N, "<>", N, N), (True, "=", 1, F),
        (1, "<", 2.5, T), (2, "<=", 2, T), ("a", ">", "b", F), (3, ">=", "3", N), (True, "<", 2, N),
        (1, "+", 2, 3), (1, "+", 2.0, 3.0), ("a", "+", 1, "a1"), (1.5, "+", "b", "1.5b"),
        ("a", "+", True, "atrue"), ([1], "+", [2], [1, 2]), ([1], "+", 2, [1, 2]),
        (1, "+", [2], [1, 2]), (N, "+", 1, N), ([1], "+", N, N),
        (5, "-", 7, -2), (5, "-", 0.5, 4.5), (3, "*", 4, 12), (3, "*", 0.5, 1.5),
        (7, "/", 2, 3), (-7, "/", 2, -3), (7, "/", -2, -3), (7.0, "/", 2, 3.5),
        (1.0, "/", 0, math.inf), (-1.0, "/", 0.0, -math.inf),
        (7, "%", 3, 1), (-7, "%", 3, -1), (7, "%", -3, 1), (7.5, "%", 2, 1.5), (-7.5, "%", 2, -1.5),
        (2, "^", 3, 8.0), (4, "^", 0.5, 2.0), (10, "^", 400, math.inf), (0, "^", -1, math.inf),
        (-10.0, "^", 309, -math.inf),
        (2, "IN", [1, 2], T), (3, "IN", [1, N], N), (1, "IN", [1, N], T), (N, "IN", [], F),
        (N, "IN", [1], N), (1, "IN", N, N), ([1], "IN", [[1.0]], T), (True, "IN", [1], F),
        ("abc", "STARTS WITH", "ab", T), ("abc", "ENDS WITH", "bc", T), ("abc", "CONTAINS", "d", F),
        ("abc", "CONTAINS", 1, N), (N, "STARTS WITH", "a", N), (1, "ENDS WITH", "1", N),
        ("abc", "=~", "a.*", T), ("xabc", "=~", "a.*", F), ("ABC", "=~", "(?i)abc", T),
        (1, "=~", "1", N), ("ä", "=~", ".", T),
    ],
)  # fmt: skip
def test_a_binary_operator_gives_its_value(
    left: Any, operator: str, right: Any, expected: Any
) -> None:
    value = value_of(op(left, operator, right))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize("operator", ["/", "%"])
def test_zero_by_zero_in_floats_is_not_a_number(operator: str) -> None:
    assert math.isnan(value_of(op(0.0, operator, 0.0)))


@pytest.mark.parametrize(
    ("left", "operator", "right", "kind"),
    [
        (2**63 - 1, "+", 1, "ArithmeticError"),
        (-(2**63), "-", 1, "ArithmeticError"),
        (2**62, "*", 2, "ArithmeticError"),
        (-(2**63), "/", -1, "ArithmeticError"),
        (1, "/", 0, "ArithmeticError"),
        (1, "%", 0, "ArithmeticError"),
        (True, "+", 1, "TypeError"),
        ("a", "-", "b", "TypeError"),
        (True, "*", 2, "TypeError"),
        (1, "AND", True, "TypeError"),
        ("true", "OR", False, "TypeError"),
        (1, "IN", 1, "TypeError"),
        ("a", "+", {"b": 1}, "TypeError"),
        ("a", "=~", "(a)\\1", "ArgumentError"),
        ("a", "=~", "a(?=b)", "ArgumentError"),
    ],
)
def test_an_operation_without_a_value_is_a_runtime_error(
    left: Any, operator: str, right: Any, kind: str
) -> None:
    with pytest.raises(QueryInvalid) as raised:
        value_of(op(left, operator, right))
    assert (raised.value.kind, raised.value.phase) == (kind, "runtime")


def test_a_pattern_that_would_run_away_elsewhere_is_answered_at_once() -> None:
    assert value_of(op("a" * 5000 + "b", "=~", "(a+)+")) is False


@pytest.mark.parametrize(
    ("operator", "operand", "expected"),
    [
        ("NOT", T, F), ("NOT", N, N), ("-", 2, -2), ("-", 1.5, -1.5), ("-", N, N), ("+", 3, 3),
        ("IS NULL", N, T), ("IS NULL", 0, F), ("IS NOT NULL", N, F),
    ],
)  # fmt: skip
def test_a_unary_operator_gives_its_value(operator: str, operand: Any, expected: Any) -> None:
    assert value_of(Unary(UnaryOperator(operator), lit(operand))) == expected


LIST = lit([1, 2, 3])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Subscript(LIST, lit(0)), 1),
        (Subscript(LIST, lit(-1)), 3),
        (Subscript(LIST, lit(3)), None),
        (Subscript(LIST, lit(None)), None),
        (Subscript(lit({"a": 1}), lit("a")), 1),
        (Subscript(lit({"a": 1}), lit("b")), None),
        (Slice(LIST, lit(1), None), [2, 3]),
        (Slice(LIST, None, lit(-1)), [1, 2]),
        (Slice(LIST, lit(2), lit(1)), []),
        (Slice(LIST, lit(-9), lit(9)), [1, 2, 3]),
        (Slice(LIST, lit(None), lit(1)), None),
        (Property(lit({"a": {"b": 2}}), "a"), {"b": 2}),
        (Property(lit(None), "a"), None),
        (Case(None, ((lit(None), lit(1)), (lit(True), lit(2))), None), 2),
        (Case(lit(1), ((lit(1.0), lit("one")),), lit("else")), "one"),
        (Case(lit(None), ((lit(None), lit("null")),), lit("else")), "else"),
        (Case(lit(3), ((lit(1), lit("one")),), None), None),
        (ListComprehension("x", LIST, op(var("x"), ">", 1), op(var("x"), "*", 10)), [20, 30]),
        (ListComprehension("x", lit([None, 1]), op(var("x"), ">", 0), None), [1]),
        (ListComprehension("x", lit(None), None, None), None),
        (Reduce("sum", lit(0), "x", LIST, op(var("sum"), "+", var("x"))), 6),
        (Reduce("sum", lit(0), "x", lit(None), var("sum")), None),
        (Parameter("p"), 7),
    ],
)
def test_an_expression_gives_its_value(expression: Any, expected: Any) -> None:
    assert value_of(expression, p=7) == expected


@pytest.mark.parametrize(
    ("items", "all_", "any_", "none", "single"),
    [
        ([], T, F, T, F),
        ([1], T, T, F, T),
        ([1, 0], F, T, F, T),
        ([1, 1], T, T, F, F),
        ([N], N, N, N, N),
        ([1, N], N, T, F, N),
        ([0, N], F, N, N, N),
        ([1, 1, N], N, T, F, F),
    ],
)
def test_quantifiers_know_what_nulls_hide(
    items: list[Any], all_: Any, any_: Any, none: Any, single: Any
) -> None:
    expected = {"all": all_, "any": any_, "none": none, "single": single}
    for kind in QuantifierKind:
        quantifier = Quantifier(kind, "x", lit(items), op(var("x"), "=", 1))
        assert value_of(quantifier) is expected[kind.value]


@pytest.mark.parametrize("value", [1, 0, "true", [True]])
@pytest.mark.parametrize(
    "build",
    [
        *(lambda item, kind=kind: Quantifier(kind, "x", lit([item]), var("x"))
          for kind in QuantifierKind),
        lambda item: ListComprehension("x", lit([item]), var("x"), None),
    ],
)  # fmt: skip
def test_only_a_boolean_decides_about_an_element(build: Any, value: Any) -> None:
    with pytest.raises(QueryInvalid, match="takes a Boolean") as caught:
        value_of(build(value))
    assert (caught.value.kind, caught.value.detail) == ("TypeError", "InvalidArgumentType")


def test_inner_variables_hide_outer_ones_and_end_with_the_expression() -> None:
    inner = ListComprehension("x", lit([1, 2]), None, op(var("x"), "+", var("y")))
    outer = ListComprehension("y", lit([10, 20]), None, inner)
    shadow = ListComprehension(
        "x", lit([5]), None, ListComprehension("x", lit([6]), None, var("x"))
    )
    assert value_of(outer) == [[11, 12], [21, 22]]
    assert value_of(shadow) == [[6]]


@pytest.mark.parametrize(
    ("expression", "detail"),
    [
        (Subscript(lit({"a": 1}), lit(1)), "MapElementAccessByNonString"),
        (Subscript(lit(100), lit(0)), "InvalidArgumentType"),
        (Subscript(LIST, lit(1.5)), "InvalidArgumentType"),
        (Subscript(LIST, lit(True)), "InvalidArgumentType"),
        (Property(lit(1), "a"), "InvalidArgumentType"),
        (ListComprehension("x", lit(1), None, None), "InvalidArgumentType"),
    ],
)
def test_reaching_into_what_has_no_members_is_a_type_error(expression: Any, detail: str) -> None:
    with pytest.raises(QueryInvalid) as raised:
        value_of(expression)
    assert (raised.value.kind, raised.value.detail) == ("TypeError", detail)


def test_a_missing_parameter_is_named_with_those_that_are_there() -> None:
    with pytest.raises(QueryInvalid, match=r"\$p.*\$q"):
        value_of(Parameter("p"), q=1)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (LabelName("Room"), ["r1", "r2", "r3"]),
        (LabelName("dtmi:t:Floor;1"), ["floor"]),
        (LabelAnd(LabelName("Space"), LabelNot(LabelName("Room"))), ["floor"]),
        (LabelOr(LabelName("Floor"), LabelName("Sensor")), ["floor", "s1", "s2"]),
    ],
)
def test_label_expressions_hold_with_supertypes(labels: Any, expected: list[str]) -> None:
    source = Match(Unit(), pattern(node("n")), HasLabels(var("n"), labels))
    assert [one for (one,) in rows(source, "n")] == expected


def test_a_label_test_on_a_relationship_is_one_on_its_type() -> None:
    source = Match(Unit(), pattern(node("a", id="r1"), node("b"), rel("r", "a", "b")))
    plan = Project(source, (("d", HasLabels(var("r"), LabelName("door"))),))
    assert sorted(rows(plan, "d")) == [(False,), (False,), (True,)]


def out_doors(kind: SubplanKind, value: Any = None) -> Subplan:
    found = pattern(node("a"), node(" b"), rel(" r", "a", " b", "door", "has"))
    return Subplan(kind, Match(Argument(("a",)), found), value)


def test_a_correlated_plan_exists_counts_and_collects_for_each_row() -> None:
    source = Match(Unit(), pattern(node("a")))
    items = (
        ("a", var("a")),
        ("exists", out_doors(SubplanKind.EXISTS)),
        ("count", out_doors(SubplanKind.COUNT)),
        ("names", out_doors(SubplanKind.COLLECT, prop(" b", "$dtId"))),
    )
    found = {
        row[0]: row[1:] for row in rows(Project(source, items), "a", "exists", "count", "names")
    }
    assert found["r1"] == (True, 3, ["r2", "s1", "s2"])
    assert found["r2"] == (True, 1, ["r3"])
    assert found["floor"] == (False, 0, [])


def test_values_nested_beyond_reason_are_an_error_of_limits() -> None:
    deep = Reduce("a", lit([]), "x", call("range", 1, 5000), lit([var("a")]))
    with pytest.raises(LimitExceeded, match="deeply"):
        value_of(op(deep, "=", deep))
