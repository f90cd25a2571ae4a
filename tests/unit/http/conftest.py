"""A graph in memory and a client that calls the ASGI application directly."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import orjson
import pytest

from tests.e2e.server import free_port
from tests.waiting import PATIENCE
from twinframe.http.application import build_application
from twinframe.http.guard import Guard
from twinframe.settings import Settings


@dataclass(frozen=True)
class Answered:
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class Client:
    """Calls an ASGI application with requests as a server would hand them on."""

    def __init__(self, app: Guard) -> None:
        self.app = app

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        content_type: str | None = "application/json",
        truncated: bool = False,
    ) -> Answered:
        path, _, query = target.partition("?")
        sent = {"host": "localhost:8080", **(headers or {})}
        if body is not None:
            sent.setdefault("content-length", str(len(body)))
            if content_type is not None:
                sent.setdefault("content-type", content_type)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in sent.items()],
            "client": ("192.0.2.1", 50000),
            "server": ("127.0.0.1", 8080),
            "state": {},
        }
        return asyncio.run(self._exchange(scope, body or b"", truncated))

    async def _exchange(self, scope: dict[str, Any], body: bytes, truncated: bool) -> Answered:
        events = [{"type": "http.request", "body": body, "more_body": truncated}]
        sent: list[Any] = []

        async def receive() -> Any:
            return events.pop(0) if events else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answered(start["status"], headers, b"".join(m.get("body", b"") for m in rest))


def load_served() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "served_app", Path(__file__).parent / "served_app.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["served_app"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


# --- a real server --------------------------------------------------------------------------------


class Listening(Protocol):
    """A server at a port of this machine."""

    @property
    def port(self) -> int: ...


@dataclass(frozen=True)
class Server:
    """A gunicorn with one worker in its own process group."""

    port: int
    process: subprocess.Popen[bytes]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def send(self, data: bytes, answers: float = 1) -> bytes:
        """What `read_all` reads of the answers to these bytes."""
        with self.connect() as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            return read_all(connection, answers)


def read_all(connection: socket.socket, answers: float = math.inf) -> bytes:
    """What comes until the end, which is waited for as long as it takes.

    Once so many whole answers came it is waited for a moment longer; where the connection is open
    then, `b"<open>"` follows.
    """
    received = b""
    try:
        while True:
            connection.settimeout(PATIENCE if count_answers(received) < answers else 0.5)
            piece = connection.recv(65536)
            if not piece:
                break
            received += piece
    except TimeoutError:
        return received + b"<open>"
    except ConnectionResetError:
        pass
    return received


def count_answers(received: bytes) -> int:
    """The answers that came whole; each has its length."""
    count = at = 0
    while (body := received.find(b"\r\n\r\n", at) + 4) > 3:
        found = re.search(rb"(?i)\r\ncontent-length: ([0-9]+)\r", received[at:body])
        at = body + (int(found[1]) if found else 0)
        count += at <= len(received)
    return count


def start_server(
    settings: dict[str, Any], tls: Path | None = None, memory: int = 300_000_000
) -> Server:
    """A server; `tls` is a folder with `cert.pem` and `key.pem`, `memory` what it may hold."""
    port = free_port()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--no-control-socket", "--log-level", "warning"),
            *("-w", "1", "-k", "twinframe.http.worker.Worker", "-b", f"127.0.0.1:{port}"),
            *(("--certfile", f"{tls}/cert.pem", "--keyfile", f"{tls}/key.pem") if tls else ()),
            *("--pythonpath", str(Path(__file__).parent), "served_app:build_served()"),
        ],
        env={
            **os.environ,
            "TEST_SERVER": orjson.dumps(settings).decode(),
            "TEST_MEMORY": str(memory),
        },
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    server = Server(port, process)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(ConnectionRefusedError):
            if tls is not None:
                server.connect().close()
                return server
            if b"200 OK" in server.send(b"GET /health/live HTTP/1.0\r\n\r\n"):
                return server
        time.sleep(0.05)
    stop_server(server)
    raise AssertionError("the server did not start")


def stop_server(server: Server) -> bytes:
    """End the server; what it wrote to standard error."""
    server.process.terminate()
    if server.process.stderr is not None and server.process.stderr.closed:
        return b""  # the test has ended it and read everything
    try:
        _, written = server.process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(server.process.pid, signal.SIGKILL)
        _, written = server.process.communicate(timeout=PATIENCE)
    return written


def find_server_side(server: Listening, connection: socket.socket) -> tuple[bool, int] | None:
    """The other end of a connection as the system sees it: whether the server has it open, and how
    many bytes it has not read; None when it is gone.
    """
    own = f":{connection.getsockname()[1]:04X}"
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{server.port:04X}") and fields[2].endswith(own):
            return fields[3] == "01", int(fields[4].partition(":")[2], 16)
    return None


def hold_place(server: Server, data: bytes) -> socket.socket:
    """A connection that the server has read this from and keeps, once it has a place for it."""
    held: list[socket.socket] = []

    def is_held() -> bool:
        connection = server.connect()
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        wait_until(lambda: find_server_side(server, connection) in (None, (True, 0), (False, 0)))
        if find_server_side(server, connection) == (True, 0):
            held.append(connection)
            return True
        connection.close()
        return False

    wait_until(is_held)
    return held[0]


def wait_until(holds: Callable[[], bool]) -> None:
    """Return when it holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


# --- fixtures -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def served() -> ModuleType:
    return load_served()


@pytest.fixture
def graph(served: ModuleType) -> Any:
    return served.FakeGraph()


@pytest.fixture
def connect(graph: Any) -> Callable[..., Client]:
    """Builds a client over `graph` with settings given as sections."""

    def build(*, is_ready: Any = None, gate: Any = None, **sections: Any) -> Client:
        settings = Settings.model_validate(sections)
        return Client(build_application(graph, settings, gate=gate, is_ready=is_ready))

    return build


@pytest.fixture(scope="session")
def launch() -> Iterator[Callable[..., Server]]:
    """Starts server processes with the given server settings; they end with the session."""
    started: list[Server] = []

    def build(tls: Path | None = None, memory: int = 300_000_000, **settings: Any) -> Server:
        started.append(start_server(settings, tls, memory))
        return started[-1]

    yield build
    for server in started:
        stop_server(server)


@pytest.fixture
def client(connect: Callable[..., Client]) -> Client:
    return connect()
