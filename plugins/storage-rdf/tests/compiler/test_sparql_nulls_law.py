"""The law over what is not there: a null is no false, however the query asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.query.plan.optimize import optimize
from twinframe.testing.null_corpora import (
    FRAMES,
    JOINED,
    NULLS,
    SOURCES,
    TESTS,
    build_null_query,
)
from twinframe.testing.query_corpora import PARAMETERS

Law = Callable[..., Any]

CONDITIONS = st.recursive(
    st.sampled_from(TESTS),
    lambda inner: st.builds(
        lambda form, a, b: form.replace("<a>", a).replace("<b>", b),
        st.sampled_from(JOINED),
        inner,
        inner,
    ),
    max_leaves=3,
)


@pytest.mark.parametrize("change", [{}, {"rewrite": optimize}], ids=["as-written", "optimized"])
def test_sparql_and_evaluator_take_a_null_alike(
    change: dict[str, Any], law: Law, odd_graph: Any
) -> None:
    answers = [law(text, odd_graph, PARAMETERS, **change) for text in NULLS]
    assert sum(answer.declined is not None for answer in answers) / len(answers) < 0.6


@settings(max_examples=300, deadline=None)
@given(
    source=st.sampled_from(SOURCES),
    condition=CONDITIONS,
    place=st.sampled_from(FRAMES),
)
def test_generated_conditions_on_nulls_are_answered_alike(
    law: Law, odd_graph: Any, source: str, condition: str, place: str
) -> None:
    text = build_null_query(source, condition, place)
    law(text, odd_graph, PARAMETERS, lenient=True)
    law(text, odd_graph, PARAMETERS, lenient=True, rewrite=optimize)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("count(m.x = 1)", 5),
        ("count(m:Room)", 6),
        ("avg(CASE WHEN m:Room THEN 1.5 END)", 1.5),
        ("max(CASE WHEN m:Room THEN 'a' END)", "a"),
    ],
)
def test_an_aggregate_of_an_expression_leaves_out_the_rows_where_it_is_null(
    value: str, expected: Any, law: Law, odd_graph: Any
) -> None:
    text = f"MATCH (t) OPTIONAL MATCH (t)-[:has]->(m) RETURN {value} AS v"
    found = law(text, odd_graph, {})
    assert found.declined is None
    assert found.bodies == (("map", ("v", (type(expected).__name__, expected))),)
