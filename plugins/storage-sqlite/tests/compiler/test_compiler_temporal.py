"""Temporal functions are the evaluator's: no part of a plan that has one becomes SQL."""

from __future__ import annotations

import pytest

from twinframe.query.cypher.functions import FUNCTIONS
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine

TEMPORAL = [one for one in FUNCTIONS if one.group == "Temporal"]


def check_declined(text: str) -> None:
    with pytest.raises(CannotRun):
        SqliteQueryEngine().compile(parse_query(text).query, {})


@pytest.mark.parametrize("name", [one.name for one in TEMPORAL])
def test_a_temporal_function_is_declined_wherever_it_stands(name: str) -> None:
    function = next(one for one in TEMPORAL if one.name == name)
    for count in {function.minimum, function.maximum or 0}:
        call = f"{name}({', '.join(['t.x'] * count)})"
        for text in (
            f"MATCH (t) RETURN {call} AS x",
            f"MATCH (t) WHERE {call} = t.y RETURN t",
            f"MATCH (t) WHERE is_string({call}) OR is_defined({call}) RETURN t",
            f"MATCH (t) RETURN count(*) AS n, {call} AS x",
            f"MATCH (t) RETURN min({call}) AS x",
            f"MATCH (t) RETURN t ORDER BY {call}",
            f"MATCH (t {{x: {call}}}) RETURN t",
        ):
            check_declined(text)


def test_a_component_of_a_temporal_value_is_declined() -> None:
    check_declined("MATCH (t) WHERE date(t.x).year > 2015 RETURN t")
    check_declined("MATCH (t) RETURN t.x + duration('P1D') AS x")


@pytest.mark.parametrize("literal", ["'2015-07-21'", "{year: 2015}"])
def test_a_temporal_constant_is_declined_too(literal: str) -> None:
    check_declined(f"MATCH (t) WHERE t.x < date({literal}) RETURN t")
    check_declined(f"RETURN date({literal}) AS x")
