"""Grouping by members of documents: as the evaluator groups, over rows without their documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.query.language import parse_query
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.session import SqliteSession

Law = Callable[..., Any]

SOURCES = (
    "MATCH (t)",
    "MATCH (t:Room)",
    "MATCH (t) WHERE t.s = t.s",
    "MATCH (u)-[r]->(t)",
    "MATCH (t)-[r]-(u)",
    "MATCH (t)-[*1..2]->(u)",
    "MATCH (t) OPTIONAL MATCH (t)-[r]->(u)",
    "MATCH (t) WITH t ORDER BY t.$dtId LIMIT 7",
    "MATCH (t) WITH t.m AS t",
)
KEYS = ("t.s", "t.flag", "t.m.k", "t.$dtId", "t.x = 1", "size(t.$dtId)", "t.m.deep.er", "t.missing")
AGGREGATES = (
    "count(*)",
    "count(t.s)",
    "count(DISTINCT t.flag)",
    "min(t.s)",
    "max(t.$dtId)",
    "sum(size(t.$dtId))",
    "avg(size(t.$dtId))",
    "count(t)",
    "sum(DISTINCT t.m.k)",
)


@settings(max_examples=150)
@given(
    source=st.sampled_from(SOURCES),
    keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True),
    aggregates=st.lists(st.sampled_from(AGGREGATES), max_size=2, unique=True),
    end=st.sampled_from(("", " ORDER BY c0", " LIMIT 100")),
)
def test_groups_are_those_of_the_evaluator(
    source: str, keys: list[str], aggregates: list[str], end: str, odd_graph: Any, law: Law
) -> None:
    columns = ", ".join(f"{text} AS c{i}" for i, text in enumerate(keys + aggregates))
    word = "" if aggregates else "DISTINCT "
    law(f"{source} RETURN {word}{columns}{end}", odd_graph, lenient=True)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) RETURN t.s AS s, count(*) AS n",
        "MATCH (t) RETURN DISTINCT t.s AS s",
        "MATCH (u)-[r]->(t) RETURN r.w AS w, t.flag AS f, avg(size(u.$dtId)) AS m",
        "MATCH (t) WITH t.s AS s, collect(t.$dtId) AS ids RETURN s, size(ids) AS n ORDER BY s",
        "MATCH (t) WITH t.flag AS f, count(*) AS n WHERE n > 1 RETURN f, n",
    ],
)
def test_no_document_goes_into_the_sort(text: str, odd_graph: SqliteSession, law: Law) -> None:
    compiled = SqliteQueryEngine().compile(parse_query(text).query, {})
    assert isinstance(compiled, SqliteQuery)
    grouped = compiled.text.partition(" GROUP BY ")[0]
    assert "LIMIT -1 OFFSET 0) AS q" in grouped
    assert ".document" not in compiled.text.partition(" GROUP BY ")[2].partition(" LIMIT ")[0]
    assert law(text, odd_graph).declined is None


@pytest.mark.parametrize("value", [1.50, 1e300, "a\0b", 'ü"\\', True, None, 2**53 + 1, 10.0])
def test_a_key_of_a_group_is_the_value_as_it_was_stored(
    value: object, make_graph: Callable[..., SqliteSession], law: Law
) -> None:
    graph = make_graph([("a", "dtmi:ex:Room;1", {"v": value})], [])
    found = law("MATCH (t) RETURN t.v AS v, count(*) AS n", graph)
    assert found.declined is None
    assert len(found.rows) == 1


def test_equal_numbers_of_two_types_are_one_group(
    make_graph: Callable[..., SqliteSession],
) -> None:
    twins = [("a", "dtmi:ex:Room;1", {"v": 1}), ("b", "dtmi:ex:Room;1", {"v": 1.0})]
    twins += [("c", "dtmi:ex:Room;1", {"v": "1"}), ("d", "dtmi:ex:Room;1", {"v": True})]
    query = parse_query("MATCH (t) RETURN t.v AS v, count(*) AS n").query
    compiled = SqliteQueryEngine().compile(query, {})
    counts = sorted(row[1] for row in compiled.run_rows(make_graph(twins, []), {}))
    assert counts == [1, 1, 2]
