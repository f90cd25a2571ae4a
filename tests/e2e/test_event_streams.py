"""`GET /events` of a service with two workers: all is seen, in order; who does not read goes."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.unit.http.conftest import find_server_side, wait_until
from tests.waiting import PATIENCE, join, start

WRITES = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("streams")
    running = Server(
        folder,
        workers=2,
        environment={
            "Server__WriteTimeout": "1",
            "Events__Heartbeat": "0.5",
            "Events__MaxStreams": "4",
            "Server__GracefulTimeout": "5",
        },
    )
    with running:
        wire = Wire(running.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        wire.close()
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


class Stream:
    """A connection that follows events, read line by line."""

    def __init__(self, server: Server, target: str, headers: str = "", buffer: int = 0) -> None:
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.port))
        request = f"GET {target} HTTP/1.1\r\nHost: h\r\n{headers}\r\n"
        self.socket.sendall(request.encode())
        self._file = self.socket.makefile("rb")

    def read_until(self, holds: Callable[[], bool], take: Callable[[bytes], None]) -> None:
        while not holds():
            line = self._file.readline()
            assert line, "the stream ended"
            take(line)

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@contextmanager
def following(server: Server, target: str, headers: str = "") -> Iterator[Stream]:
    """A stream that has begun."""
    stream = Stream(server, target, headers)
    began: list[bytes] = []
    try:
        stream.read_until(lambda: any(b"retry" in line for line in began), began.append)
        yield stream
    finally:
        stream.close()


class Numbers:
    """The numbers that events of counters brought, with the id of each."""

    def __init__(self, count: int) -> None:
        self.found: list[int] = []
        self.ids: list[str] = []
        self._count = count

    def take(self, line: bytes) -> None:
        if line.startswith(b"id: "):
            self.ids.append(line[4:].decode().strip())
        if line.startswith(b"data: "):
            data = json.loads(line[6:])["data"]
            self.found.append(data["patch"][0]["value"] if "patch" in data else data["value"])

    def is_whole(self) -> bool:
        return len(self.found) >= self._count


def count_bytes(connection: socket.socket) -> int:
    """What still comes until the other side has ended it."""
    received, end = 0, time.monotonic() + PATIENCE
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            received += len(piece)
            assert time.monotonic() < end, "it is not cut off"
    return received


def write(server: Server, twin: str, numbers: range) -> None:
    for number in numbers:
        wire = Wire(server.port)  # each a connection of its own: both workers get some
        assert wire.call("PUT", f"/digitaltwins/{twin}", counter(number))[0] == 200
        wire.close()


def test_writes_of_all_workers_are_seen_in_order_and_a_stream_can_be_resumed(
    server: Server,
) -> None:
    target = "/events?filter=subject%20%3D%20%27seen%27"
    numbers = Numbers(WRITES // 2)
    with following(server, target) as stream:
        writing = start(write, server, "seen", range(WRITES))
        stream.read_until(numbers.is_whole, numbers.take)
    join(writing)
    rest = Numbers(WRITES - len(numbers.found))
    with following(server, target, f"Last-Event-ID: {numbers.ids[-1]}\r\n") as stream:
        stream.read_until(rest.is_whole, rest.take)
    assert numbers.found + rest.found == list(range(WRITES))
    positions = [int(one.split("-")[1]) for one in numbers.ids]
    assert positions == sorted(positions)


def test_who_does_not_read_is_cut_off_and_others_go_on(server: Server) -> None:
    slow = Stream(server, "/events", buffer=4096)
    while b"retry" not in (begun := slow.socket.recv(4096, socket.MSG_PEEK)):
        assert begun, "the stream ended"
        time.sleep(0.01)
    wire = Wire(server.port)
    big = {**counter(0), "$metadata": {"$model": COUNTER_MODEL["@id"]}}
    payload = {"x": "y" * 400_000}
    assert wire.call("PUT", "/digitaltwins/loud", big)[0] == 200
    numbers = Numbers(1)
    with following(server, "/events?filter=subject%20%3D%20%27quiet%27") as stream:
        for _ in range(25):  # more than the buffers between them take
            assert wire.call("POST", "/digitaltwins/loud/telemetry", payload)[0] == 204
        write(server, "quiet", range(7, 8))
        stream.read_until(numbers.is_whole, numbers.take)
    assert numbers.found == [7]
    wire.close()
    wait_until(lambda: not (find_server_side(server, slow.socket) or (False,))[0])
    assert count_bytes(slow.socket) < 25 * len(payload["x"])
    slow.close()


def test_there_are_only_so_many_streams_a_worker_and_places_come_free(server: Server) -> None:
    streams = []
    refused = 0
    for _ in range(30):
        stream = Stream(server, "/events")
        head = stream.socket.recv(200)
        if b" 503 " in head:
            refused += 1
            stream.close()
        else:
            assert b" 200 " in head
            streams.append(stream)
    assert len(streams) <= 8
    assert refused >= 22
    for stream in streams:
        stream.close()
    end = time.monotonic() + 120
    while time.monotonic() < end:
        stream = Stream(server, "/events")
        head = stream.socket.recv(200)
        stream.close()
        if b" 200 " in head:
            return
        time.sleep(0.1)
    raise AssertionError("no place came free")


def test_a_stream_comes_to_its_end_when_the_service_stops(tmp_path: Path) -> None:
    with (
        Server(tmp_path, environment={"Server__GracefulTimeout": "15"}) as running,
        following(running, "/events") as stream,
    ):
        lines: list[bytes] = []
        running.stop()
        with pytest.raises(AssertionError, match="the stream ended"):
            stream.read_until(lambda: False, lines.append)
    # The end of the last chunk: a connection that is cut has none.
    assert lines[-2:] == [b"0\r\n", b"\r\n"]
