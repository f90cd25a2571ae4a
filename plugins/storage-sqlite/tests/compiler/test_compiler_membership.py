"""IN over lists: one bound value however long the list, sought by an index where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.model.values import Value
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.indexes import create_index
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


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((0, 1, -1, 2**53 + 1, 2**63 - 1)),
    st.sampled_from((0.0, -0.0, 1.0, 0.1, 1e308, float(2**53))),
    st.text(alphabet="a1é\0\\\"'😀\uffff", max_size=2),
)
ITEMS = st.lists(st.one_of(SCALARS, st.lists(SCALARS, max_size=2)), max_size=3)


def _render(value: Any) -> str:
    match value:
        case str():
            return orjson.dumps(value).decode()
        case list():
            return f"[{', '.join(map(_render, value))}]"
        case None | bool():
            return str(orjson.dumps(value), "ascii")
        case _:
            return repr(value)


@settings(max_examples=150, deadline=None)
@given(
    stored=st.tuples(*[st.one_of(SCALARS, st.lists(SCALARS, max_size=2))] * 3),
    items=ITEMS,
    item=st.sampled_from(("t.x", "t.$dtId", "t.x[0]", "t.nope", "r.$sourceId", "1", "null")),
    test=st.sampled_from(("{}", "NOT {}", "({}) IS NULL", "NOT ({} OR t.nope)")),
)
def test_membership_is_typed_and_three_valued_as_the_evaluator_has_it(
    law: Callable[..., Any],
    make_graph: Callable[..., Any],
    stored: Sequence[Any],
    items: list[Any],
    item: str,
    test: str,
) -> None:
    ids = ("a", "1", "é")
    twins = [(name, ROOM, {"x": value}) for name, value in zip(ids, stored, strict=True)]
    graph = make_graph(twins, [("a", "has", "1", {}), ("1", "has", "é", {})])
    for members in (_render(items), "$l"):
        condition = test.format(f"{item} IN {members}")
        pattern = "(t)-[r]->()" if item.startswith("r") else "(t)"
        law(f"MATCH {pattern} WHERE {condition} RETURN t.$dtId AS i", graph, {"l": items})
        law(f"MATCH {pattern} RETURN {condition} AS v, t", graph, {"l": items})
