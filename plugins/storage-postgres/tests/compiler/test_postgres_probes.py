"""A server is given what it is proven to run exactly; all else runs in the service, in batches."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from tests.postgres.graphs import Graphs
from tests.postgres.server import build_prefix, share_server
from tests.waiting import PATIENCE
from twinframe.errors import QueryInvalid
from twinframe.model.rendering import render_row
from twinframe.query.algebra import Query, ResultShape
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.storage.base import GraphTransaction, ModelRecord, RelationshipRecord, TwinRecord
from twinframe.testing.contracts.base import run
from twinframe.testing.query_corpora import CORPORA, PARAMETERS
from twinframe.testing.query_law import (
    EdgeSketch,
    OrderedMemoryStore,
    QueryLaw,
    TwinSketch,
    ask_evaluator,
    freeze,
    write_graph,
)
from twinframe_storage_postgres import statements
from twinframe_storage_postgres.compiler import probes
from twinframe_storage_postgres.compiler.abilities import (
    EVERYTHING,
    NOTHING,
    Abilities,
    find_used,
)
from twinframe_storage_postgres.compiler.engine import PostgresQueryEngine, compile_query
from twinframe_storage_postgres.compiler.probing import ProbeSession, _Prober, probe
from twinframe_storage_postgres.plugin import twinframe_query_engine
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore


def read_answers() -> list[list[str]]:
    """The answers of the evaluator, by probe."""
    store = OrderedMemoryStore()
    store.open()
    model, kin = probes.build_model_ids("")
    twins, edges = probes.build_documents("", model, kin)

    def fill(transaction: GraphTransaction) -> None:
        transaction.put_models(
            [
                ModelRecord(model, b"{}", b"{}", b"{}", (), (), "2026"),
                ModelRecord(kin, b"{}", b"{}", b"{}", (model,), (), "2026"),
            ]
        )
        for one in twins:
            named = one["$metadata"]["$model"]
            transaction.put_twin(TwinRecord(one["$dtId"], named, "1", orjson.dumps(one)))
        for one in edges:
            ends = one["$relationshipName"], one["$targetId"], "1", orjson.dumps(one)
            transaction.put_relationship(
                RelationshipRecord(one["$sourceId"], one["$relationshipId"], *ends)
            )

    run(store, fill)
    parameters, session = probes.build_parameters(""), store.session()
    found = []
    for each in probes.PROBES:
        query = parse_query(each.text, parameters=tuple(parameters)).query
        rows = evaluate(query, session, parameters)
        found.append(probes.freeze(each.text, [render_row(query.columns, row) for row in rows], ""))
    return found


def test_the_answers_are_those_of_the_evaluator() -> None:
    assert read_answers() == probes.load_answers()


def test_each_probe_has_the_parts_that_it_is_about() -> None:
    for each, compiled in zip(probes.PROBES, probes.compile_probes(), strict=True):
        assert each.about <= compiled.value_parts | compiled.json_parts, each.text


def test_nearly_all_that_is_compiled_has_a_probe() -> None:
    """A part of SQL without one is refused to a server that is not exact in everything."""
    known = frozenset[str]().union(
        *(each.value_parts | each.json_parts for each in probes.compile_probes())
    )
    unknown, compiled = set[str](), 0
    for texts in CORPORA.values():
        for text in texts[::29]:
            try:
                query = parse_query(text, parameters=tuple(PARAMETERS)).query
                unknown |= compile_query(query, PARAMETERS).value_parts - known
                compiled += 1
            except (QueryInvalid, CannotRun):
                continue
    assert compiled > 100
    assert unknown <= {"::text[]", "bool_and()", "twinframe_reverse()"}


def test_the_parts_of_a_statement_are_found() -> None:
    assert find_used("""SELECT 'NOT EXISTS (' || t."a b" FROM x AS w2(c0) WHERE NOT (EXISTS (SELECT
        max(n1.id)::double precision, %(c0)s::bigint[] % 2, t.x->'y'))""") == {
        *("SELECT", "FROM", "WHERE", "EXISTS", "NOT EXISTS", "a subquery", "max()"),
        *("::double precision", "::bigint[]", "||", "%", "->"),
    }


# --- servers ------------------------------------------------------------------------------------


@dataclass
class Server:
    """What happens to statements: some are refused, as the server would; all are counted."""

    refused: re.Pattern[str] | None = None
    count: int = 0
    refusals: int = 0

    def execute(self, connection: Any, statement: statements.Statement, *how: Any) -> Any:
        self.count += 1
        if self.refused is not None and self.refused.search(statement[0]):
            self.refusals += 1
            return _execute(connection, (_REFUSAL, ()), *how)
        return _execute(connection, statement, *how)


_execute = statements._execute
_REFUSAL = """DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '0A000',
  MESSAGE = 'complex joins are only supported when all distributed tables are co-located'; END $$"""
# What Citus refuses over tables that are spread: citus#2870, citus#8113.
_CITUS = re.compile(r"WITH RECURSIVE|NOT \(?EXISTS \(SELECT 1 FROM relationship .* JOIN")
_SPREAD = Abilities(refused=frozenset({"RECURSIVE", "NOT EXISTS", "EXISTS", "LEFT", "GROUP"}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    monkeypatch.setattr(statements, "_execute", found.execute)
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresGraphStore]:
    place = tmp_path_factory.mktemp("probes")
    settings = PostgresSettings(
        url=SecretStr(share_server()), schema_=build_prefix(place), directory=str(place)
    )
    found = PostgresGraphStore(settings, "graph")
    found.open()
    yield found
    found.close()


def _probe(store: PostgresGraphStore) -> Abilities:
    return probe(ProbeSession(store._home))


def test_postgresql_is_exact_in_all_and_nothing_is_left_in_the_graph(
    store: PostgresGraphStore,
) -> None:
    assert _probe(store) == EVERYTHING
    assert store.abilities == EVERYTHING
    session = store.session()
    assert [*session.iterate_twins(), *session.iterate_relationships()] == []
    assert session.read_model_ids() == frozenset()
    session.close()


def test_a_server_that_refuses_walks_and_absent_joins_is_not_given_them(
    store: PostgresGraphStore, server: Server
) -> None:
    server.refused = _CITUS
    found = _probe(store)
    assert found.proven is not None
    assert server.refusals > 0
    assert not {"RECURSIVE", "NOT EXISTS"} & found.proven
    assert {"SELECT", "EXISTS", "ORDER", "COLLATE", "twinframe_number()"} <= found.proven
    compiled = probes.compile_probe(f"MATCH (n:{probes.LABEL})-[:next]->(m) RETURN m.s AS s")
    compiled.check(found)
    with pytest.raises(CannotRun, match="RECURSIVE"):
        probes.compile_probe(f"MATCH (n:{probes.LABEL})-[:next*]->(m) RETURN m.s").check(found)


def test_a_wrong_order_or_a_wrong_pattern_is_found(
    store: PostgresGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(connection: Any, statement: statements.Statement, *how: Any) -> Any:
        sql = statement[0].replace('COLLATE "C"', 'COLLATE "en-x-icu"')
        return _execute(connection, (sql, statement[1]), *how)

    monkeypatch.setattr(statements, "_execute", execute)
    found = _probe(store)
    assert found.proven is not None
    assert "COLLATE" not in found.proven

    def widen(connection: Any, statement: statements.Statement, *how: Any) -> Any:
        sql = re.sub(r"r\d+\.name = ", "'' <> ", statement[0])
        return _execute(connection, (sql, statement[1]), *how)

    monkeypatch.setattr(statements, "_execute", widen)
    assert _probe(store) == NOTHING


def test_a_statement_that_the_server_refuses_goes_to_the_evaluator(
    store: PostgresGraphStore, server: Server
) -> None:
    """As where a graph is spread, and the one that was probed is not."""
    server.refused = re.compile("WITH RECURSIVE")
    query = parse_query("MATCH (n)-[*]->(m) RETURN m").query
    session = store.session()
    with session.snapshot(), pytest.raises(CannotRun, match="does not take"):
        [*compile_query(query, {}).run_json(session, {})]
    session.close()


def test_a_server_that_is_slow_at_walks_is_not_given_them(
    store: PostgresGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {False: 0.001, True: 0.1}
    monkeypatch.setattr(
        _Prober, "_measure", lambda _, compiled: times["RECURSIVE" in compiled.value_parts]
    )
    found = _probe(store)
    assert found.proven is not None
    assert "RECURSIVE" not in found.proven


def test_the_operator_can_withhold_walks_or_everything(store: PostgresGraphStore) -> None:
    walk = parse_query("MATCH (n)-[*]->(m) RETURN m").query
    scan = parse_query("MATCH (n) RETURN n").query
    for compiled, taken in (("all", 2), ("no-walks", 1), ("nothing", 0)):
        settings = store.settings.model_copy(update={"compiled": compiled})
        other = PostgresGraphStore(settings, "graph")
        other.open()
        engine = twinframe_query_engine(other)
        assert engine is not None
        found = 0
        for query in (walk, scan):
            with suppress(CannotRun):
                engine.compile(query, {})
                found += 1
        assert found == taken
        other.close()


# --- batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[:has]->(b) RETURN b.s AS s",
        "MATCH (a)-[:has]->(b)-[:has]->(c) WHERE toUpper(c.s) <> 'X' RETURN c",
        "MATCH (a)-[:has*1..3]->(b) WHERE a.$dtId = 't0' RETURN b",
        "MATCH p = (a {$dtId: 't0'})-[:has*1..3]->(b) RETURN length(p) AS n, b.$dtId AS b",
        "MATCH (a)-[:has]->(b) RETURN a.s AS s, collect(b.$dtId) AS l",
        "MATCH (a) WHERE COUNT { (a)-->() } > 1 RETURN a",
        "MATCH (a) WHERE EXISTS { MATCH (a)-->(b)-->(c) WHERE toUpper(c.s) = 'S1' } RETURN a",
        "MATCH (a) WHERE NOT EXISTS { (a)-->(:Room)-->(c) } RETURN a",
        "MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b.s AS s ORDER BY s LIMIT 1 } RETURN a, s",
        "MATCH (a) OPTIONAL MATCH (a)-[:has]->(b) WHERE toUpper(b.s) = 'X' RETURN a, b",
        "MATCH (a {$dtId: 't0'}), (b {$dtId: 't3'}), p = shortestPath((a)-[*]-(b)) RETURN p",
    ],
)
@pytest.mark.parametrize("abilities", [_SPREAD, NOTHING], ids=["spread", "nothing"])
def test_statements_do_not_grow_with_the_rows(
    text: str, abilities: Abilities, graphs: Sequence[PostgresGraphStore], server: Server
) -> None:
    counts, answers = [], []
    query = optimize(parse_query(text).query)
    for store in graphs:
        session = store.session()
        for engine in (PostgresQueryEngine(lambda: abilities), PostgresQueryEngine()):
            execution = split(query, engine, {})
            server.count = 0
            # NOTE: a snapshot without a deadline is that of an export, which has savepoints.
            with session.snapshot(time.monotonic() + PATIENCE):
                rows = [body for body, _ in execution.run_json(session, {}, Limits())]
            counts.append(server.count)
            answers.append(sorted(rows))
        session.close()
        assert answers[-1] == answers[-2] != []
    assert counts[2] <= counts[0] + 12  # of eight times the rows: batches grow to 512
    assert counts[0] <= 45


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[PostgresGraphStore]]:
    """Trees of 40 and of 320 twins."""
    place, found = tmp_path_factory.mktemp("sizes"), []
    for size in (40, 320):
        settings = PostgresSettings(
            url=SecretStr(share_server()), schema_=build_prefix(place), directory=str(place)
        )
        store = PostgresGraphStore(settings, f"g{size}")
        store.open()
        twins: list[TwinSketch] = [
            (f"t{at}", "dtmi:ex:Room;1", {"s": f"s{at % 7}"}) for at in range(size)
        ]
        edges: list[EdgeSketch] = [(f"t{at // 3}", "has", f"t{at}", {}) for at in range(1, size)]
        write_graph(store, twins, edges)
        found.append(store)
    yield found
    for store in found:
        store.close()


# --- the law ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spread_law(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryLaw]:
    """The law for a server that takes neither walks, groups nor what is absent."""
    found = Graphs(tmp_path_factory.mktemp("law"))
    law = QueryLaw(PostgresQueryEngine(lambda: _SPREAD), found.open)
    yield law
    law.close()
    found.close()


@pytest.mark.parametrize("theme", CORPORA)
def test_what_such_a_server_is_given_is_answered_as_the_evaluator_does(
    theme: str, spread_law: QueryLaw
) -> None:
    texts = CORPORA[theme]
    for text in texts[:: max(1, len(texts) // 3)]:
        spread_law.check(text, None, PARAMETERS, lenient=True)
        query = optimize_or_none(text)
        if query is not None:
            _check_split(query, spread_law)


def optimize_or_none(text: str) -> Query | None:
    """The plan of a text that the language takes."""
    try:
        return optimize(parse_query(text, parameters=tuple(PARAMETERS)).query)
    except QueryInvalid:
        return None


def _check_split(query: Query, law: QueryLaw) -> None:
    """What the server and the evaluator answer together is what the evaluator answers alone."""
    expected = ask_evaluator(query, law.odd.reference, PARAMETERS)
    if expected.error is not None or query.shape is ResultShape.DOCUMENT:
        return
    execution = split(query, law.engine, PARAMETERS)
    with law.odd.session.snapshot():
        try:
            rows = [*execution.run_rows(law.odd.session, PARAMETERS, Limits())]
        except CannotRun:
            return
    assert sorted(map(repr, map(freeze, rows))) == sorted(map(repr, expected.rows))


if __name__ == "__main__":
    probes.ANSWERS.write_bytes(orjson.dumps(read_answers(), option=orjson.OPT_INDENT_2) + b"\n")
