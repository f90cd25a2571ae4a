"""What compiled queries promise beside their rows: text, pages, values, and what is declined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun, CompiledQuery
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.storage.base import GraphTransaction
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.query_results import SCANS
from twinframe.testing.factories import build_twin_record
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


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", SCANS[:4])
def test_a_plain_scan_of_twins_comes_in_the_order_of_its_buckets(text: str, odd_graph: Any) -> None:
    compiled = compile_text(text)
    assert compiled.resumable
    keys = [str(key) for _, key in compiled.run_json(odd_graph.session, {})]
    assert keys == sorted(set(keys), key=lambda key: (build_bucket(key), key))


def test_a_page_reads_the_documents_of_its_rows_alone() -> None:
    text = compile_text("MATCH (t) RETURN t").text
    assert text.index("ORDER BY") < text.index("document")


# --- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), 2**63, float("inf"), -(2**63) - 1])
def test_values_that_sparql_does_not_have_are_declined(value: Value, odd_graph: Any) -> None:
    compiled = compile_text("MATCH (t) WHERE t.x = $v RETURN t", {"v": value})
    with pytest.raises(CannotRun):
        list(compiled.run_json(odd_graph.session, {"v": value}))


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
