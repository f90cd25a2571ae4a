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

from twinframe.errors import QueryInvalid, QueryTimeout
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import Literal, Project, Query, ResultShape, Unit
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
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


# --- bodies -------------------------------------------------------------------------------------


def test_a_document_leaves_as_the_bytes_it_was_stored_with(make_graph: Callable[..., Any]) -> None:
    graph = make_graph([("a", "dtmi:ex:Room;1", {"x": 1.10, "s": 'é\n"', "big": 2**63 - 1})], [])
    stored = graph.read_one("SELECT CAST(json(document) AS BLOB) FROM twin")
    text = "MATCH (t) RETURN t"
    assert read_bodies(compile_text(text), graph) == [b'{"t":' + stored + b"}"]
    assert read_bodies(compile_text(text, shape=ResultShape.DOCUMENT), graph) == [stored]


def test_null_columns_are_left_out_where_the_language_says_so(odd_graph: SqliteSession) -> None:
    text = "MATCH (t:Sensor) RETURN t.$dtId AS i, t.flag AS flag, t.nope AS nope ORDER BY i"
    bodies = read_bodies(compile_text(text, omit_null=True), odd_graph)
    assert bodies == [b'{"i":"f","flag":true}', b'{"i":"h"}']
    bodies = read_bodies(
        compile_text("MATCH (t:Sensor) RETURN t.no AS n", omit_null=True), odd_graph
    )
    assert bodies == [b"{}", b"{}"]


def test_a_document_of_something_else_is_declined() -> None:
    with pytest.raises(CannotRun):
        compile_text("MATCH (t) RETURN t.x AS x", shape=ResultShape.DOCUMENT)


def test_column_names_are_json_strings_and_sql_strings(odd_graph: SqliteSession) -> None:
    name = 'it\'s \\ "é"'
    query = Query(Project(Unit(), ((name, Literal(1)),)), (name,))
    compiled = SqliteQueryEngine().compile(query, {})
    assert [orjson.loads(body) for body, _ in compiled.run_json(odd_graph, {})] == [{name: 1}]


def test_rows_are_values_of_the_language(odd_graph: SqliteSession) -> None:
    compiled = compile_text(
        "MATCH (a {$dtId: 'a'})-[r:has {w: 1}]->(b) RETURN b, r, b.m AS m, true AS t"
    )
    ((b, r, m, t),) = compiled.run_rows(odd_graph, {})
    assert isinstance(b, Node)
    assert b.labels == {"Twin", "Room", "Space", "dtmi:ex:Room;1", "dtmi:ex:Space;1"}
    assert isinstance(r, Relationship)
    assert (r.source, r.id, r.target, r.type, r.document["w"]) == ("a", "r1", "b", "has", 1)
    assert m == {"k": 5, "deep": {"er": "x"}}
    assert t is True


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) RETURN t.$dtId AS i",
        "MATCH (t:Space) WHERE t.s > '' RETURN t.$dtId AS i",
        "MATCH (t:Room|Sensor) RETURN t",
        "MATCH (a)-[r]->(b) RETURN r",
        "MATCH (a:Room)-[r:has]->(b) WHERE b.s > '' RETURN a.s AS a, b.s AS b",
    ],
)
def test_a_plain_scan_resumes_behind_a_key(text: str, odd_graph: SqliteSession) -> None:
    compiled = compile_text(text)
    assert compiled.resumable
    everything = list(compiled.run_json(odd_graph, {}))
    assert len(everything) > 1
    keys = [int(key or 0) for _, key in everything]
    assert keys == sorted(set(keys))
    paged = []
    after = None
    while page := list(compiled.run_json(odd_graph, {}, after=after, limit=2)):
        assert len(page) <= 2
        paged += page
        after = page[-1][1]
    assert paged == everything
    # A page with room for more than there is makes the other of two scans the better one.
    assert list(compiled.run_json(odd_graph, {}, limit=1000)) == everything
    assert list(compiled.run_json(odd_graph, {}, skip=1, limit=1000)) == everything[1:]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) RETURN t.$dtId AS i ORDER BY i",
        "MATCH (t) RETURN t.$dtId AS i ORDER BY i DESC SKIP 2 LIMIT 9",
        "MATCH (t) WITH t ORDER BY t.$dtId LIMIT 10 RETURN t.$dtId AS i ORDER BY i SKIP 1",
        "MATCH (t) RETURN DISTINCT t.$metadata.$model AS m ORDER BY m LIMIT 100",
        "MATCH (a)-[*1..3]->(b) RETURN a.$dtId AS a, b.$dtId AS b ORDER BY a, b",
    ],
)
@pytest.mark.parametrize(("skip", "limit"), [(0, None), (0, 3), (2, 3), (4, None), (50, 3), (8, 3)])
def test_pages_of_other_results_lie_within_the_query_s_own(
    text: str, skip: int, limit: int | None, odd_graph: SqliteSession
) -> None:
    compiled = compile_text(text)
    assert not compiled.resumable
    everything = read_bodies(compiled, odd_graph)
    end = None if limit is None else skip + limit
    assert read_bodies(compiled, odd_graph, skip=skip, limit=limit) == everything[skip:end]


def test_counts_of_rows_may_be_parameters(odd_graph: SqliteSession) -> None:
    given_parameters: dict[str, Value] = {"skip": 1, "limit": 2}
    text = "MATCH (t) RETURN t.$dtId AS i ORDER BY i SKIP $skip LIMIT $limit"
    compiled = compile_text(text, given_parameters)
    assert [body for body, _ in compiled.run_json(odd_graph, given_parameters)] == [
        b'{"i":"a"}',
        b'{"i":"b"}',
    ]
    with pytest.raises(CannotRun):
        list(compiled.run_json(odd_graph, {"skip": -1, "limit": 2}))


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) RETURN t LIMIT 5",
        "MATCH (a)-[r]-(b) RETURN r",
        "MATCH (a)-[r]->(b)-[q]->(c) RETURN r",
        "MATCH (a), (b) RETURN a",
        "MATCH (a)-[*]->(b) RETURN b",
        "MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN b",
        "MATCH (a) WITH DISTINCT a.s AS s RETURN s",
        "MATCH (a) UNWIND [1, 2] AS x RETURN a",
        "MATCH (a) RETURN count(*) AS n",
    ],
)
def test_a_result_whose_rows_are_no_rows_of_one_table_does_not_resume(text: str) -> None:
    assert not compile_text(text).resumable


# --- values and names ---------------------------------------------------------------------------


def test_a_compiled_query_runs_again_with_other_values(odd_graph: SqliteSession) -> None:
    text = "MATCH (t {$dtId: $id}) WHERE t.s STARTS WITH $s RETURN t.$dtId AS i"
    compiled = compile_text(text, {"id": "a", "s": "f"})
    for identity, prefix, found in (("a", "fo", 1), ("a", "x", 0), ("e", "f\0é", 1), ("a", "", 1)):
        rows = list(compiled.run_rows(odd_graph, {"id": identity, "s": prefix}))
        assert len(rows) == found


@pytest.mark.parametrize("value", [float("nan"), 2**63, [float("inf")], [2**64], -(2**63) - 1])
def test_values_that_sqlite_does_not_have_are_declined(
    value: Value, odd_graph: SqliteSession
) -> None:
    compiled = compile_text("MATCH (t) WHERE t.x IN [1, $v] OR t.x = $v RETURN t", {"v": value})
    with pytest.raises(CannotRun):
        list(compiled.run_json(odd_graph, {"v": value}))


def test_a_missing_parameter_is_an_error_of_the_caller() -> None:
    query = parse_query("RETURN $x AS x", parameters=("x",)).query
    with pytest.raises(QueryInvalid, match=r"\$x"):
        SqliteQueryEngine().compile(query, {})


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
        ("MATCH (t) RETURN stDev(t.x) AS v", "stDev"),
        ("MATCH (t) RETURN split(t.s, 'o') AS v", "split"),
        ("MATCH (t) WHERE t.s =~ 'a.*' RETURN t", "=~"),
        ("MATCH p = allShortestPaths((a)-[*]->(b)) RETURN p", "shortest"),
        ("MATCH p = shortestPath((a)-[*]->(b)) RETURN p", "shortest path than its length"),
        ("MATCH p = allShortestPaths((a)-[*]->(b)) RETURN length(p) AS n", "All shortest paths"),
        ("MATCH (t:Model) RETURN t", "Model"),
        ("MATCH (t) RETURN reduce(a = t, x IN t.list | a) AS v", "reduce"),
        ("MATCH (t) RETURN 2 ^ 3 AS v", "^"),
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
