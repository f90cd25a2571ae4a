"""The compiled query as the service meets it: rows as bytes, pages, refusals, plans of SQLite."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import apsw
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import QueryTimeout
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.testing.contracts.query_results import SCANS
from twinframe.testing.query_law import QueryLaw
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.compiler.strings import build_prefix_end
from twinframe_storage_sqlite.json_paths import render_path
from twinframe_storage_sqlite.session import SqliteSession


def compile_text(
    text: str, parameters: dict[str, Value] | None = None, **changes: Any
) -> SqliteQuery:
    given_parameters = parameters or {}
    query = parse_query(text, parameters=tuple(given_parameters)).query
    compiled = SqliteQueryEngine().compile(replace(query, **changes), given_parameters)
    assert isinstance(compiled, SqliteQuery)
    return compiled


def read_bodies(compiled: SqliteQuery, graph: SqliteSession, **options: Any) -> list[bytes]:
    return [body for body, _ in compiled.run_json(graph, {}, **options)]


def explain(graph: SqliteSession, compiled: SqliteQuery) -> str:
    names = ["page_after", "page_skip", "page_limit", *(f"{c}{n}" for c in "cp" for n in range(20))]
    plan = graph.connection.execute(
        f"EXPLAIN QUERY PLAN {compiled.text}", dict.fromkeys(names, "1")
    )
    return "\n".join(row[3] for row in plan)


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", SCANS)
def test_a_plain_scan_comes_in_the_order_of_its_rows(text: str, odd_graph: SqliteSession) -> None:
    compiled = compile_text(text)
    assert compiled.resumable
    keys = [int(key or 0) for _, key in compiled.run_json(odd_graph, {})]
    assert keys == sorted(set(keys))


# --- values and names ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), 2**63, [float("inf")], [2**64], -(2**63) - 1])
def test_values_that_sqlite_does_not_have_are_declined(
    value: Value, odd_graph: SqliteSession
) -> None:
    compiled = compile_text("MATCH (t) WHERE t.x IN [1, $v] OR t.x = $v RETURN t", {"v": value})
    with pytest.raises(CannotRun):
        list(compiled.run_json(odd_graph, {"v": value}))


def test_values_never_stand_in_the_text() -> None:
    compiled = compile_text(
        "MATCH (t:L7 {a: 'v1'})-[:T7*2..3 {w: 77}]->(b) WHERE t.b IN ['v2', 88.5] AND"
        " t.c STARTS WITH 'v3' AND t.d = $p RETURN 'v4' AS x, 99 AS y SKIP 55 LIMIT 66",
        {"p": "v5"},
    )
    for value in ["L7", "T7", "v1", "v2", "v3", "v4", "v5", "77", "88.5", "99", "55", "66"]:
        assert value not in compiled.text


@given(st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_any_member_name_is_found_by_its_path(names: list[str]) -> None:
    value: Any = 1
    for name in reversed(names):
        value = {name: value, name + "x": 2, "x" + name: 3}
    document = orjson.dumps(value).decode()
    connection = apsw.Connection(":memory:")
    (found,) = connection.execute(f"SELECT jsonb(?) ->> {render_path(tuple(names))}", (document,))
    assert found == (1,)


@given(st.text(max_size=3), st.text(max_size=3))
def test_a_prefix_is_a_range_of_strings(prefix: str, text: str) -> None:
    end = build_prefix_end(prefix)
    below = isinstance(end, bytes) or text.encode() < str(end).encode()
    assert (prefix.encode() <= text.encode() and below) == text.startswith(prefix)


def test_the_greatest_code_point_ends_no_range() -> None:
    assert build_prefix_end("a\U0010ffff") == "b"
    assert build_prefix_end("\U0010ffff") == b""
    assert build_prefix_end("\ud7ff") == "\ue000"


# --- how SQLite runs it ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def indexed(make_graph: Callable[..., Any]) -> SqliteSession:
    twins = [(f"t{n}", "dtmi:ex:Room;1", {"temperature": n, "name": f"n{n}"}) for n in range(50)]
    graph: SqliteSession = make_graph(twins, [(f"t{n}", "has", f"t{n + 1}", {}) for n in range(49)])
    for member in ("temperature", "name"):
        path = render_path((member,))
        graph.connection.execute(f"CREATE INDEX twin_{member} ON twin (document ->> {path})")
    return graph


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("MATCH (t) WHERE t.temperature > 5 RETURN t ORDER BY t.temperature LIMIT 3", "twin_temp"),
        ("MATCH (t) WHERE t.temperature = $p RETURN count(*) AS n", "twin_temperature"),
        ("MATCH (t) WHERE NOT t.temperature >= 5 RETURN count(*) AS n", "twin_temperature"),
        ("MATCH (t) WHERE t.name STARTS WITH 'n' RETURN count(*) AS n", "twin_name"),
        ("MATCH (t) WHERE t.name IN ['n1', 'n2'] RETURN count(*) AS n", "twin_name"),
        ("MATCH (t {name: 'n1'}) RETURN count(*) AS n", "twin_name"),
        ("MATCH (t {$dtId: $p}) RETURN t", "sqlite_autoindex_twin_1"),
        ("MATCH (a)-->(b) WHERE a.$dtId = $p RETURN b", "relationship_out (source=?)"),
        ("MATCH (a)<-[:has]-(b) WHERE a.$dtId = $p RETURN b", "relationship_in (target=? AND name"),
        ("MATCH (a)--(b) WHERE a.$dtId = $p RETURN b", "MULTI-INDEX OR"),
        ("MATCH (a) OPTIONAL MATCH (a)-->(b:Room) RETURN b", "relationship_out (source=?)"),
        ("MATCH (a)-[*1..4]->(b) WHERE a.$dtId = $p RETURN b", "n4 USING INTEGER PRIMARY KEY"),
        ("MATCH (t) WHERE t.$metadata.$model = $p RETURN max(t.x) AS n", "twin_model (model=?)"),
        ("MATCH (t:Room) RETURN count(t.x) AS n", "twin_model (model=?)"),
    ],
)
def test_conditions_stay_in_reach_of_an_index(text: str, used: str, indexed: SqliteSession) -> None:
    compiled = compile_text(text, {"p": "t1"})
    plan = explain(indexed, compiled)
    assert used in plan
    assert "AUTOMATIC" not in plan


def test_anonymous_ends_are_not_joined() -> None:
    compiled = compile_text("MATCH (a)-->()-->()-->() WHERE a.$dtId = 'a' RETURN count(*) AS n")
    assert compiled.text.count("twin AS") == 1


def test_an_ordered_scan_by_an_indexed_member_needs_no_sort(indexed: SqliteSession) -> None:
    text = "MATCH (t) WHERE t.temperature > 5 RETURN t ORDER BY t.temperature LIMIT 3"
    assert "TEMP B-TREE" not in explain(indexed, compile_text(text))


def test_a_rare_label_is_paged_by_its_index_and_a_common_one_by_row_id(
    make_graph: Callable[..., Any],
) -> None:
    models = ["dtmi:ex:Sensor;1"] * 3 + ["dtmi:ex:Space;1"] * 97
    graph = make_graph([(f"t{n}", model, {}) for n, model in enumerate(models)], [])
    graph.connection.execute("ANALYZE")
    plans: list[str] = []

    def trace(_cursor: object, sql: str, _bindings: object) -> bool:
        plans.append(sql)
        return True

    for label in ("Sensor", "Space"):
        compiled = compile_text(f"MATCH (t:{label}) RETURN t.$dtId AS i")
        graph.connection.exec_trace = trace
        bodies = read_bodies(compiled, graph, limit=50)
        graph.connection.exec_trace = None
        assert len(bodies) == (3 if label == "Sensor" else 50)
        assert ("INDEXED BY twin_model" in plans[-1]) == (label == "Sensor")


def test_a_limit_comes_before_the_documents_it_leaves() -> None:
    compiled = compile_text("MATCH (a)-->(b) WITH b, count(*) AS n ORDER BY n LIMIT 3 RETURN b, n")
    assert compiled.text.index("LIMIT :c") < compiled.text.index("CROSS JOIN twin")


def test_a_deadline_stops_a_running_statement(make_graph: Callable[..., Any]) -> None:
    twins: list[tuple[Any, ...]] = [(f"t{n}", "dtmi:ex:Room;1", {}) for n in range(12)]
    edges: list[tuple[Any, ...]] = [
        (f"t{a}", "has", f"t{b}", {}) for a in range(12) for b in range(12)
    ]
    graph = make_graph(twins, edges)
    compiled = compile_text("MATCH (a)-[*]->(b) RETURN count(*) AS n")
    with pytest.raises(QueryTimeout), graph.snapshot(time.monotonic() + 0.05):
        read_bodies(compiled, graph)


# --- what is declined ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("MATCH (t) RETURN percentileDisc(t.x, t.x) AS v", "A percentile by a number that"),
        ("MATCH (t) RETURN percentileDisc(t.x, 1.5) AS v", "no fraction of 0 to 1"),
        ("MATCH (t) WITH {t: t} AS m RETURN m {.*} AS v", "A map projection of nodes"),
        ("MATCH (t) RETURN date(t.s) AS v", "date"),
        ("MATCH (t) WHERE t.s =~ 'a.*' RETURN t", "=~"),
        ("MATCH p = allShortestPaths((a)-[*]->(b)) RETURN p", "shortest"),
        ("MATCH p = shortestPath((a)-[*]->(b)) RETURN p", "shortest path than its length"),
        ("MATCH p = allShortestPaths((a)-[*]->(b)) RETURN length(p) AS n", "All shortest paths"),
        ("MATCH (t:Model) RETURN t", "Model"),
        ("MATCH (t) RETURN reduce(a = t, x IN t.list | a) AS v", "reduce"),
    ],
)
def test_what_sql_cannot_say_is_named(text: str, named: str) -> None:
    with pytest.raises(CannotRun, match=named.replace("^", r"\^")):
        compile_text(text)


def test_a_long_chain_of_alternatives_is_one_statement(odd_graph: SqliteSession) -> None:
    text = " OR ".join(f"t.s = 'v{number}'" for number in range(1500))
    assert read_bodies(compile_text(f"MATCH (t) WHERE {text} RETURN t.s AS s"), odd_graph) == []


@pytest.mark.parametrize(
    "text",
    [
        " UNION ALL ".join(["RETURN 1 AS x"] * 150),
        "MATCH (t) " + "WITH t ORDER BY t.s LIMIT 100 " * 60 + "RETURN t.s AS s",
        f"RETURN {', '.join(f'{n} AS c{n}' for n in range(1200))}",
        f"RETURN [{', '.join(f'{n}' for n in range(1500))}] AS x",
        f"MATCH (t) WHERE t.x IN [{', '.join(f'{n}' for n in range(3000))}] RETURN t.s AS s",
        "MATCH (a) "
        + " ".join(
            f"OPTIONAL MATCH (a)--()-[:no]-(b{n})"
            for n in range(int(__import__("os").environ.get("NOPT", "6")))
        )
        + " RETURN count(*) AS n",
    ],
    ids=["unions", "withs", "columns", "items", "members", "optionals"],
)
def test_large_queries_are_within_the_limits_of_sqlite(text: str, odd_graph: SqliteSession) -> None:
    assert read_bodies(compile_text(text), odd_graph)


def test_a_limit_of_sqlite_is_declined_while_running(odd_graph: SqliteSession) -> None:
    compiled = compile_text("MATCH (a)" + "-->()" * 70 + " RETURN count(*) AS n")
    with pytest.raises(CannotRun, match="tables in a join"):
        read_bodies(compiled, odd_graph)


def test_a_deep_expression_is_declined_in_bounded_size(odd_graph: SqliteSession) -> None:
    text = "t.x" + " + t.x" * 60
    with pytest.raises(CannotRun):
        compile_text(f"MATCH (t) WHERE t.x > 0 RETURN {text} AS v")


def test_a_chain_of_clauses_that_use_a_value_twice_stays_small(
    query_law: QueryLaw,
) -> None:
    doubled = "MATCH (t) " + "".join(
        f"WITH coalesce(x{n}, t.y, x{n}) AS x{n + 1}, t " for n in range(30)
    ).replace("coalesce(x0, t.y, x0)", "t.x")
    assert len(compile_text(f"{doubled} RETURN x30 AS v").text) < 100_000
    assert query_law.check(f"{doubled} RETURN x30 AS v").declined is None


# --- long searches ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "template",
    [
        "MATCH (t) WHERE {text} CONTAINS {part} RETURN count(*) AS n",
        "MATCH (t) WHERE NOT {text} CONTAINS {part} RETURN count(*) AS n",
        "MATCH (t) WHERE {text} STARTS WITH {part} + '' RETURN count(*) AS n",
        "MATCH (t) RETURN sum(size(replace({text}, {part}, 'z'))) AS n",
    ],
)
@pytest.mark.parametrize("part", ["$p", "reduce(s = $p, i IN range(1, 2) | s)"])
def test_a_long_string_is_not_searched_for_in_sql(
    template: str, part: str, odd_graph: SqliteSession
) -> None:
    query = template.format(text="toUpper($t)", part=part)
    values = {"t": "x" * 5000, "p": "X" * 1024}
    compiled = compile_text(query, parameters=values)
    assert len(list(compiled.run_json(odd_graph, values))) == 1
    for longer in ("X" * 1025, "É" * 513):
        with pytest.raises(CannotRun, match="long string"):
            list(compiled.run_json(odd_graph, {**values, "p": longer}))
