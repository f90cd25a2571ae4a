"""Counting whole sets reads the counts kept, and only where those tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twinframe.query.language import parse_query
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.session import SqliteSession

Law = Callable[..., Any]

KEPT = (
    "MATCH (t) RETURN count(*) AS n",
    "MATCH (t:Room) RETURN count(*) AS n",
    "MATCH (t:Room) RETURN count(t) AS n, count(*) AS m, count(DISTINCT t) AS o",
    "MATCH (t:!Room|Sensor) RETURN count(*) AS n",
    "MATCH (t:Nothing) RETURN count(*) AS n",
    "MATCH (t:Room) RETURN count(*) + 1 AS n",
    "MATCH (t) WHERE t:Room OR t:Sensor RETURN count(*) AS n",
    "MATCH (t) WHERE digitaltwins.is_of_model(t, 'dtmi:ex:Space;1') RETURN count(*) AS n",
    "MATCH (t:Space) WHERE NOT is_of_model(t, 'dtmi:ex:Room;1', true) RETURN count(*) AS n",
    "MATCH (t:Space) RETURN t.$metadata.$model AS m, count(*) AS n",
    "MATCH (t) WITH t.$metadata.$model AS m, count(t) AS n WHERE n > 1 RETURN m ORDER BY m",
    "MATCH ()-[r]->() RETURN count(r) AS n",
    "MATCH ()-[:has|feeds]->() RETURN count(*) AS n",
    "MATCH (a)<-[r]-(b) RETURN type(r) AS name, count(*) AS n",
    "MATCH ()-[:nothing]->() RETURN count(*) AS n",
    "MATCH (t:Nothing) RETURN t.$metadata.$model AS m, count(*) AS n",
    "SELECT COUNT() FROM DIGITALTWINS",
    "SELECT COUNT() FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:ex:Room;1')",
    "SELECT COUNT() FROM DIGITALTWINS WHERE $metadata.$model = 'dtmi:ex:Room;1'",
    "SELECT COUNT() FROM RELATIONSHIPS WHERE $relationshipName = 'has'",
    "MATCH (t:Room) RETURN count(*) AS n UNION ALL MATCH ()-[:has]->() RETURN count(*) AS n",
)
READ = (
    "MATCH (t) RETURN count(t.x) AS n",
    "MATCH (t) WHERE t.x = 1 RETURN count(*) AS n",
    "MATCH (t {$dtId: 'a'}) RETURN count(*) AS n",
    "MATCH (t) RETURN t.s AS s, count(*) AS n",
    "MATCH (t) RETURN count(*) AS n, max(t.s) AS m",
    "MATCH (t) RETURN t, count(*) AS n",
    "MATCH (t), (u) RETURN count(*) AS n",
    "MATCH (a)-[r]->(a) RETURN count(*) AS n",
    "MATCH (a)-[r]-(b) RETURN count(*) AS n",
    "MATCH (:Room)-[r]->() RETURN count(*) AS n",
    "MATCH ()-[r {w: 1}]->() RETURN count(*) AS n",
    "MATCH ()-[r]->()-[q]->() RETURN count(*) AS n",
    "MATCH (t) OPTIONAL MATCH (t)-[r]->() RETURN count(r) AS n",
    "OPTIONAL MATCH (t:Room) RETURN count(*) AS n, count(t) AS m",
    "MATCH (t) WHERE EXISTS { (t)-->() } RETURN count(*) AS n",
    "MATCH (t:Room) WITH t LIMIT 2 RETURN count(*) AS n",
    "MATCH (t) UNWIND [1, 2] AS i RETURN count(*) AS n",
)


def find_sql(text: str) -> str:
    compiled = SqliteQueryEngine().compile(parse_query(text).query, {})
    assert isinstance(compiled, SqliteQuery)
    return compiled.text


@pytest.mark.parametrize("text", KEPT)
def test_a_count_of_a_whole_set_reads_no_element(
    text: str, odd_graph: SqliteSession, law: Law
) -> None:
    sql = find_sql(text)
    assert "twin AS" not in sql
    assert "relationship AS" not in sql
    assert law(text, odd_graph).declined is None


@pytest.mark.parametrize("text", READ)
def test_a_count_of_anything_else_reads_the_elements(
    text: str, odd_graph: SqliteSession, law: Law
) -> None:
    assert "_count AS" not in find_sql(text)
    assert law(text, odd_graph).declined is None


def test_a_count_in_an_empty_graph_is_one_row_of_nothing(
    make_graph: Callable[..., SqliteSession], law: Law
) -> None:
    empty = make_graph([], [])
    assert law("MATCH (t:Room) RETURN count(*) AS n", empty).rows == (("list", ("int", 0)),)
    assert law("MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS n", empty).rows == ()
