"""A proxy before a real SPARQL server that does something else than to answer, on demand."""

from __future__ import annotations

import contextlib
import http.client
import http.server
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from tests.e2e.lying_issuer import MISDEEDS, Write
from tests.waiting import join, start

_FAULTS: Final = ("hangs", "drips", "sends garbage", "fails", "is busy", "never ends its headers")
_MORE: Final = ("sends half a document", "speaks no HTTP", "breaks its chunks")


def _write_page(write: Write, _good: bytes) -> None:
    page = b"<html><form action=/login>who are you?</form></html>"
    write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
    write(f"Content-Length: {len(page)}\r\nConnection: close\r\n\r\n".encode() + page)


def _pour(write: Write, _good: bytes) -> None:
    write(b"HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n\r\n")
    for _ in range(1000):
        write(b" " * 65536)


def _refuse(write: Write, _good: bytes) -> None:
    write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


FAULTS: Final[dict[str, Callable[[Write, bytes], Any]]] = {
    **{name: MISDEEDS[name] for name in (*_FAULTS, *_MORE)},
    "sends its login page": _write_page,
    "sends without end": _pour,
    "knows nobody": _refuse,
}
"""What may come instead of an answer; each is given the body of the good one."""


@dataclass(slots=True)
class Lie:
    """`fault` instead of the answer to texts that have `word` in them; `made`: after the request
    has reached the real server and was answered there."""

    fault: Callable[[Write, bytes], Any]
    word: str = ""
    made: bool = False


@dataclass(slots=True)
class LyingServer:
    """The proxy: honest while `lie` is None. `received` are the headers of all requests."""

    url: str
    lie: Lie | None = None
    received: list[dict[str, str]] = field(default_factory=list)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target = ""
    state: LyingServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        text = "".join(value for values in parse_qs(body.decode()).values() for value in values)
        self.state.received.append(dict(self.headers.items()))
        lie = self.state.lie
        if lie is not None and lie.word in text:
            good = self._ask(body)[2] if lie.made else b'{"head": {"vars": []}, "results": {}}'
            self.close_connection = True
            with contextlib.suppress(OSError):  # the client has had enough
                lie.fault(self.wfile.write, good)
            return
        status, kind, content = self._ask(body)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _ask(self, body: bytes) -> tuple[int, str, bytes]:
        place = urlsplit(self.target)
        fields = {name: self.headers[name] for name in ("Content-Type", "Accept")}
        with contextlib.closing(
            http.client.HTTPConnection(str(place.netloc), timeout=120)
        ) as connection:
            connection.request("POST", self.path, body, fields)
            with connection.getresponse() as answer:
                return answer.status, answer.headers.get("Content-Type", ""), answer.read()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name there)
        """Nothing."""


@contextlib.contextmanager
def lying_before(target: str) -> Iterator[LyingServer]:
    """A proxy on a free port, before the server whose origin is `target`."""
    state = LyingServer("")
    handler = type("Handler", (_Handler,), {"target": target, "state": state})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = start(server.serve_forever, 0.02)
    try:
        yield state
    finally:
        server.shutdown()
        join(thread)
        server.server_close()
