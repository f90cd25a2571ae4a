"""Raw HTTP over one kept connection, cheap enough to load a server from the same machine.

It judges no answer and repeats nothing.
"""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL

LOST = (OSError, ValueError)
"""What a call raises when its connection ends before the answer is whole."""


class Line:
    """A connection to a server on loopback. `ended` says that the last answer was its last."""

    def __init__(self, port: int, *, timeout: float = 30.0, token: str = "") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""
        self.ended = False
        self._fields = f"Host: 127.0.0.1:{port}\r\n"
        if token:
            self._fields += f"Authorization: Bearer {token}\r\n"

    def call(
        self, method: str, path: str, body: Any = None, fields: str = ""
    ) -> tuple[int, bytes, bytes]:
        """Send a request; status, head and body of its answer. `fields` are whole header lines."""
        data = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        kind = ""
        if data:
            patch = "-patch+json" if method == "PATCH" else ""
            kind = f"Content-Type: application/json{patch}\r\nContent-Length: {len(data)}\r\n"
        head = f"{method} {path} HTTP/1.1\r\n{self._fields}{kind}{fields}\r\n"
        self._socket.sendall(head.encode("latin-1") + data)
        return self._read()

    def _read(self) -> tuple[int, bytes, bytes]:
        held = self._held
        while (end := held.find(b"\r\n\r\n")) < 0:
            held += self._receive()
        head, rest = held[:end].lower(), held[end + 4 :]
        status = int(head[9:12])
        self.ended = b"\r\nconnection: close" in head
        start = head.find(b"\r\ncontent-length:")
        length = int(head[start + 17 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
        while len(rest) < length:
            rest += self._receive()
        self._held = rest[length:]
        return status, held[:end], rest[:length]

    def _receive(self) -> bytes:
        piece = self._socket.recv(65536)
        if not piece:
            raise ConnectionResetError("closed")
        return piece

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


def read_field(head: bytes, name: str) -> str:
    """The value of a field of an answer's head; '' without it."""
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name.encode():
            return value.strip().decode("latin-1")
    return ""


def add_model(port: int, model: object = COUNTER_MODEL, token: str = "") -> None:
    """Upload a model of the tests; it may be there already."""
    line = Line(port, token=token)
    status, _, body = line.call("POST", "/models", [model])
    line.close()
    assert status in (201, 409), body


def list_workers(server: Server) -> list[int]:
    """The ids of the worker processes of a running server, oldest first."""
    assert server.process is not None
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return sorted(int(child) for child in children if not _is_store_process(child))


def _is_store_process(pid: str) -> bool:
    """Whether it is the process that has the triples, which is no worker."""
    try:
        return b"storeprocess" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def wait_for_workers(server: Server, seconds: float = 30.0) -> list[int]:
    """The ids of all workers, once each of them has started to serve."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = server.log.read_text(encoding="utf-8").count("Application startup complete")
        workers = list_workers(server)
        if started >= server.workers == len(workers):
            return workers
        time.sleep(0.05)
    raise AssertionError(f"of {server.workers} workers only {list_workers(server)} came")
