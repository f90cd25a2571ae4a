"""Counts what goes over the wire for a read, and looks at the state that a query leaves behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.postgres.graphs import Graphs
from tests.postgres.server import share_server
from tests.waiting import PATIENCE
from twinframe.errors import QueryTimeout
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe_storage_postgres.compiler.engine import PostgresQuery, PostgresQueryEngine
from twinframe_storage_postgres.connections import Connections
from twinframe_storage_postgres.session import PostgresSession

ROOM = "dtmi:ex:Room;1"
HOP = "MATCH (n {$dtId: $id})-[:in]->(m) RETURN m.$dtId AS i"
TWIN = "MATCH (n {$dtId: $id}) RETURN n"
TRAP = "MATCH (n {$dtId: $id}) RETURN n.x / n.y AS i"
PARAMETERS = {"id": "a"}


class Wire:
    """The messages of the connection that is taken next, as libpq notes them."""

    def __init__(self, connections: Connections, place: Path) -> None:
        self._place, self._connections = place, connections
        self._seen = 0

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note them inside."""
        connection, _ = self._connections.take()
        with self._place.open("wb") as file:
            connection.pgconn.trace(file.fileno())
            connection.pgconn.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)
            self._connections.give(connection)
            yield
            connection.pgconn.untrace()

    def read(self) -> list[list[str]]:
        """The messages since the last call: `F` of the client or `B`, length, kind, and more."""
        lines = self._place.read_text().splitlines()
        new, self._seen = lines[self._seen :], len(lines)
        return [line.split("\t") for line in new]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[PostgresSession]:
    """A session on two twins, of which the first leads to the second."""
    graphs = Graphs(tmp_path)
    twins = [("a", ROOM, {"x": 1, "y": 0}), ("b", ROOM, {})]
    with graphs.open(twins, [("a", "in", "b", {})]) as session:
        assert isinstance(session, PostgresSession)
        yield session
    graphs.close()


@pytest.fixture
def wire(session: PostgresSession, tmp_path: Path) -> Iterator[Wire]:
    """What the session sends and gets, once its connection has got to know the statements."""
    for text in (HOP, TWIN):
        for _ in range(7):
            assert len(_query(session, text)) == 1
            session.read_twin("a")
            session.read_schema_version()
    wire = Wire(session._home.connections, tmp_path / "wire")
    with wire.noted():
        yield wire


def _compile(text: str) -> PostgresQuery:
    query = optimize(parse_query(text, parameters=tuple(PARAMETERS)).query)
    compiled = PostgresQueryEngine().compile(query, PARAMETERS)
    assert isinstance(compiled, PostgresQuery)
    return compiled


def _query(session: PostgresSession, text: str, *, versions: bool = False) -> list[bytes]:
    compiled = _compile(text)
    with session.snapshot(time.monotonic() + PATIENCE):
        version = session.read_schema_version() if versions else 0
        rows = [body for body, _ in compiled.run_json(session, PARAMETERS)]
        assert session.has_schema(version) or not versions
    return rows


def _count(messages: list[list[str]]) -> dict[str, int]:
    """How many of the client's messages run, prepare and describe what, and how many waits."""
    counts = {"Execute": 0, "Query": 0, "Parse": 0, "ReadyForQuery": 0}
    for _, _, kind, *_ in messages:
        if kind in counts:
            counts[kind] += 1
    return counts


@pytest.mark.parametrize("text", [TWIN, HOP])
def test_a_query_alone_takes_one_trip_and_nobody_waits_for_its_end(
    text: str, session: PostgresSession, wire: Wire
) -> None:
    for _ in range(2):
        _query(session, text)
        messages = wire.read()
        *others, last = messages
        assert (last[0], last[2], last[-1].strip()) == ("F", "Query", '"ROLLBACK"')
        at = next((i for i, each in enumerate(others) if each[0] == "F"), 0)
        assert _count(others[at:]) == {  # BEGIN, the settings with the deadline, the query
            "Execute": 3,
            "Query": 0,
            "Parse": 0,
            "ReadyForQuery": 1,
        }


def test_a_query_after_the_version_of_the_models_takes_two_trips(
    session: PostgresSession, wire: Wire
) -> None:
    _query(session, HOP, versions=True)
    wire.read()
    _query(session, HOP, versions=True)
    counts = _count(wire.read())
    assert counts["ReadyForQuery"] == 3  # one is of the ROLLBACK before
    assert counts["Execute"] == 6  # with a savepoint


def test_a_read_by_id_is_one_statement_in_one_trip(session: PostgresSession, wire: Wire) -> None:
    assert session.read_twin("a") is not None
    wire.read()
    assert session.read_twin("a") is not None
    counts = _count(wire.read())
    assert counts == {"Execute": 1, "Query": 0, "Parse": 0, "ReadyForQuery": 1}


@pytest.mark.parametrize("reads_before", [False, True])
def test_reads_after_a_query_that_cannot_run_see_one_state(
    reads_before: bool, session: PostgresSession
) -> None:
    other = f"UPDATE \"{session.schema}\".twin SET etag = %s WHERE dt_id = 'a'"
    compiled = _compile(TRAP)

    def read() -> str:
        found = session.read_twin("a")
        assert found is not None
        return found.etag

    with psycopg.connect(share_server(), autocommit=True) as connection:
        with session.snapshot(time.monotonic() + PATIENCE):
            seen = {read()} if reads_before else set()
            with pytest.raises(CannotRun, match="division by zero"):
                list(compiled.run_json(session, PARAMETERS))
            for etag in ("first", "second"):
                connection.execute(other, (etag,))
                assert len(list(_compile(HOP).run_json(session, PARAMETERS))) == 1
                seen.add(read())
                with pytest.raises(CannotRun, match="division by zero"):
                    list(compiled.run_json(session, PARAMETERS))
            assert seen == ({'W/"1"'} if reads_before else {"first"})
        assert read() == "second"


def test_a_query_leaves_nothing_behind_on_its_connection(session: PostgresSession) -> None:
    def look() -> tuple[object, ...]:
        names = ("statement_timeout", "search_path", "enable_seqscan", "plan_cache_mode")
        cells = ", ".join(f"current_setting('{name}')" for name in names)
        found: tuple[object, ...] = session.read_one(f"SELECT pg_backend_pid(), {cells}")
        return found

    before = look()
    _query(session, HOP)
    assert look() == before
    with pytest.raises(CannotRun):
        _query(session, TRAP)
    assert look() == before
    with pytest.raises(QueryTimeout), session.snapshot(time.monotonic() + 0.1):
        session.select("SELECT pg_sleep(1000)", (), lambda error: None)
    assert look() == before


def test_a_connection_that_is_lost_after_a_query_is_replaced(session: PostgresSession) -> None:
    with psycopg.connect(share_server(), autocommit=True) as other:
        for _ in range(2):
            pid = session.read_one("SELECT pg_backend_pid()")
            _query(session, HOP)
            other.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))
            assert len(_query(session, HOP)) == 1
