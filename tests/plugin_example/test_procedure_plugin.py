"""Procedures from a plugin: installed, called, listed, held to what they declare."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.plugin_example.twinframe_reach.plugin import twinframe_procedures
from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.conftest import Client
from twinframe.errors import PluginError, QueryInvalid
from twinframe.graph import Graph
from twinframe.hooks.installation import build_installation
from twinframe.hooks.procedures import Effect, Node, Procedure, ProcedureGraph
from twinframe.model.rendering import build_json
from twinframe.service.application import create_app
from twinframe.service.preflight import find_problems
from twinframe.settings import (
    GraphSettings,
    LoggingSettings,
    MemorySettings,
    ServerSettings,
    Settings,
    StorageSettings,
)
from twinframe.storage.memory import MemoryStore
from twinframe.testing.procedure_contract import ProcedureContract

HERE = Path(__file__).resolve().parent
OPEN = GraphSettings(open_=True)
MEMORY = Settings(
    logging=LoggingSettings(access=False),
    storage=StorageSettings(provider="memory"),
    server=ServerSettings(workers=1),
    graph=OPEN,
    memory=MemorySettings(bytes_=2**34),  # the process of the tests is no worker of 384 MiB
)
CHAIN = "CREATE (:Stop {`$dtId`: 'a'})-[:to]->(:Stop {`$dtId`: 'b'})-[:to]->(:Stop {`$dtId`: 'c'})"
REACH = (
    "MATCH (s {`$dtId`: 'a'}) CALL acme.reachable(s, 'to', 5) YIELD node, distance "
    "RETURN node.`$dtId` AS id, distance"
)
LINK = "MATCH (n:Stop) WITH collect(n) AS all CALL acme.chain(all, 'next') YIELD relationship AS r "
MADE = """
from twinframe import hookimpl
from twinframe.hooks.procedures import Effect, Procedure

def make(name="acme.one", arguments=(), results=(), **more):
    return Procedure(name, arguments, results, lambda graph, given: (), "It does nothing.", **more)

@hookimpl
def twinframe_procedures():
    return {answer}
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a distribution with one plugin of procedures, whose module is `source`."""

    def build(name: str, module: str, source: str = "") -> None:
        folder = tmp_path / name
        information = folder / f"{name}-1.0.dist-info"
        information.mkdir(parents=True)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        (information / "METADATA").write_text(metadata, encoding="utf-8")
        entry = f"[twinframe.procedure]\n{name} = {module}\n"
        (information / "entry_points.txt").write_text(entry, encoding="utf-8")
        if source:
            (folder / f"{module}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.syspath_prepend(str(HERE))
        importlib.invalidate_caches()

    return build


class TestReachable(ProcedureContract):
    """The contract, for the procedure that reads."""

    setup = (CHAIN,)
    calls = (REACH,)

    def build_procedure(self) -> Procedure:
        return twinframe_procedures()[0]


class TestChain(ProcedureContract):
    """The contract, for the procedure that writes."""

    setup = (CHAIN,)
    calls = (f"{LINK} RETURN r",)

    def build_procedure(self) -> Procedure:
        return twinframe_procedures()[1]


def build_graph(*procedures: Procedure) -> Graph:
    store = MemoryStore()
    store.open()
    return Graph(InlineRunner(store), Settings(graph=OPEN), procedures=procedures)


def ask(graph: Graph, text: str) -> list[list[Any]]:
    statements = graph.statements
    found = asyncio.run(statements.run(statements.prepare(text, {})))
    return [[build_json(one) for one in row] for row in found.rows]


def query(graph: Graph, text: str) -> list[Any]:
    """The rows of the first page of a query."""
    return [orjson.loads(row) for row in asyncio.run(graph.queries.run(text, {})).rows]


def call(run: Any, results: Any = (("x", "INTEGER"),), **more: Any) -> list[list[Any]]:
    """The rows of a procedure that is made of a function."""
    graph = build_graph(Procedure("acme.made", (), results, run, **more))
    ask(graph, "CREATE (:Stop {`$dtId`: 'a'})")
    names = ", ".join(name for name, _ in results)
    return ask(
        graph, f"CALL acme.made() YIELD {names} RETURN {names}" if names else "CALL acme.made()"
    )


def test_an_installed_procedure_is_called_over_http(install: Install) -> None:
    install("reach", "twinframe_reach.plugin")
    client = Client(create_app(MEMORY))
    text = "CALL dbms.procedures() YIELD name, mode, permission RETURN name, mode, permission"
    answer = client.send("POST", "/cypher", orjson.dumps({"query": text}))
    assert answer.status == 200, answer.body
    names = {row["name"]: (row["mode"], row["permission"]) for row in answer.json["value"]}
    assert names["acme.chain"] == ("WRITE", "acme/chain")
    assert names["acme.reachable"] == ("READ", None)
    assert names["db.labels"] == ("READ", None)


def test_queries_call_what_only_reads() -> None:
    graph = build_graph(*twinframe_procedures())
    ask(graph, CHAIN)
    assert query(graph, REACH) == [{"id": "b", "distance": 1}, {"id": "c", "distance": 2}]
    more = "CALL db.labels() YIELD label WITH label MATCH (n:Stop) RETURN label, count(n) AS c"
    assert query(graph, more) == [{"label": "Stop", "c": 3}]
    assert query(graph, f"CALL {{ {more} }} RETURN c") == [{"c": 3}]


def test_the_rows_of_a_call_come_in_pages_of_one_state() -> None:
    graph = build_graph(*twinframe_procedures())
    ask(graph, CHAIN)
    page = asyncio.run(graph.queries.run(REACH, page_size=1))
    ask(graph, "MATCH (n) DETACH DELETE n")
    token = page.continuation_token
    following = asyncio.run(graph.queries.run(None, None, token, page_size=1))
    assert [*page.rows, *following.rows] == [b'{"id":"b","distance":1}', b'{"id":"c","distance":2}']


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{LINK} RETURN r", "acme.chain writes; send this to POST /cypher"),
        ("CALL acme.made()", "acme.made needs the permission acme/made; send this to POST /cypher"),
        ("EXPLAIN CALL db.labels()", "EXPLAIN shows no procedure here; send this to POST /cypher"),
        ("CALL db.label()", "there is no procedure db.label; did you mean 'db.labels'?"),
        ("CALL db.labels() YIELD label CREATE (n)", "CREATE is refused: a query only reads"),
        (
            "MATCH (n) WHERE EXISTS { CALL { CALL db.labels() YIELD label RETURN 1 } } RETURN n",
            "the procedure db cannot be called inside EXISTS",
        ),
    ],
)
def test_what_a_query_may_not_call_is_refused(text: str, said: str) -> None:
    made = Procedure("acme.made", (), (), lambda graph, given: (), permission="acme/made")
    graph = build_graph(*twinframe_procedures(), made)
    with pytest.raises(QueryInvalid) as caught:
        query(graph, text)
    assert said in caught.value.message


def test_an_error_that_a_procedure_catches_ends_the_statement() -> None:
    def run(graph: ProcedureGraph, given: Any) -> Any:
        graph.create_node(["Stop"], {})
        with contextlib.suppress(QueryInvalid):
            graph.delete(given[0])
        yield [1]

    every = frozenset(Effect)
    made = Procedure("acme.made", (("n", "NODE"),), (("x", "INTEGER"),), run, effects=every)
    graph = build_graph(made)
    ask(graph, CHAIN)
    with pytest.raises(QueryInvalid, match="has relationships"):
        ask(graph, "MATCH (n {`$dtId`: 'a'}) CALL acme.made(n) YIELD x RETURN x")
    assert ask(graph, "MATCH (n) RETURN count(n)") == [[3]]


def test_a_statement_needs_the_permissions_of_what_it_calls() -> None:
    graph = build_graph(*twinframe_procedures())
    needs = graph.statements.prepare(f"{LINK} RETURN r", {}).needs
    assert needs == ("query/write", "query/read", "digitaltwins/relationships/write", "acme/chain")
    inner = f"MATCH (x) CALL {{ {LINK} RETURN r }} RETURN r"
    assert "acme/chain" in graph.statements.prepare(inner, {}).needs
    assert graph.statements.prepare(REACH, {}).needs == ("query/read",)


def test_what_a_procedure_wrote_is_seen_by_the_clauses_after_it() -> None:
    graph = build_graph(*twinframe_procedures())
    ask(graph, CHAIN)
    rows = ask(graph, f"{LINK} WITH count(r) AS c MATCH ()-[r:next]->() RETURN c, count(r)")
    assert rows == [[2, 2]]


def test_a_change_shows_in_all_rows() -> None:
    def run(graph: ProcedureGraph, given: Any) -> Any:
        (node,) = given
        graph.set_properties(node, {"seen": True, "gone": None})
        return ()

    effects = frozenset({Effect.READ, Effect.WRITE_NODES})
    graph = build_graph(Procedure("acme.see", (("n", "NODE"),), (), run, effects=effects))
    ask(graph, "CREATE (:Stop {gone: 1})")
    rows = ask(
        graph, "MATCH (n:Stop) WITH n, n AS m CALL acme.see(n) RETURN m.seen, m.gone, n.seen"
    )
    assert rows == [[True, None, True]]


def test_nodes_are_created_and_deleted() -> None:
    def run(graph: ProcedureGraph, given: Any) -> Any:
        one = graph.create_node(["Stop"], {"name": "x"})
        other = graph.create_node(["Stop"], {})
        made = graph.create_relationship(one, other, "to", {"length": 2})
        graph.set_properties(made, {"length": 3})
        yield [one, made]
        graph.delete(other, detach=True)

    every = frozenset(Effect)
    results = (("n", "NODE"), ("r", "RELATIONSHIP"))
    graph = build_graph(Procedure("acme.play", (), results, run, effects=every))
    found = ask(graph, "CALL acme.play() YIELD n, r RETURN n.name")
    assert found == [["x"]]
    assert ask(graph, "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(n), count(r)") == [[1, 0]]


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda graph, node: graph.create_node(["Stop"], {}), "write nodes"),
        (lambda graph, node: graph.set_properties(node, {"x": 1}), "write nodes"),
        (
            lambda graph, node: graph.create_relationship(node, node, "to", {}),
            "write relationships",
        ),
        (lambda graph, node: graph.delete(node), "delete nodes"),
    ],
)
def test_a_write_that_is_not_declared_is_refused_and_nothing_is_kept(write: Any, said: str) -> None:
    def run(graph: ProcedureGraph, given: Any) -> Any:
        write(graph, given[0])
        return ()

    graph = build_graph(Procedure("acme.made", (("n", "NODE"),), (), run))
    ask(graph, "CREATE (:Stop)")
    before = ask(graph, "MATCH (n) RETURN n")
    with pytest.raises(QueryInvalid, match=f"does not declare that it may {said}"):
        ask(graph, "CREATE (:Other) WITH 1 AS x MATCH (n:Stop) CALL acme.made(n) RETURN n")
    assert ask(graph, "MATCH (n) RETURN n") == before


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["text"]], "'x' has the type String, not INTEGER"),
        ([[1, 2]], "a row has 2 values, not 1"),
        ([[]], "a row has 0 values, not 1"),
        ([[Node("a", {}, frozenset())]], "'x' has the type Node, not INTEGER"),
    ],
)
def test_rows_that_are_not_as_declared_are_refused(rows: Any, said: str) -> None:
    with pytest.raises(QueryInvalid, match="ProcedureCallFailed") as caught:
        call(lambda graph, given: rows)
    assert said in caught.value.message


def test_an_error_of_a_procedure_names_it_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(QueryInvalid, match=r"acme\.made failed: ZeroDivisionError") as caught:
        call(lambda graph, given: [[1 // 0]])
    assert caught.value.detail == "ProcedureCallFailed"
    assert caught.value.line == 1
    assert "The procedure acme.made failed." in caplog.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("[make('one')]", "write a name of two or more parts"),
        ("[make('db.one')]", "names that begin with db. or dbms."),
        ("[make('acme..one')]", "write a name of two or more parts"),
        ("[make(arguments=(('a', 'LIST'), ('a', 'LIST')))]", "a is there twice"),
        ("[make(results=(('a b', 'LIST'),))]", "'a b' is no name"),
        ("[make(arguments=(('a', 'TEXT'),))]", "a has the type TEXT; there are ANY"),
        ("[make(effects=frozenset({Effect.WRITE_NODES}))]", "its effects need Effect.READ"),
        ("[make(permission='chain')]", "is not a permission"),
        ("[make(), make()]", "both have a procedure acme.one"),
        ("[5]", "which is not a subclass of"),
    ],
)
def test_a_declaration_that_is_wrong_stops_the_start_and_names_who_brings_it(
    install: Install, answer: str, said: str
) -> None:
    install("made", f"asked_{abs(hash(answer))}", MADE.format(answer=answer))
    (problem,) = find_problems(build_installation(MEMORY))
    assert said in problem
    assert "made 1.0" in problem
    with pytest.raises(PluginError):
        create_app(MEMORY)
