"""What compiled queries promise beside their rows: text, pages, values, and what is declined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import QueryInvalid
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import Literal, Project, Query, ResultShape, Unit
from twinframe.query.engine import CannotRun, CompiledQuery
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.storage.base import GraphTransaction
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import build_twin_record
from twinframe.testing.query_law import QueryLaw
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.plugin import twinframe_query_engine
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.terms import Row
from twinframe_storage_rdf.vocabulary import build_bucket

NAMES = GraphNames("test")


def compile_text(
    text: str, parameters: Mapping[str, Value] | None = None, **changes: Any
) -> CompiledQuery:
    given_parameters = parameters or {}
    query = optimize(parse_query(text, parameters=tuple(given_parameters)).query)
    if changes:
        query = Query(query.root, query.columns, **changes)
    return SparqlQueryEngine(NAMES).compile(query, given_parameters)


def read_bodies(
    compiled: CompiledQuery, graph: Any, parameters: Mapping[str, Value] | None = None, **page: Any
) -> list[bytes]:
    return [body for body, _ in compiled.run_json(graph.session, parameters or {}, **page)]


# --- the hook -----------------------------------------------------------------------------------


def test_the_hook_gives_a_compiler_for_stores_of_this_plugin_alone() -> None:
    triples = RdfStore(OxigraphEngine(), NAMES, shared=False)
    assert isinstance(twinframe_query_engine(store=triples), SparqlQueryEngine)
    assert twinframe_query_engine(store=MemoryStore()) is None


# --- bodies -------------------------------------------------------------------------------------


def test_documents_come_to_the_byte(make_graph: Callable[..., Any]) -> None:
    graph = make_graph([("a", "dtmi:ex:Room;1", {"x": 1.10, "s": 'é\n"', "big": 2**63 - 1})], [])
    stored = graph.session.read_twin("a").body
    text = "MATCH (t) RETURN t"
    assert read_bodies(compile_text(text), graph) == [b'{"t":' + stored + b"}"]
    assert read_bodies(compile_text(text, shape=ResultShape.DOCUMENT), graph) == [stored]


def test_null_columns_are_left_out_where_the_language_says_so(odd_graph: Any) -> None:
    text = "MATCH (t:Sensor) RETURN t.$dtId AS i, t.flag AS flag, t.nope AS nope ORDER BY i"
    bodies = read_bodies(compile_text(text, omit_null=True), odd_graph)
    assert bodies == [b'{"i":"f","flag":true}', b'{"i":"h"}']


def test_a_document_of_something_else_is_declined() -> None:
    with pytest.raises(CannotRun):
        compile_text("MATCH (t) RETURN t.x AS x", shape=ResultShape.DOCUMENT)


def test_column_names_are_json_strings(odd_graph: Any) -> None:
    name = 'it\'s \\ "é" ?x }'
    query = Query(Project(Unit(), ((name, Literal(1)),)), (name,))
    compiled = SparqlQueryEngine(NAMES).compile(query, {})
    assert [orjson.loads(body) for body in read_bodies(compiled, odd_graph)] == [{name: 1}]


def test_rows_are_values_of_the_language(odd_graph: Any) -> None:
    compiled = compile_text(
        "MATCH (a {$dtId: 'a'})-[r:has {w: 1}]->(b) RETURN b, r, b.m AS m, true AS t"
    )
    ((b, r, m, t),) = compiled.run_rows(odd_graph.session, {})
    assert isinstance(b, Node)
    assert b.labels == {"Twin", "Room", "Space", "dtmi:ex:Room;1", "dtmi:ex:Space;1"}
    assert all(type(label) is str for label in b.labels)
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
        "MATCH (t) RETURN t, t.s AS s, t.s = 'foo' AS f",
    ],
)
def test_a_plain_scan_resumes_behind_a_key(text: str, odd_graph: Any) -> None:
    compiled = compile_text(text)
    assert compiled.resumable
    everything = list(compiled.run_json(odd_graph.session, {}))
    assert len(everything) > 1
    keys = [str(key) for _, key in everything]
    assert keys == sorted(set(keys), key=lambda key: (build_bucket(key), key))
    paged = []
    after = None
    while page := list(compiled.run_json(odd_graph.session, {}, after=after, limit=2)):
        assert len(page) <= 2
        paged += page
        after = page[-1][1]
    assert paged == everything
    assert list(compiled.run_json(odd_graph.session, {}, skip=1, limit=1000)) == everything[1:]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) RETURN t.$dtId AS i ORDER BY i",
        "MATCH (t) RETURN t.$dtId AS i ORDER BY i DESC SKIP 2 LIMIT 9",
        "MATCH (t) RETURN DISTINCT t.$metadata.$model AS m ORDER BY m LIMIT 100",
        "MATCH (a)-[*1..3]->(b) RETURN a.$dtId AS a, b.$dtId AS b ORDER BY a, b",
    ],
)
@pytest.mark.parametrize(("skip", "limit"), [(0, None), (0, 3), (2, 3), (4, None), (50, 3), (8, 3)])
def test_pages_of_other_results_lie_within_the_query_s_own(
    text: str, skip: int, limit: int | None, odd_graph: Any
) -> None:
    compiled = compile_text(text)
    assert not compiled.resumable
    everything = read_bodies(compiled, odd_graph)
    assert everything
    end = None if limit is None else skip + limit
    assert read_bodies(compiled, odd_graph, skip=skip, limit=limit) == everything[skip:end]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) RETURN t LIMIT 5",
        "MATCH (a)-[r]-(b) RETURN r",
        "MATCH (a), (b) RETURN a",
        "MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN b",
        "MATCH (a) WITH DISTINCT a.s AS s RETURN s",
        "MATCH (a) UNWIND [1, 2] AS x RETURN a",
        "MATCH (a) RETURN count(*) AS n",
        "MATCH (a) WITH a LIMIT 3 MATCH (b) RETURN b",
    ],
)
def test_a_result_whose_rows_are_no_single_twins_does_not_resume(text: str) -> None:
    assert not compile_text(text).resumable


def test_a_page_reads_the_documents_of_its_rows_alone() -> None:
    text = compile_text("MATCH (t) RETURN t").text
    assert text.index("ORDER BY") < text.index("document")


# --- values -------------------------------------------------------------------------------------


def test_a_compiled_query_runs_again_with_other_values(odd_graph: Any) -> None:
    text = "MATCH (t {$dtId: $id}) WHERE t.s STARTS WITH $s RETURN t.$dtId AS i"
    compiled = compile_text(text, {"id": "a", "s": "f"})
    for identity, prefix, found in (("a", "fo", 1), ("a", "x", 0), ("e", "f\0é", 1), ("a", "", 1)):
        rows = list(compiled.run_rows(odd_graph.session, {"id": identity, "s": prefix}))
        assert len(rows) == found


@given(st.text(max_size=12) | st.sampled_from(['"', "\\", "\\u0022", '" } #', "$v0_", "?x", "\n"]))
def test_no_value_leaves_its_literal(odd_graph: Any, value: str) -> None:
    text = "MATCH (t {$dtId: 'a'}) WHERE t.s <> $v AND t.s <> $w RETURN $v AS v, $w AS w, $n AS n"
    parameters: dict[str, Value] = {"v": value, "w": f'"{value}\\', "n": 7}
    compiled = compile_text(text, parameters)
    assert list(compiled.run_rows(odd_graph.session, parameters)) == [(value, f'"{value}\\', 7)]


@given(st.text(min_size=1, max_size=12))
def test_no_name_leaves_its_place(odd_graph: Any, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    text = f"MATCH (t)-[r:{quoted}]->(u:{quoted}) WHERE t.{quoted} = 'a' RETURN t.$dtId AS i"
    try:
        compiled = compile_text(text)
    except (QueryInvalid, CannotRun):
        return
    assert read_bodies(compiled, odd_graph) == []


@pytest.mark.parametrize("value", [float("nan"), 2**63, float("inf"), -(2**63) - 1])
def test_values_that_sparql_does_not_have_are_declined(value: Value, odd_graph: Any) -> None:
    compiled = compile_text("MATCH (t) WHERE t.x = $v RETURN t", {"v": value})
    with pytest.raises(CannotRun):
        list(compiled.run_json(odd_graph.session, {"v": value}))


def test_a_missing_parameter_is_an_error_of_the_caller() -> None:
    query = parse_query("RETURN $x AS x", parameters=("x",)).query
    with pytest.raises(QueryInvalid, match=r"\$x"):
        SparqlQueryEngine(NAMES).compile(query, {})


def test_explain_shows_the_sparql_with_its_parameters_open() -> None:
    text = compile_text(
        "MATCH (t:Room|Sensor)-[:has]->(u) WHERE t.s = $name RETURN u.x AS x", {"name": "a"}
    ).text
    assert text.startswith("SELECT ")
    assert "FROM <urn:twinframe:graph:test> WHERE {" in text
    assert "$name" in text
    assert "$models[" in text
    assert "\0" not in text


# --- how it is run --------------------------------------------------------------------------------


class Counted(OxigraphEngine):
    """Counts the queries."""

    texts: list[str]

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        self.texts.append(text)
        return super().select(text, deadline)


def test_the_evaluator_reads_in_batches_never_once_a_row() -> None:
    engine = Counted()
    engine.texts = []
    store = RdfStore(engine, NAMES, shared=False)
    store.open()

    def apply(transaction: GraphTransaction) -> None:
        for number in range(200):
            transaction.put_twin(build_twin_record(f"t{number}", model="Room"))

    store.write([apply])
    session, counts = store.session(), []
    text = "MATCH (t) WHERE t.$dtId =~ 't.*' OPTIONAL MATCH p = (t)-->()-->() RETURN t, p"
    for size in (1, 1000):
        query = optimize(parse_query(text + f" LIMIT {size}").query)
        execution = split(query, SparqlQueryEngine(NAMES), {})
        engine.texts = []
        with session.snapshot():
            rows = list(execution.run_rows(session, {}, Limits()))
        assert len(rows) == min(size, 200)
        counts.append(len(engine.texts))
    assert counts[1] <= counts[0] + 12


def test_a_graph_that_was_written_meanwhile_is_left_to_the_evaluator() -> None:
    store = RdfStore(OxigraphEngine(), NAMES, shared=False)
    store.open()
    store.write([lambda transaction: transaction.put_twin(build_twin_record("t"))])
    session, compiled = store.session(), compile_text("MATCH (t) RETURN t.$dtId AS i")
    with session.snapshot():
        assert len(list(compiled.run_json(session, {}))) == 1
        store.write([lambda transaction: transaction.put_twin(build_twin_record("u"))])
        with pytest.raises(CannotRun):
            list(compiled.run_json(session, {}))
    assert len(list(compiled.run_json(session, {}))) == 2


def test_a_snapshot_that_showed_nothing_yet_begins_with_its_first_select() -> None:
    store = RdfStore(OxigraphEngine(), NAMES, shared=False)
    store.open()
    store.write([lambda transaction: transaction.put_twin(build_twin_record("t"))])
    session, compiled = store.session(), compile_text("MATCH (t) RETURN t.$dtId AS i")
    with session.snapshot():
        session.read_schema_version()
        store.write([lambda transaction: transaction.put_twin(build_twin_record("u"))])
        assert len(list(compiled.run_json(session, {}))) == 2
        store.write([lambda transaction: transaction.put_twin(build_twin_record("v"))])
        with pytest.raises(CannotRun):
            list(compiled.run_json(session, {}))
        assert len(list(session.scan_nodes(None))) == 2


def test_a_member_that_equals_a_string_is_a_triple() -> None:
    text = compile_text(
        "MATCH (t {name: $p}) WHERE t.$dtId IN ['a', 'b'] RETURN 1 AS n", {"p": "x"}
    ).text
    assert "<urn:twinframe:property:name> $p ." in text
    assert "FILTER" not in text


def test_a_walk_of_any_length_in_a_condition_is_a_property_path() -> None:
    text = compile_text("MATCH (t) WHERE EXISTS { (t)-[:has*]->(:Room) } RETURN t.x AS x").text
    assert "(<urn:twinframe:edge:has>)+" in text


# --- what is declined ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("MATCH (t) RETURN stDev(t.x) AS v", "stDev"),
        ("MATCH (t) RETURN split(t.s, 'o') AS v", "split"),
        ("MATCH (t) WHERE t.s =~ 'a.*' RETURN t", "=~"),
        ("MATCH p = shortestPath((a)-[*]->(b)) RETURN length(p) AS n", "shortest path"),
        ("MATCH (a)-[*]->(b) RETURN a, b", "ways count"),
        ("MATCH (a)-[r*1..2]->(b) RETURN r", "relationships of a variable-length"),
        ("MATCH (t:Model) RETURN t", "Model"),
        ("MATCH (t) RETURN t.$metadata AS m", r"\$metadata"),
        ("MATCH (t) RETURN collect(t.x) AS l", "collect"),
    ],
)
def test_what_sparql_cannot_say_is_named(text: str, named: str) -> None:
    with pytest.raises(CannotRun, match=named):
        compile_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) WHERE t.x > 0 RETURN t.x + 1 AS v",
        "MATCH (t) WHERE t.flag OR t.x RETURN t",
        "MATCH (t) RETURN t ORDER BY t.x",
        "MATCH (t) RETURN DISTINCT t.x AS x",
        "MATCH (t) RETURN sum(t.x) AS n",
        "MATCH (t) RETURN max(t.x) AS n",
        "MATCH (t) WHERE t.m.k.z = 1 RETURN t",
        "MATCH (t) WHERE t.nope = t.s - 1 RETURN t",
        "MATCH (t) WITH t, t.s - 1 AS v WHERE t.nope > 1 RETURN v",
        "MATCH (t) WITH t, t.s - 1 AS v WHERE t.nope = 'a' RETURN v",
    ],
)
def test_a_value_beyond_sparql_is_declined_while_running_and_never_answered(
    text: str, odd_graph: Any
) -> None:
    compiled = compile_text(text)
    with pytest.raises(CannotRun):
        read_bodies(compiled, odd_graph)


def test_a_row_that_stops_the_query_is_never_skipped(make_graph: Callable[..., Any]) -> None:
    graph = make_graph(
        [(f"t{n}", "dtmi:ex:Room;1", {"x": [1] if n == 3 else n}) for n in range(6)], []
    )
    for text in (
        "MATCH (t) RETURN t.$dtId AS i ORDER BY t.x",
        "MATCH (t) RETURN t.x - 1 AS v",
        "MATCH (t) RETURN t.$dtId AS i, t.x - 1 AS v ORDER BY i",
    ):
        compiled = compile_text(text)
        for skip in range(6):
            with pytest.raises(CannotRun):
                read_bodies(compiled, graph, skip=skip)
    for text in (
        "MATCH (t) RETURN t.$dtId AS i ORDER BY t.x SKIP 1",
        "MATCH (t) RETURN t.$dtId AS i ORDER BY t.x SKIP 5 LIMIT 1",
        "MATCH (t) WITH t ORDER BY t.$dtId SKIP 3 RETURN t.x - 1 AS v",
    ):
        with pytest.raises(CannotRun):
            read_bodies(compile_text(text), graph)
        with pytest.raises(CannotRun):
            list(compile_text(text).run_rows(graph.session, {}))
    with pytest.raises(CannotRun, match="SKIP"):
        compile_text("MATCH (t) WITH t ORDER BY t.x SKIP 1 MATCH (t)-->(u) RETURN u")


def test_a_value_is_no_place_of_a_text(odd_graph: Any) -> None:
    for value in ("\0after", "\0page", "\0page\0", "$v1_"):
        parameters: dict[str, Value] = {"v": value, "\0page": " nonsense"}
        compiled = compile_text("MATCH (t {$dtId: 'a'}) RETURN $v AS v, '$v0_' AS w", parameters)
        bodies = read_bodies(compiled, odd_graph, parameters, limit=5)
        assert [orjson.loads(body) for body in bodies] == [{"v": value, "w": "$v0_"}]


def test_own_pages_and_pages_asked_for_meet(query_law: QueryLaw) -> None:
    text = "MATCH (t) RETURN t.$dtId AS i ORDER BY t.x SKIP $a LIMIT $b"
    compiled = compile_text(text, {"a": 1, "b": 4})
    everything = read_bodies(compiled, query_law.plain, {"a": 0, "b": 100})
    for a, b, skip, limit in (
        (1, 4, 0, None),
        (1, 4, 1, 2),
        (0, 3, 2, 5),
        (9, 9, 0, 1),
        (1, 0, 0, 5),
    ):
        end = None if limit is None else skip + limit
        found = read_bodies(compiled, query_law.plain, {"a": a, "b": b}, skip=skip, limit=limit)
        assert found == everything[a : a + b][skip:end]
    with pytest.raises(CannotRun):
        read_bodies(compiled, query_law.plain, {"a": -1, "b": 2})
