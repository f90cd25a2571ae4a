"""Long results, plans of models that have changed since, and orders with ties on PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres.graphs import Graphs
from tests.waiting import PATIENCE
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe_storage_postgres import scans, statements
from twinframe_storage_postgres.compiler import engine
from twinframe_storage_postgres.compiler.engine import PostgresQuery, PostgresQueryEngine
from twinframe_storage_postgres.session import PostgresSession

ROOM = "dtmi:ex:Room;1"
NUMBERS = "MATCH (n {`$dtId`: 'a'}) UNWIND range(1, 300) AS i RETURN i"
FAILING = "MATCH (n {{`$dtId`: 'a'}}) UNWIND range(1, 300) AS i RETURN 1 / ({} - i) AS x"
ROOMS = "MATCH (n:Room) RETURN n.`$dtId` AS i, n.x AS x ORDER BY i"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[PostgresSession]:
    """A session on three rooms, of which two have no `x`."""
    graphs = Graphs(tmp_path)
    twins = [("a", ROOM, {"x": 1, "y": 0}), ("b", ROOM, {"x": None, "y": 2}), ("c", ROOM, {"y": 1})]
    with graphs.open(twins, []) as session:
        assert isinstance(session, PostgresSession)
        yield session
    graphs.close()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The statements of each trip."""
    trips: list[list[str]] = []
    send = statements.send

    def note(connection, given, **how):  # type: ignore[no-untyped-def]  # as `send`
        trips.append([sql for sql, _ in given])
        return send(connection, given, **how)

    monkeypatch.setattr(statements, "send", note)
    return trips


def _compile(text: str) -> PostgresQuery:
    compiled = PostgresQueryEngine().compile(optimize(parse_query(text).query), {})
    assert isinstance(compiled, PostgresQuery)
    return compiled


def _read(session: PostgresSession, compiled: PostgresQuery) -> list[bytes]:
    with session.snapshot(time.monotonic() + PATIENCE):
        return [body for body, _ in compiled.run_json(session, {})]


def test_a_long_result_is_fetched_in_parts_and_at_once_the_next_time(
    session: PostgresSession, sent: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [b'{"i":%d}' % i for i in range(1, 301)]
    assert _read(session, _compile(NUMBERS)) == expected
    assert len(sent) == 1
    monkeypatch.setattr(engine, "_FEW", 100)
    compiled = _compile(NUMBERS)
    for trips in (3, 2):  # the first run learns that the result is long
        sent.clear()
        assert _read(session, compiled) == expected
        fetches = [sql.split()[1] for trip in sent for sql in trip if sql.startswith("FETCH")]
        assert fetches == ["64", "256"]
        assert len(sent) == trips


def test_no_more_large_rows_are_fetched_at_once_than_fit(
    session: PostgresSession, sent: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "_BYTES_AT_ONCE", 1000)
    with session.snapshot(time.monotonic() + PATIENCE):
        rows = [*session.iterate("SELECT repeat('x', 100) FROM generate_series(1, 200)")]
    assert len(rows) == 200
    sizes = [int(sql.split()[1]) for trip in sent for sql in trip if sql.startswith("FETCH")]
    assert sizes[0] == 64
    assert max(sizes[1:]) <= 11


def test_the_memory_of_a_result_is_looked_after(session: PostgresSession) -> None:
    looks: list[int] = []
    session.watch_memory(lambda: looks.append(1))
    parameters: dict[str, Value] = {"x": "y" * 1_000_000}
    with session.snapshot(time.monotonic() + PATIENCE):
        ((body, _),) = _compile_given(parameters).run_json(session, parameters)
    assert len(body) > 10_000_000
    assert looks


def _compile_given(parameters: dict[str, Value]) -> PostgresQuery:
    text = "MATCH (n {`$dtId`: 'a'}) RETURN replace('aaaaaaaaaa', 'a', $x) AS t"
    query = optimize(parse_query(text, parameters=parameters).query)
    compiled = PostgresQueryEngine().compile(query, parameters)
    assert isinstance(compiled, PostgresQuery)
    return compiled


@pytest.mark.parametrize("reads_before", [False, True])
@pytest.mark.parametrize("at", [5, 250])
def test_an_error_in_a_long_result_leaves_the_snapshot_readable(
    reads_before: bool, at: int, session: PostgresSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_FEW", 3)
    compiled = _compile(FAILING.format(at))
    with session.snapshot(time.monotonic() + PATIENCE):
        if reads_before:
            assert session.read_twin("a") is not None
        found: list[bytes] = []
        with pytest.raises(CannotRun, match="division by zero"):
            found.extend(body for body, _ in compiled.run_json(session, {}))
        assert session.read_twin("a") is not None
    assert session.read_twin("a") is not None


def test_a_query_by_the_models_that_were_seen_before_is_run_again_by_the_present_ones(
    session: PostgresSession, sent: list[list[str]]
) -> None:
    compiled = _compile(ROOMS)
    rows = [b'{"i":"a","x":1}', b'{"i":"b","x":null}', b'{"i":"c","x":null}']
    assert _read(session, compiled) == rows
    sent.clear()
    assert _read(session, compiled) == rows
    assert len(sent) == 1
    scans._known[session.schema] = scans.LabelledModels(-7, {})
    assert _read(session, compiled) == rows


def test_null_and_a_missing_member_are_of_one_rank(session: PostgresSession) -> None:
    text = "MATCH (n:Room) RETURN n.`$dtId` AS i ORDER BY n.x{}, n.y LIMIT 5"
    ids = [b'{"i":"a"}', b'{"i":"c"}', b'{"i":"b"}']
    assert _read(session, _compile(text.format(""))) == ids
    assert _read(session, _compile(text.format(" DESC"))) == [*ids[1:], ids[0]]


def test_a_name_that_looks_like_the_count_of_a_page_is_a_name(session: PostgresSession) -> None:
    text = "MATCH (n:Room) RETURN n.`{page_limit}%(page_skip)s` AS x, n.y AS y ORDER BY y LIMIT 1"
    assert _read(session, _compile(text)) == [b'{"x":null,"y":0}']
