"""IN over lists: one bound value however long the list, sought by an index where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from twinframe.model.values import Value
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.indexing.indexes import create_index
from twinframe_storage_sqlite.session import SqliteSession

ROOM = "dtmi:ex:Room;1"
LITERALS = ",".join(f"'t{i}'" for i in range(1000, 7000))


class _Recorder:
    """Keeps the statement that a query runs, with what is bound, instead of running it."""

    def __init__(self, graph: SqliteSession, text: str, parameters: Mapping[str, Value]) -> None:
        query = optimize(parse_query(text, parameters=tuple(parameters)).query)
        compiled = SqliteQueryEngine().compile(query, parameters)
        assert isinstance(compiled, SqliteQuery)
        seen: list[tuple[str, dict[str, Any]]] = []

        def note(cursor: object, sql: str, bindings: Any) -> bool:
            if isinstance(bindings, dict) and ":page_after" in sql:
                seen.append((sql, dict(bindings)))
            return True

        graph.connection.exec_trace = note
        try:
            self.rows = [body for body, _ in compiled.run_json(graph, parameters, limit=100)]
        finally:
            graph.connection.exec_trace = None
        self.sql, self.bindings = seen[-1]
        plan = graph.connection.execute(f"EXPLAIN QUERY PLAN {self.sql}", self.bindings)
        self.plan = [str(row[3]) for row in plan]


@pytest.fixture(scope="module")
def rooms(make_graph: Callable[..., Any]) -> SqliteSession:
    """Two thousand rooms, with an index on their names and statistics of all tables."""
    twins = [(f"t{i}", ROOM, {"name": f"n{i}", "x": i}) for i in range(2000)]
    graph: SqliteSession = make_graph(twins, [("t1", "has", "t2", {})])
    create_index(graph.connection, "name")
    graph.connection.execute("ANALYZE").fetchall()
    return graph


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a) WHERE a.$dtId IN ['t1', 't5', 'none'] RETURN a.$dtId AS i",
        f"MATCH (a) WHERE a.$dtId IN ['t1', 't5', {LITERALS}] AND a.x < 9 RETURN a.$dtId AS i",
        "MATCH (a) WHERE a.$dtId IN $ids RETURN a.$dtId AS i",
        "MATCH (a:Room) WHERE a.$dtId IN $ids RETURN a.$dtId AS i",
        "SELECT T.$dtId AS i FROM DIGITALTWINS T WHERE T.$dtId IN ['t1', 't5', 'none']",
    ],
    ids=["literals", "many literals", "parameter", "label", "vendor"],
)
def test_ids_in_a_list_are_sought_by_key_and_not_scanned(text: str, rooms: SqliteSession) -> None:
    ran = _Recorder(rooms, text, {"ids": ["t1", 5, "t5", None, True]})
    assert [orjson.loads(row)["i"] for row in ran.rows] == ["t1", "t5"]
    sought = [step for step in ran.plan if step.startswith(("SEARCH n1", "SCAN n1"))]
    assert len(sought) == 1
    assert "INDEX sqlite_autoindex_twin_1 (dt_id=?" in sought[0]


@pytest.mark.parametrize(
    "members", ["['n1', 'n2']", "['n1', 1, true, null, 'n2']", "$names"], ids=lambda each: each
)
def test_a_property_in_a_list_is_sought_by_its_index(members: str, rooms: SqliteSession) -> None:
    text = f"MATCH (a) WHERE a.name IN {members} RETURN a.x AS x"
    ran = _Recorder(rooms, text, {"names": ["n1", "n2", 7, False]})
    found = sorted(orjson.loads(row)["x"] for row in ran.rows)
    assert found == [1, 2]
    assert any("SEARCH n1 USING INDEX twin_property_name" in step for step in ran.plan)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a) WHERE a.$dtId IN [<l>] RETURN a",
        "MATCH (a) WHERE NOT a.name IN [<l>] RETURN a",
        "SELECT T FROM DIGITALTWINS T WHERE T.$dtId IN [<l>]",
        "SELECT T FROM DIGITALTWINS T WHERE T.name NIN [<l>]",
    ],
)
def test_the_statement_is_the_same_however_long_the_list(text: str, rooms: SqliteSession) -> None:
    short = _Recorder(rooms, text.replace("<l>", "'t1','t2'"), {})
    long = _Recorder(rooms, text.replace("<l>", LITERALS), {})
    assert long.sql == short.sql
    assert long.bindings.keys() == short.bindings.keys()
