"""Queries that would run for ever: they end, and hold up nobody but themselves."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.storages import SERVED

RUNAWAYS = {
    # NOTE: no condition can be decided before the last of the joins.
    "the store": "MATCH (a), (b), (c), (d), (e), (f) "
    "WHERE a.value + b.value + c.value + d.value + e.value + f.value < -1 RETURN count(*)",
    "the evaluator": "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y "
    "WITH x, y WHERE sin(x) + y < -9 RETURN count(*)",
}
RUNAWAYS["a profile"] = f"PROFILE {RUNAWAYS['the store']}"
COUNT = {"query": "MATCH (c:Counter) RETURN count(*) AS n"}


@pytest.fixture(scope="module")
def one_thread(storage: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A worker with one thread for queries, and a hundred twins."""
    folder = tmp_path_factory.mktemp("runaway")
    more = {"Storage__QueryThreads": "1", "Query__Timeout": "300"}
    environment = {**SERVED[storage](folder), **more}
    with Server(folder, environment=environment) as server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        for number in range(100):
            assert wire.call("PUT", f"/digitaltwins/c{number}", counter(number))[0] == 200
        wire.close()
        yield server
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


def send_runaway(server: Server, text: str) -> http.client.HTTPConnection:
    """A connection that asks and does not wait."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    body = json.dumps({"query": text})
    connection.request("POST", "/query", body, {"Content-Type": "application/json"})
    return connection


@pytest.mark.parametrize("where", RUNAWAYS)
def test_a_runaway_query_blocks_neither_reads_nor_writes_nor_queries(
    one_thread: Server, where: str
) -> None:
    running = [send_runaway(one_thread, RUNAWAYS[where]) for _ in range(2)]
    wire = Wire(one_thread.port)  # gives up after 30 seconds, a tenth of what the queries have
    for number in range(5):
        assert wire.call("GET", f"/digitaltwins/c{number}")[0] == 200
        assert wire.call("PUT", f"/digitaltwins/c{number}", counter(number))[0] == 200
        status, _, answer = wire.call("POST", "/query", COUNT)
        assert (status, answer["value"]) == (200, [{"n": 100}])
    wire.close()
    for connection in running:
        connection.close()


@pytest.mark.parametrize("where", RUNAWAYS)
def test_a_client_that_leaves_ends_its_query(one_thread: Server, where: str) -> None:
    # More of them than there are threads and spare ones: unless they end, the last waits.
    for _ in range(12):
        connection = send_runaway(one_thread, RUNAWAYS[where])
        connection.close()
    wire = Wire(one_thread.port)
    status, _, answer = wire.call("POST", "/query", COUNT)
    assert (status, answer["value"]) == (200, [{"n": 100}])
    wire.close()


@pytest.mark.parametrize("where", RUNAWAYS)
def test_the_time_of_a_query_ends_what_runs(
    storage: str, tmp_path_factory: pytest.TempPathFactory, where: str
) -> None:
    folder = tmp_path_factory.mktemp("timeout")
    environment = {**SERVED[storage](folder), "Query__Timeout": "2"}
    with Server(folder, environment=environment) as server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        for number in range(100):
            wire.call("PUT", f"/digitaltwins/c{number}", counter(number))
        status, _, answer = wire.call("POST", "/query", {"query": RUNAWAYS[where]})
        assert (status, answer["error"]["code"]) == (400, "TimeoutError")
        assert wire.call("POST", "/query", COUNT)[0] == 200
        wire.close()
