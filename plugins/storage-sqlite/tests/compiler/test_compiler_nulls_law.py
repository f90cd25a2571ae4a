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
    max_leaves=4,
)


@pytest.mark.parametrize("change", [{}, {"rewrite": optimize}], ids=["as-written", "optimized"])
def test_sql_and_evaluator_take_a_null_alike(
    change: dict[str, Any], law: Law, odd_graph: Any
) -> None:
    answers = [law(text, odd_graph, PARAMETERS, **change) for text in NULLS]
    assert sum(answer.declined is not None for answer in answers) / len(answers) < 0.3


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


@pytest.mark.parametrize("test", ["m:Nope", "is_of_model(m, 'dtmi:nope;1')", "m:`dtmi:nope;1`"])
def test_a_node_that_is_not_there_has_no_label_and_lacks_none(
    test: str, law: Law, odd_graph: Any
) -> None:
    absent = "MATCH (t) OPTIONAL MATCH (t)-[:nope]->(m) WITH m WHERE"
    for condition, rows in ((test, 0), (f"NOT {test}", 0), (f"({test}) IS NULL", 13)):
        assert len(law(f"{absent} {condition} RETURN 1 AS x", odd_graph, {}).rows) == rows


@pytest.mark.parametrize("inner", ["(m:Nope)", "(m:!Nope)", "(m {x: 1})", "(m)-[*1..2]->(:Room)"])
def test_a_pattern_at_null_matches_nothing(inner: str, law: Law, odd_graph: Any) -> None:
    found = law(f"MATCH (t) WITH null AS m MATCH {inner} RETURN 1 AS x", odd_graph, {})
    assert found.declined is None
    assert not found.rows
