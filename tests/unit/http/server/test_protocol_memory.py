"""Clients that send without an end or take nothing, against a real server with little memory."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.http.conftest import find_server_side, hold_place, read_all, wait_until
from tests.waiting import PATIENCE

MIB = 1024 * 1024
GET = b"GET /digitaltwins/room-1 HTTP/1.1\r\nHost: a\r\n\r\n"
LARGE = b'{"query":"large"}'
ASK_LARGE = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(LARGE), LARGE)


@pytest.fixture(scope="module")
def server(launch: Callable[..., Any]) -> Any:
    return launch(memory=20 * MIB)


def build_head(size: int) -> bytes:
    return b"POST /models HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size


def begin_upload(server: Any, size: int) -> socket.socket:
    """All of a body but its last byte."""
    connection: socket.socket = server.connect()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(build_head(size) + b" " * (size - 1))
    return connection


def wait_for_answer(connection: socket.socket) -> bytes:
    connection.settimeout(PATIENCE)
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(65536)
    return b"reset"


def test_bodies_that_stop_give_way_when_the_memory_is_used_up(server: Any) -> None:
    stopped = [begin_upload(server, 8 * MIB) for _ in range(2)]
    tried: list[tuple[socket.socket, list[socket.socket]]] = []

    # NOTE: until they are late, it is the third that is refused, and its client begins again.
    def is_room_made() -> bool:
        third = begin_upload(server, 8 * MIB)
        tried.append((third, select.select([third, *stopped], [], [], PATIENCE)[0]))
        if tried[-1][1] == [third]:
            third.close()
            return False
        return True

    wait_until(is_room_made)
    third, refused = tried[-1]
    answers = [connection.recv(65536) for connection in refused]
    assert len(answers) == 1
    assert answers[0].startswith(b"HTTP/1.1 503 ")
    assert b"MemoryExhausted" in answers[0]
    assert b"retry-after: 1" in answers[0]
    third.sendall(b" ")
    answer = wait_for_answer(third)  # read whole: it is no JSON, and parsing it takes more memory
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 503 "))
    for connection in (*stopped, third):
        connection.close()


def test_a_body_larger_than_the_memory_for_it_is_413(launch: Callable[..., Any]) -> None:
    server = launch(memory=4 * MIB)
    answer = server.send(build_head(8 * MIB) + b"{")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"Memory__Requests" in answer
    for _ in range(3):  # all was given back
        with begin_upload(server, MIB) as done:
            done.sendall(b" ")
            assert wait_for_answer(done).startswith(b"HTTP/1.1 400 ")


def test_requests_that_wait_behind_one_another_are_charged(launch: Callable[..., Any]) -> None:
    server = launch(memory=MIB)
    slow = b'{"query":"slow"}'
    first = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(slow), slow)
    waiting = [server.connect() for _ in range(40)]
    for connection in waiting:
        connection.sendall(first + GET * 25)
    answers = []
    for connection in waiting:
        answers.append(read_all(connection, 26))
        connection.close()
    assert any(b"HTTP/1.1 503 " in answer and b"MemoryExhausted" in answer for answer in answers)
    assert any(answer.count(b"HTTP/1.1 200 ") == 26 for answer in answers)
    # What the others held is given back, if not all of it by now.
    many = first + GET * 2000
    wait_until(lambda: server.send(many, answers=2001).count(b"HTTP/1.1 200 ") == 2001)


def test_nothing_is_computed_for_a_client_that_takes_nothing(launch: Callable[..., Any]) -> None:
    server = launch(memory=300 * MIB)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(ASK_LARGE * 40)
        time.sleep(1.0)
        grown = read_peak(server)
    assert grown < 150 * MIB  # and not 40 answers of 8 MB


def test_answers_that_nobody_takes_are_cut_when_the_memory_is_used_up(
    launch: Callable[..., Any],
) -> None:
    server = launch(memory=20 * MIB, WriteTimeout=600)
    late = []
    for _ in range(2):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(ASK_LARGE)
        late.append(connection)

    # NOTE: until they are late, it is the third answer that is cut, and its client asks again.
    def is_made_room_for() -> bool:
        received = count_received(server, ASK_LARGE)
        sides = [find_server_side(server, one) for one in late]
        return received >= 8_000_000 and not all(side and side[0] for side in sides)

    wait_until(is_made_room_for)
    for connection in late:
        connection.close()


def count_received(server: Any, request: bytes) -> int:
    """The bytes of an answer that come before it is whole or cut."""
    received = 0
    with server.connect() as connection, contextlib.suppress(ConnectionResetError):
        connection.sendall(request)
        while received < 8_000_000 and (data := connection.recv(MIB)):
            received += len(data)
    return received


def read_peak(server: Any) -> int:
    """The most memory that the arbiter's worker has had."""
    pid = server.process.pid
    (worker,) = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    status = Path(f"/proc/{worker}/status").read_text(encoding="ascii").splitlines()
    (line,) = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def test_slow_heads_give_way_when_the_worker_is_full(launch: Callable[..., Any]) -> None:
    server = launch(MaxConnections=20, MaxConnectionsPerAddress=20, HeaderTimeout=600)
    slow = [hold_place(server, b"GET / HTTP/1.1\r\nX: ") for _ in range(20)]
    served = []

    # NOTE: until one of them is slow, it is the newcomer that is refused, and it asks again.
    def is_one_more_served() -> bool:
        newcomer = server.connect()
        newcomer.sendall(GET)
        if not wait_for_answer(newcomer).startswith(b"HTTP/1.1 200 "):
            newcomer.close()
            return False
        served.append(newcomer)  # and it keeps its place
        return True

    for _ in range(10):
        wait_until(is_one_more_served)
    ended = 0
    for connection in slow:
        connection.settimeout(0.01)  # what gave way has its answer by now
        with contextlib.suppress(TimeoutError):
            ended += connection.recv(65536).startswith(b"HTTP/1.1 503 ")
        connection.close()
    for connection in served:
        connection.close()
    assert ended == 10


def test_a_client_of_another_address_finds_a_place(launch: Callable[..., Any]) -> None:
    server = launch(MaxConnections=20, MaxConnectionsPerAddress=15)
    head = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
    busy = []
    for _ in range(30):
        connection = server.connect()
        with contextlib.suppress(ConnectionError):  # it is one too many
            connection.sendall(head)  # a request: it does not give way
        busy.append(connection)
    with socket.create_connection(
        ("127.0.0.1", server.port), timeout=PATIENCE, source_address=("127.0.0.9", 0)
    ) as other:
        other.sendall(GET)
        assert wait_for_answer(other).startswith(b"HTTP/1.1 200 ")
    for connection in busy:
        connection.close()
