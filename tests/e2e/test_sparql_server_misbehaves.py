"""The service on a SPARQL server that answers badly: callers are told, nothing is half-written."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.assistants import connect
from tests.e2e.lying_sparql_server import FAULTS, Lie, LyingServer, lying_before
from tests.e2e.server import Server, free_port
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from twinframe_storage_rdf.building import build_store

TESTS = Path(__file__).parents[2] / "plugins/storage-rdf/tests"
TIMEOUT = 0.5
CHANGE = "INSERT {"  # the update that makes a change has it, those of claims have not


def load_servers() -> ModuleType:
    """The module of the plugin's tests that runs real servers."""
    name = "real_servers"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with load_servers().run_oxigraph(tmp_path_factory.mktemp("oxigraph")) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(real: Any) -> Iterator[LyingServer]:
    with lying_before(real.query_url.removesuffix("/query")) as server:
        yield server


@pytest.fixture(scope="module")
def server(proxy: LyingServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {
        "Storage__Provider": "rdf",
        "Storage__Rdf__Engine": "sparql",
        "Storage__Rdf__QueryUrl": f"{proxy.url}/query",
        "Storage__Rdf__UpdateUrl": f"{proxy.url}/update",
        "Storage__Rdf__Timeout": str(TIMEOUT),
        "Storage__Rdf__Retries": "1",
        "Storage__Rdf__MaxAnswerBytes": "1000000",
        "MCP__Enabled": "true",
        "Sparql__Enabled": "true",
    }
    running = Server(tmp_path_factory.mktemp("service"), environment=environment)
    with running:
        wire = Wire(running.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        assert wire.call("PUT", "/digitaltwins/c0", counter(0))[0] == 200
        wire.close()
        yield running
    log = running.log.read_text(encoding="utf-8").splitlines()
    # NOTE: background work logs what stopped it, and goes on when the server is back.
    assert [x for x in log if "Traceback" in x and "background/runner.py" not in x] == []


@pytest.fixture
def wire(server: Server, proxy: LyingServer, real: Any) -> Iterator[Wire]:
    wire = Wire(server.port)
    yield wire
    proxy.lie = None
    assert wire.call("GET", "/digitaltwins/c0")[0] == 200  # the next request works
    assert wire.call("PUT", "/digitaltwins/after", counter(1))[0] == 200  # and the next write
    wire.close()
    store = build_store(real.build_settings(), "default")
    store.open()
    assert list(store.verify()) == []  # nothing is half-written
    store.close()


def check_failure(answer: tuple[int, dict[str, str], Any]) -> None:
    status, _, document = answer
    assert status in (503, 504), document
    assert set(document) == {"error"}
    assert {"code", "message"} <= set(document["error"])
    assert "127.0.0.1" not in str(document)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_read_that_gets_no_answer_is_told_to_come_back(
    fault: str, wire: Wire, proxy: LyingServer
) -> None:
    proxy.lie = Lie(FAULTS[fault])
    check_failure(wire.call("GET", "/digitaltwins/c0"))
    check_failure(wire.call("POST", "/query", {"query": "SELECT * FROM digitaltwins"}))


HALF = "sends half a document"
QUERY = "SELECT * { ?s ?p ?o }"


@pytest.mark.parametrize(
    ("fault", "query"),
    [*((fault, QUERY) for fault in FAULTS), (HALF, "ASK {}"), (HALF, "DESCRIBE <urn:x>")],
)
def test_a_sparql_query_that_gets_no_answer_is_told_to_come_back(
    fault: str, query: str, wire: Wire, proxy: LyingServer
) -> None:
    target = f"/sparql?query={quote(query)}"
    proxy.lie = Lie(FAULTS[fault])
    check_failure(wire.call("GET", target))
    proxy.lie = None
    status, headers, _ = wire.call("GET", f"{target}&format=json" if query[0] != "D" else target)
    assert (status, "x-ms-error-code" in headers) == (200, False)


# NOTE: after an answer that says yes the write is tried for five seconds; one such fault will do.
@pytest.mark.parametrize(
    "fault", sorted(FAULTS.keys() - {"sends garbage", "sends half a document"})
)
def test_a_write_that_gets_no_answer_is_not_made(
    fault: str, wire: Wire, proxy: LyingServer
) -> None:
    proxy.lie = Lie(FAULTS[fault], CHANGE)
    check_failure(wire.call("PUT", "/digitaltwins/new", counter(1)))
    proxy.lie = None
    assert wire.call("GET", "/digitaltwins/new")[0] == 404


@pytest.mark.parametrize("fault", FAULTS)
def test_a_write_whose_answer_is_lost_is_made_once_and_told_so(
    fault: str, wire: Wire, proxy: LyingServer
) -> None:
    proxy.lie = Lie(FAULTS[fault], CHANGE, made=True)
    twin = f"lost{list(FAULTS).index(fault)}"
    status, _, document = wire.call("PUT", f"/digitaltwins/{twin}", counter(7), If_None_Match="*")
    assert status == 200, document
    assert document["value"] == 7


def test_a_write_that_may_be_made_yet_is_told_apart_from_one_that_is_not(
    wire: Wire, proxy: LyingServer
) -> None:
    for fault, code in (("fails", "StorageBusy"), ("hangs", "StorageUnanswered")):
        proxy.lie = Lie(FAULTS[fault], CHANGE)
        _, _, document = wire.call("PUT", "/digitaltwins/new", counter(1))
        assert document["error"]["code"] == code


def test_an_assistant_is_told_too(wire: Wire, proxy: LyingServer, server: Server) -> None:
    async def ask() -> None:
        async with connect("streamable", f"{server.url}/mcp") as client:
            proxy.lie = Lie(FAULTS["fails"])
            result = await client.call_tool("get_digital_twin", {"twin_id": "c0"})
            assert result.is_error
            assert "StorageBusy" in result.content[0].text
            proxy.lie = None
            result = await client.call_tool("get_digital_twin", {"twin_id": "c0"})
            assert not result.is_error

    asyncio.run(ask())


def test_the_service_does_not_start_on_a_server_that_is_down(tmp_path: Path) -> None:
    port = free_port()
    environment = {
        "Storage__Provider": "rdf",
        "Storage__Rdf__Engine": "sparql",
        "Storage__Rdf__QueryUrl": f"http://127.0.0.1:{port}/query",
        "Storage__Rdf__Retries": "0",
    }
    server = Server(tmp_path, environment=environment)
    try:
        with pytest.raises(AssertionError, match="gave no whole answer"):
            server.start()
    finally:
        server.kill()
