"""A token issuer on a real socket that misbehaves on demand. It issues no token."""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

Write = Callable[[bytes], Any]


def answer(
    write: Write, body: bytes, kind: str = "application/json", length: int | None = None
) -> None:
    """A 200; `length` is what it claims of the body."""
    claimed = len(body) if length is None else length
    write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind.encode() + b"\r\n")
    write(f"Content-Length: {claimed}\r\nConnection: close\r\n\r\n".encode() + body)


def _drip(write: Write, good: bytes) -> None:
    write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n")
    for byte in good:
        write(bytes((byte,)))
        time.sleep(0.05)


def _hang(write: Write, _good: bytes) -> None:
    del write
    time.sleep(1.5)


def _endless_headers(write: Write, _good: bytes) -> None:
    write(b"HTTP/1.1 200 OK\r\n")
    for index in range(100_000):
        write(f"X-{index}: {'y' * 100}\r\n".encode())


def _chunks(write: Write, good: bytes) -> None:
    write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"zz\r\n" + good
    )


def _status(code: int, *headers: str) -> Callable[[Write, bytes], Any]:
    lines = "".join(f"{line}\r\n" for line in headers)
    text = f"HTTP/1.1 {code} X\r\n{lines}Content-Length: 0\r\nConnection: close\r\n\r\n"
    return lambda write, _good: write(text.encode())


def _kind(kind: str) -> Callable[[Write, bytes], Any]:
    return lambda write, good: answer(write, good, kind)


def _body(body: bytes) -> Callable[[Write, bytes], Any]:
    return lambda write, _good: answer(write, body)


MISDEEDS: Final[dict[str, Callable[[Write, bytes], Any]]] = {
    "says nothing and closes": lambda write, good: None,
    "hangs": _hang,
    "drips": _drip,
    "sends an HTML page": _kind("text/html"),
    "sends no content type": _kind(""),
    "sends 10 MB": _body(b" " * 10_000_000),
    "sends less than it said": lambda write, good: answer(write, good[:-20], length=len(good)),
    "sends half a document": lambda write, good: answer(write, good[: len(good) // 2]),
    "sends garbage": _body(b"\x00\xff<<<>>>"),
    "sends an empty body": _body(b""),
    "sends an array": _body(b"[]"),
    "sends an empty object": _body(b"{}"),
    "sends keys that are no array": _body(b'{"keys": {}}'),
    "sends duplicate members": lambda write, good: answer(
        write, good[:-1] + b',"keys":[],"issuer":"","keys":[]}'
    ),
    "speaks no HTTP": lambda write, good: write(b"220 mail.test ESMTP\r\n" * 20),
    "breaks its chunks": _chunks,
    "never ends its headers": _endless_headers,
    "fails": _status(500),
    "is busy": _status(503, "Retry-After: 3600"),
    "answers nothing, as 204": _status(204),
    "claims compression": lambda write, good: write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
        b"Content-Length: 5\r\n\r\n\x1f\x8b\x08\x00\x00"
    ),
}
"""What an issuer may do instead of answering, by name; each is given the good answer."""


class LyingIssuer:
    """An issuer on a loopback port; a context manager.

    It serves `documents` by path, unless `misdeeds` has something else for that path. `asked` are
    the paths that were asked for, in order, `received` the whole requests.
    """

    def __init__(self, tls: tuple[Path, Path] | None = None) -> None:
        self.documents: dict[str, Any] = {}
        self.misdeeds: dict[str, Callable[[Write, bytes], Any]] = {}
        self.asked: list[str] = []
        self.received: list[bytes] = []
        self._context: ssl.SSLContext | None = None
        if tls is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*tls)
        self._server: socketserver.ThreadingTCPServer | None = None
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        """Its origin."""
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def publish(self, key_set: Mapping[str, Any]) -> None:
        """Be an honest issuer with these keys."""
        self.documents = {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
            },
            "/keys": key_set,
        }

    def redirect(self, path: str, to: str) -> None:
        """Send those who ask for this path elsewhere."""
        self.misdeeds[path] = _status(302, f"Location: {to}")

    def start(self) -> None:
        """Listen, on the same port as before."""
        issuer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                issuer.accept(self.request)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that hangs up on a misdeed is what the tests want."""

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Listen no longer."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def accept(self, connection: socket.socket) -> None:
        """Serve one connection."""
        if self._context is None:
            self._serve(connection)
            return
        with (
            contextlib.suppress(ssl.SSLError),
            connection.dup() as raw,
            self._context.wrap_socket(raw, server_side=True) as wrapped,
        ):
            self._serve(wrapped)

    def _serve(self, connection: socket.socket) -> None:
        """Answer one request, or do what is to be done instead."""
        received = b""
        while b"\r\n\r\n" not in received:
            part = connection.recv(4096)
            if not part:
                return
            received += part
        path = received.split(b" ", 2)[1].decode()
        self.asked.append(path)
        self.received.append(received)
        good = json.dumps(self.documents.get(path, {})).encode()
        if path in self.misdeeds:
            self.misdeeds[path](connection.sendall, good)
        elif path in self.documents:
            answer(connection.sendall, good)
        else:
            _status(404)(connection.sendall, good)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
