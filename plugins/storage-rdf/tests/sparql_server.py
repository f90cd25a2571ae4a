"""A small SPARQL 1.1 server for tests: pyoxigraph behind HTTP, which can be told to misbehave."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pyoxigraph

from tests.waiting import join, start


class SparqlServer(ThreadingHTTPServer):
    """Serves `/query` and `/update` of one store in memory on a free port.

    `fault` is asked before each answer with path and text; it may return `500`, `cut`, `rubbish`,
    `slow` or (for an update) `lost`: made, but not answered. Basic and bearer credentials are
    checked when `credentials` is set.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store = pyoxigraph.Store()
        self.turn = threading.Lock()
        self.credentials = ""
        self.requests: list[tuple[str, str]] = []
        self.fault: Callable[[str, str], str] = lambda path, text: ""
        self._thread = start(self.serve_forever, 0.05)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        join(self._thread)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: SparqlServer

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        form = parse_qs(self.rfile.read(length).decode(), strict_parsing=True)
        server = self.server
        server.requests.append((self.path, "".join(*form.values())))
        if server.credentials and self.headers["Authorization"] != server.credentials:
            self._send(401, b"who are you?")
            return
        fault = server.fault(self.path, "".join(*form.values()))
        if fault == "500":
            self._send(500, b"no")
        elif fault == "rubbish":
            self._send(200, b"<html>welcome</html>")
        elif fault == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"head":')
            self.close_connection = True
        elif fault == "slow":
            time.sleep(2.0)
            self.close_connection = True
        else:
            self._answer(form, fault)

    def _answer(self, form: dict[str, list[str]], fault: str) -> None:
        try:
            if self.path == "/update":
                with self.server.turn:  # the library does not tell conflicting updates apart
                    self.server.store.update(form["update"][0])
                body = b""
            else:
                found = self.server.store.query(form["query"][0])
                body = found.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        except SyntaxError as error:
            self._send(400, str(error).encode())
            return
        if fault == "lost":
            self.close_connection = True
            return
        self._send(200, body)

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name there)
        """Nothing: the tests look at `requests`."""


def build_basic(user: str, password: str) -> str:
    """The header of basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
