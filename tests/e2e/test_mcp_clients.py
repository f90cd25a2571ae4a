"""Assistants on a real server with two workers: every transport and era, many at once, restarts."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from mcp import Client, MCPError
from tests.e2e.assistants import Kind, connect, launch, read_counter, seed
from tests.e2e.server import Server
from tests.waiting import PATIENCE

COUNT = 50
# NOTE: fifty clients in one process may each be late with what they send, on a busy machine.
PATIENT = {"Server__HeaderTimeout": f"{PATIENCE}", "Server__BodyTimeout": f"{PATIENCE}"}

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}"
)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """MCP beside the API, with counters in the store."""
    server = Server(
        tmp_path_factory.mktemp("beside"),
        workers=2,
        environment={"MCP__Enabled": "true", **PATIENT},
    )
    with server:
        seed(server.port, COUNT)
        yield server
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture(scope="module")
def alone(beside: Server) -> Iterator[Server]:
    """`twinframe mcp` on the same store."""
    folder = beside.folder / "alone"
    folder.mkdir()
    data = {"Storage__Sqlite__Directory": str(beside.folder / "data"), **PATIENT}
    server = Server(folder, workers=2, environment=data, command="mcp")
    with server:
        yield server
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


async def use(client: Client) -> None:
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"describe_graph", "get_digital_twin", "query_digital_twins"} <= names
    assert [await read_counter(client, number) for number in (3, 1)] == [3, 1]


@pytest.mark.parametrize("place", ["beside", "alone"])
@pytest.mark.parametrize("path", ["own", "root"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("kind", ["sse", "streamable"])
def test_an_assistant_uses_the_graph(
    kind: Kind, mode: str, path: str, place: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(place)
    own = "/sse" if kind == "sse" else "/mcp"

    async def run() -> None:
        async with connect(kind, server.url + (own if path == "own" else "/"), mode) as client:
            await use(client)

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["sse", "streamable"])
def test_fifty_assistants_at_once_get_their_own_answers(beside: Server, kind: Kind) -> None:
    url = beside.url + ("/sse" if kind == "sse" else "/mcp")

    async def session(number: int) -> list[int]:
        async with connect(kind, url, "legacy" if number % 2 else "auto") as client:
            asked = [(number * 7 + turn) % COUNT for turn in range(4)]
            found = await asyncio.gather(*(read_counter(client, each) for each in asked))
            return [a - b for a, b in zip(asked, found, strict=True)]

    async def run() -> list[list[int]]:
        return await asyncio.gather(*(session(number) for number in range(COUNT)))

    assert asyncio.run(run()) == [[0] * 4] * COUNT


def open_stream(server: Server) -> tuple[socket.socket, bool]:
    """The connection of a client that will not say farewell, and whether it got a session."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    connection.sendall(
        f"GET /sse HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        "Accept: text/event-stream\r\n\r\n".encode()
    )
    received = b""
    while b"session_id=" not in received and b"TooManySessions" not in received:
        piece = connection.recv(4096)
        assert piece, received
        received += piece
    return connection, b"session_id=" in received


def test_connections_that_break_give_their_sessions_back(tmp_path: Path) -> None:
    limits = {"MCP__Enabled": "true", "MCP__MaxSessions": "8", "MCP__MaxSessionsPerCaller": "8"}
    with Server(tmp_path, workers=2, environment=limits) as server:
        seed(server.port, 4)
        for _ in range(5):
            streams = [open_stream(server) for _ in range(30)]
            assert not all(opened for _, opened in streams)
            for stream, _ in streams:  # closed with a reset
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                stream.close()

        for _ in range(600):  # the ends of the last ones are still on their way
            stream, opened = open_stream(server)
            stream.close()
            if opened:
                break
            time.sleep(0.1)
        else:
            pytest.fail("no session came free")
        asyncio.run(call_once("streamable", f"{server.url}/mcp"))
        assert "Traceback" not in server.log.read_text(encoding="utf-8")


async def use_little(client: Client) -> None:
    assert await read_counter(client, 2) == 2


def test_a_restart_ends_sessions_without_a_hang_and_new_ones_go_on(tmp_path: Path) -> None:
    # The grace is longer than the test waits: an open stream must not use it up.
    slow = {"MCP__Enabled": "true", "Server__GracefulTimeout": "200"}
    server = Server(tmp_path, workers=2, environment=slow)

    async def apply(done: asyncio.Event, ready: asyncio.Event, kind: Kind, path: str) -> str:
        """Calls until the server ends; every answer must be right."""
        try:
            async with connect(kind, server.url + path, "legacy") as client:
                while not done.is_set():
                    await use_little(client)
                    ready.set()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  (the end of the server)
            return "wrong" if "AssertionError" in repr(error) else "ended"
        return "done"

    async def run() -> list[str]:
        done = asyncio.Event()
        started = [asyncio.Event() for _ in range(6)]
        tasks = [
            asyncio.create_task(
                apply(done, ready, "sse" if i % 2 else "streamable", "/sse" if i % 2 else "/mcp")
            )
            for i, ready in enumerate(started)
        ]
        await asyncio.gather(*(ready.wait() for ready in started))
        await asyncio.to_thread(server.stop)
        done.set()
        return await asyncio.wait_for(asyncio.gather(*tasks), 120)

    server.start()
    try:
        seed(server.port, 4)
        assert set(asyncio.run(run())) <= {"ended", "done"}
        server.start()
        for kind, path in (("sse", "/sse"), ("streamable", "/mcp")):
            asyncio.run(call_once(kind, server.url + path))  # type: ignore[arg-type]
    finally:
        server.stop()
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


async def call_once(kind: Kind, url: str) -> None:
    async with connect(kind, url) as client:
        await use_little(client)


def test_a_reload_is_seen_by_nobody_who_connects_anew(beside: Server) -> None:
    async def call_often() -> int:
        """Calls by new connections while workers are exchanged; how many were broken."""
        broken = 0
        for turn in range(60):
            if turn == 5:
                assert beside.process is not None
                beside.process.send_signal(signal.SIGHUP)
            try:
                async with connect("streamable", f"{beside.url}/mcp") as client:
                    for number in (turn % COUNT, 3):
                        assert await read_counter(client, number) == number
            except* (httpx2.TransportError, MCPError):
                broken += 1  # it was sent on a kept connection that its worker was closing
        return broken

    async def use_sessions() -> list[int]:
        async def session(number: int) -> int:
            async with connect("sse", f"{beside.url}/sse") as client:
                return await read_counter(client, number)

        return await asyncio.gather(*(session(number) for number in range(10)))

    assert asyncio.run(call_often()) <= 2  # one a worker
    for _ in range(600):  # a session of a worker that leaves would leave with it
        if beside.log.read_text(encoding="utf-8").count("Finished server process") >= 2:
            break
        time.sleep(0.1)
    assert asyncio.run(use_sessions()) == list(range(10))  # the new workers find each other


# --- stdio ----------------------------------------------------------------------------------------


def test_an_assistant_starts_its_own_server(beside: Server, tmp_path: Path) -> None:
    errors = tmp_path / "errors"

    async def run(mode: Any) -> None:
        async with Client(launch(beside.folder, errors), mode=mode) as client:
            await use(client)

    for mode in ("legacy", "auto"):
        asyncio.run(run(mode))
    assert "Traceback" not in errors.read_text(encoding="utf-8")


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT"])
def test_a_server_on_stdio_ends(how: str, tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "twinframe", "mcp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=tmp_path,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
            b'"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        )
        process.stdin.flush()
        assert b'"serverInfo"' in process.stdout.readline()
        if how == "end of input":
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, how))
        assert process.wait(120) == 0
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
    assert "Traceback" not in (tmp_path / "errors").read_text(encoding="utf-8")
