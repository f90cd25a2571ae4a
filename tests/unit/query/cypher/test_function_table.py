"""The table of functions, and the page made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.house.pages.cypher import render_cypher_page
from twinframe.query import algebra as al
from twinframe.query.cypher.functions import FUNCTIONS, FUNCTIONS_BY_NAME, Function
from twinframe.query.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinframe.errors import QueryInvalid
    from twinframe.query.language import ParsedQuery


def _write_call(name: str, count: int) -> str:
    return f"RETURN {name}({', '.join(['null'] * count)}) AS x"


def test_no_two_functions_share_a_name() -> None:
    names = [name.lower() for one in FUNCTIONS for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names)) == len(FUNCTIONS_BY_NAME)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_function_takes_its_number_of_arguments_and_no_other(
    function: Function,
    read: Callable[[str], ParsedQuery],
    refuse: Callable[[str], QueryInvalid],
) -> None:
    least, most = function.minimum, function.maximum
    for name in (function.name, *function.aliases, function.name.upper()):
        for count in range(least, (least + 3 if most is None else most) + 1):
            assert read(_write_call(name, count)).query.columns == ("x",)
    for count in {least - 1, least - 1 if most is None else most + 1} - {-1}:
        error = refuse(_write_call(function.name, count))
        assert error.detail == "InvalidNumberOfArguments"


def test_every_aggregate_of_the_algebra_has_a_function() -> None:
    named = {function.aggregate for function in FUNCTIONS} - {None}
    assert named == set(al.AggregateKind) - {al.AggregateKind.COUNT_ROWS}


def test_a_function_arrives_by_its_canonical_name(plan: Callable[[str], str]) -> None:
    assert "toLower(" in plan("RETURN LOWER('A') AS x")
    assert "digitaltwins.is_of_model(" in plan("MATCH (t) WHERE IS_OF_MODEL(t, 'm') RETURN t")
    assert "relationships(" in plan("MATCH p = ()--() RETURN rels(p) AS x")


def test_constants_of_different_types_are_not_equal() -> None:
    values: list[bool | int | float | str | None] = [None, True, 1, 1.0, "1", 0, False, 0.0, -0.0]
    literals = [al.Literal(value) for value in values]
    assert [one == other for one in literals for other in literals].count(True) == len(values)
    assert al.Literal(1, Span(0, 1)) == al.Literal(1)
    assert hash(al.Literal(1, Span(0, 1))) == hash(al.Literal(1))


def test_the_page_names_every_function_and_marks_what_is_not_computed() -> None:
    page = render_cypher_page({function.name for function in FUNCTIONS} - {"sqrt"})
    for function in FUNCTIONS:
        assert f"| `{function.name}` (" in page
    assert page.count("not computed yet") == 1
    assert "not computed yet" in next(line for line in page.split("\n") if "`sqrt`" in line)
