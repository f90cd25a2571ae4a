"""What every answer of a service carries, and blanks around what requests carry."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.e2e.server import Server, free_port
from tests.waiting import PATIENCE
from twinframe.access.authentication.api_keys import ApiKeys

MODEL = b'[{"@id":"dtmi:t:A;1","@type":"Interface","@context":"dtmi:dtdl:context;3"}]'


class Running:
    """A service that asks for API keys, with all that it can serve beside the API."""

    def __init__(self, server: Server, metrics: int, key: str) -> None:
        self.server = server
        self.metrics = metrics
        self.key = key

    def ask(self, head: str, body: bytes = b"", *, port: int = 0, key: str | None = None) -> bytes:
        """The head of the answer to a request; its body may go on."""
        shown = f"X-API-Key: {self.key if key is None else key}\r\n"
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        text = f"{head}\r\nHost: localhost\r\n{shown}{length}\r\n"
        address = ("127.0.0.1", port or self.server.port)
        with socket.create_connection(address, PATIENCE) as connection:
            connection.sendall(text.encode("latin-1") + body)
            answer = b""
            while b"\r\n\r\n" not in answer:
                piece = connection.recv(65536)
                assert piece, f"{head}: closed after {answer!r}"
                answer += piece
        return answer.partition(b"\r\n\r\n")[0]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("headers")
    keys = folder / "keys.sqlite"
    _, key = ApiKeys(keys).create("test", ["*"])
    metrics = free_port()
    environment = {
        "Authentication__Enabled": "true",
        "Authentication__Mode": "ApiKey",
        "Authorization__Enabled": "false",
        "Authentication__ApiKeys__File": str(keys),
        "MCP__Enabled": "true",
        "Metrics__Enabled": "true",
        "Metrics__Bind": f"127.0.0.1:{metrics}",
        "Logging__Access": "false",
    }
    with Server(folder, environment=environment) as server:
        found = Running(server, metrics, key)
        head = "POST /models HTTP/1.1\r\nContent-Type: application/json"
        assert b" 201 " in found.ask(head, MODEL)
        yield found


REQUESTS = {
    "a document": ("GET /models?api-version=2023-10-31 HTTP/1.1", 200),
    "a head": ("HEAD /models HTTP/1.1", 200),
    "nothing": ("PUT /digitaltwins/a HTTP/1.1", 400),
    "not found": ("GET /digitaltwins/a HTTP/1.1", 404),
    "no route": ("GET /nothing HTTP/1.1", 404),
    "no method": ("PATCH /models HTTP/1.1", 405),
    "methods": ("OPTIONS /models HTTP/1.1", 204),
    "health": ("GET /health/live HTTP/1.1", 200),
    "the document of the API": ("GET /openapi.json HTTP/1.1", 200),
    "a page": ("GET /swagger HTTP/1.1", 200),
    "discovery": ("GET /.well-known/oauth-protected-resource HTTP/1.1", 200),
    "a site elsewhere": ("GET /explorer HTTP/1.1", 307),
    "a stream of a session": ("GET /sse HTTP/1.1\r\nAccept: text/event-stream", 200),
    "no message": ("POST /mcp HTTP/1.1\r\nContent-Type: application/json", 406),
    "a stream of events": ("GET /events HTTP/1.1\r\nAccept: text/event-stream", 200),
    "a stream of lines": ("GET /export HTTP/1.1", 200),
    "a malformed path": ("GET /digitaltwins/%zz HTTP/1.1", 400),
    "a malformed field": ("GET /models HTTP/1.1\r\nbad field: x", 400),
    "another version": ("GET /models HTTP/1.2", 400),
    "a long target": (f"GET /{'x' * 20_000} HTTP/1.1", 414),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_answer_forbids_to_guess_its_type(running: Running, name: str) -> None:
    request, status = REQUESTS[name]
    head = running.ask(request).lower()
    assert int(head[9:12]) == status, head
    assert head.count(b"\r\nx-content-type-options: nosniff") == 1, head


def test_a_page_of_a_site_forbids_it_too_whether_it_was_built_or_not(running: Running) -> None:
    for path in ("/explorer/", "/explorer/nothing.js"):
        head = running.ask(f"GET {path} HTTP/1.1").lower()
        assert head.count(b"\r\nx-content-type-options: nosniff") == 1, head


def test_an_answer_to_nobody_and_that_of_metrics_forbid_it_too(running: Running) -> None:
    for head, status in (
        (running.ask("GET /models HTTP/1.1", key="none"), 401),
        (running.ask("GET /mcp HTTP/1.1", key="none"), 401),
        (running.ask("GET /metrics HTTP/1.1", port=running.metrics), 200),
        (running.ask("GET /nothing HTTP/1.1", port=running.metrics), 404),
    ):
        assert int(head[9:12]) == status, head
        assert head.lower().count(b"\r\nx-content-type-options: nosniff") == 1, head


@pytest.mark.parametrize(("before", "behind"), [("", " "), ("", "\t"), ("  ", ""), ("\t", " \t ")])
def test_blanks_around_a_field_are_none_of_it(running: Running, before: str, behind: str) -> None:
    key = f"{before}{running.key}{behind}"
    request = f"GET /models HTTP/1.1\r\nmax-items-per-page:{before}1{behind}"
    assert b" 200 " in running.ask(request, key=key)
    typed = f"POST /query HTTP/1.1\r\nContent-Type:{before}application/json{behind}"
    assert b" 200 " in running.ask(typed, b'{"query":"RETURN 1"}', key=key)
    assert b" 401 " in running.ask("GET /models HTTP/1.1", key=f"{key} x")
