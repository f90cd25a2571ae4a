"""Statements over HTTP: forms, answers, and the permissions of what each does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.test_bulk_routes import ACCESS, CountedPermissions, NamedCaller
from twinframe.access.gate import AuditEntry, Gate
from twinframe.errors import QueryInvalid
from twinframe.graph import Graph
from twinframe.graph.queries.pages import OneState
from twinframe.graph.statements import statements
from twinframe.http.graph.cypher import StatementLines
from twinframe.query.language import parse_statement
from twinframe.runtime.instruments.base import Instruments, QueryRun
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import build_building_interfaces

READ, TWINS, TWINS_GO = "query/read", "digitaltwins/write", "digitaltwins/delete"
EDGES, EDGES_GO = "digitaltwins/relationships/write", "digitaltwins/relationships/delete"
STATEMENTS = {
    "MATCH (n:Floor) RETURN n.level": {READ},
    "CREATE (:Floor)": {TWINS},
    "MATCH (n:Floor) SET n.level = 2": {READ, TWINS},
    "MATCH (n:Floor) REMOVE n.level": {READ, TWINS},
    "MERGE (n:Floor {level: 9})": {READ, TWINS},
    "MATCH (a:Floor {level: 1}), (b:Floor {level: 2}) CREATE (a)-[:hasPart]->(b)": {READ, EDGES},
    "MATCH ()-[r:hasPart]->() DELETE r": {READ, EDGES_GO},
    "MATCH (n:Floor) DELETE n": {READ, TWINS_GO},
    "MATCH (n:Floor) DETACH DELETE n": {READ, TWINS_GO, EDGES_GO},
}
EVERY = {READ, TWINS, TWINS_GO, EDGES, EDGES_GO}


def post(client: Any, query: str, headers: dict[str, str] | None = None, **more: Any) -> Any:
    body = orjson.dumps({"query": query, **more})
    return client.send("POST", "/cypher", body, headers)


@pytest.fixture
def graph() -> Graph:
    store = MemoryStore()
    store.open()
    return Graph(InlineRunner(store), Settings())


@pytest.fixture
def modelled(client: Any) -> Any:
    client.send("POST", "/models", orjson.dumps(build_building_interfaces()))
    return client


def test_a_statement_answers_its_rows_and_what_it_changed(modelled: Any) -> None:
    answer = post(modelled, "CREATE (f:Floor {level: $l}) RETURN f.level AS l", parameters={"l": 3})
    assert answer.status == 200
    assert (answer.json["columns"], answer.json["value"]) == (["l"], [{"l": 3}])
    assert answer.json["statistics"]["nodesCreated"] == 1
    assert float(answer.headers["query-charge"]) >= 1


def test_a_statement_answers_in_lines_if_asked(modelled: Any) -> None:
    lines = {"accept": "application/x-ndjson"}
    answer = post(modelled, "UNWIND [1, 2] AS i RETURN i", lines)
    columns, one, other, end = [orjson.loads(line) for line in answer.body.splitlines()]
    assert (columns, one, other) == ({"columns": ["i"]}, {"row": {"i": 1}}, {"row": {"i": 2}})
    assert end["rehearsed"] is False


def test_a_rehearsed_statement_changes_nothing(modelled: Any) -> None:
    answer = post(modelled, "CREATE (:Floor)", rehearse=True)
    assert (answer.json["rehearsed"], answer.json["statistics"]["nodesCreated"]) == (True, 1)
    assert post(modelled, "MATCH (n:Floor) RETURN count(n) AS c").json["value"] == [{"c": 0}]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"query": 1},
        {"query": "RETURN 1", "parameters": [1]},
        {"query": "RETURN 1", "rehearse": "yes"},
        {"query": "RETURN 1", "asOf": 3},
        {"query": "CREATE (:Floor) RETURN"},
        {"query": "FOREACH (x IN [1] | CREATE (:Floor))"},
    ],
)
def test_a_wrong_body_is_refused(modelled: Any, body: Any) -> None:
    answer = modelled.send("POST", "/cypher", orjson.dumps(body))
    assert answer.status == 400
    assert answer.json["error"]["message"]


def test_a_query_that_writes_is_told_where_to_go(modelled: Any) -> None:
    answer = modelled.send("POST", "/query", orjson.dumps({"query": "CREATE (:Floor)"}))
    assert answer.status == 400
    assert "POST /cypher" in answer.json["error"]["message"]


@pytest.mark.parametrize("query", STATEMENTS)
def test_a_statement_is_refused_to_who_lacks_a_permission_and_changes_nothing(
    connect: Callable[..., Any], query: str
) -> None:
    trail: list[AuditEntry] = []
    client = connect(gate=Gate(NamedCaller(), CountedPermissions(), trail.append), **ACCESS)

    def send(text: str, granted: set[str]) -> Any:
        return post(client, text, {"x-caller": " ".join(sorted(granted | {"query/write"}))})

    models = {"x-caller": "models/write"}
    client.send("POST", "/models", orjson.dumps(build_building_interfaces()), models)
    send("MERGE (a:Floor {`$dtId`: 'one', level: 1})", EVERY)
    if "DELETE n" not in query or "DETACH" in query:
        send("MATCH (a:Floor) CREATE (a)-[:hasPart]->(:Floor)", EVERY)
    state = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN collect(n), collect(r)"
    before = send(state, EVERY).body
    for missing in STATEMENTS[query]:
        refused = send(query, EVERY - {missing})
        assert refused.status == 403
        assert refused.json["detail"] == f"User lacks required permission: {missing}"
        assert send(state, EVERY).body == before
    only = {"x-caller": " ".join(sorted(EVERY))}
    assert post(client, query, only).status == 403
    assert send(query, STATEMENTS[query]).status == 200


def read_lines(graph: Graph, text: str) -> list[dict[str, Any]]:
    """All lines of a reading statement, as its stream gives them."""

    async def read() -> list[bytes]:
        page = await graph.queries.run(text, {}, form=OneState.JSON)
        stream = StatementLines(graph.queries, page, rehearsed=False)
        parts = []
        while part := await stream.read():
            parts.append(part)
        await stream.close()
        return parts

    parts = asyncio.run(read())
    assert len(parts) > 2  # a page each
    return [orjson.loads(line) for line in b"".join(parts).splitlines()]


def test_a_long_result_is_given_in_pieces(graph: Graph) -> None:
    columns, *rows, end = read_lines(graph, "UNWIND range(1, 2500) AS i RETURN i")
    assert columns == {"columns": ["i"]}
    assert [line["row"]["i"] for line in rows] == [*range(1, 2501)]
    assert end["statistics"]["nodesCreated"] == 0


def test_an_error_in_the_middle_is_the_last_line(graph: Graph) -> None:
    _, *rows, end = read_lines(graph, "UNWIND range(1, 2500) AS i RETURN 1 / (2200 - i) AS v")
    assert len(rows) == 2199
    assert end["error"]["code"] == "SqlQueryError"
    assert "zero" in end["error"]["message"]


def test_statements_of_one_text_are_parsed_once(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def parse(text: str, **more: Any) -> Any:
        texts.append(text)
        return parse_statement(text, **more)

    monkeypatch.setattr(statements, "parse_statement", parse)
    text = "CREATE (:Floor {level: $l})"
    for level in (1, 2.5, "3"):
        assert graph.statements.prepare(text, {"l": level}).parameters == {"l": level}
    assert texts == [text]
    with pytest.raises(QueryInvalid):
        graph.statements.prepare(text, {})


class Noted(Instruments):
    def __init__(self) -> None:
        self.runs: list[QueryRun] = []

    def note_query(self, run: QueryRun) -> None:
        self.runs.append(run)


def test_instruments_are_told_of_statements_and_of_their_errors() -> None:
    store, noted = MemoryStore(), Noted()
    store.open()
    graph = Graph(InlineRunner(store), Settings(), instruments=noted)

    async def run(text: str) -> None:
        await graph.statements.run(await graph.statements.open(text, {}))

    asyncio.run(run("CALL db.labels()"))
    for text in ("CREATE (:Nothing)", "CREATE (n) RETURN m"):
        with pytest.raises(QueryInvalid):
            asyncio.run(run(text))
    found = [(one.text, one.language, one.error, len(one.fingerprint())) for one in noted.runs]
    assert found == [
        ("CALL db.labels()", "cypher", "", 16),
        ("CREATE (:Nothing)", "cypher", "SqlQueryError", 16),
        ("CREATE (n) RETURN m", "cypher", "SqlQueryError", 0),
    ]
