"""Slow and silent clients against a real server with short time-outs."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.http.conftest import find_server_side, hold_place, wait_until
from tests.waiting import PATIENCE

GET = b"GET /digitaltwins/room-1 HTTP/1.1\r\nHost: a\r\n\r\n"
ENDED = 60.0  # seconds after which a connection counts as never closed
LATE = 0.2  # seconds: half of what the server waits


@pytest.fixture(scope="module")
def server(launch: Callable[..., Any]) -> Any:
    return launch(
        HeaderTimeout=0.4,
        BodyTimeout=0.4,
        MinBodyRate=10,
        IdleTimeout=0.4,
        WriteTimeout=0.4,
        MaxConnections=8,
    )


def read_to_end(connection: socket.socket) -> bytes:
    connection.settimeout(ENDED)
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def ask(server: Any, data: bytes) -> bytes:
    """All that is answered, up to the end; asked again where this test itself was too late."""
    end = time.monotonic() + PATIENCE
    while True:
        answer, is_late, begun = b"", True, time.monotonic()
        with server.connect() as connection, contextlib.suppress(ConnectionError):
            connection.sendall(data)
            is_late = time.monotonic() - begun > LATE
            answer = read_to_end(connection)
        if answer or not is_late:
            return answer
        assert time.monotonic() < end


def test_a_silent_connection_is_closed_without_an_answer(server: Any) -> None:
    with server.connect() as connection:
        assert read_to_end(connection) == b""


def test_a_head_sent_byte_by_byte_times_out_although_it_makes_progress(server: Any) -> None:
    with server.connect() as connection:
        try:
            for byte in GET[:-2] + b"X: " + b"a" * 2000:
                connection.sendall(bytes([byte]))
                time.sleep(0.05)
        except (BrokenPipeError, ConnectionResetError):
            return  # closed while we were still sending
        pytest.fail("the connection stayed open")


def test_a_head_that_stops_is_answered_408(server: Any) -> None:
    assert ask(server, GET[:30]).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_stops_is_answered_408_and_written_nowhere(server: Any) -> None:
    head = b"PUT /digitaltwins/stalled HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"
    answer = ask(server, head + b"{}")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b" 404 " in ask(server, GET.replace(b"room-1", b"stalled"))


def test_a_body_that_makes_progress_is_waited_for(launch: Callable[..., Any]) -> None:
    server = launch(BodyTimeout=2.0, MinBodyRate=1, IdleTimeout=0.4)
    head = b"PUT /digitaltwins/slow HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n"

    def send_slowly() -> tuple[float, bytes]:
        """The longest of its own pauses, and the answer."""
        sent = [time.monotonic()]
        with server.connect() as connection, contextlib.suppress(BrokenPipeError):
            connection.sendall(head)
            for byte in b'{"a": "bcd"}':
                connection.sendall(bytes([byte]))
                sent.append(time.monotonic())
                time.sleep(0.25)
            return max(b - a for a, b in itertools.pairwise(sent)), read_to_end(connection)
        return max(b - a for a, b in itertools.pairwise(sent)), b""

    longest, answer = send_slowly()
    while longest > 1.0:  # this test itself was too slow
        longest, answer = send_slowly()
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_body_that_comes_in_drops_times_out_although_it_makes_progress(server: Any) -> None:
    head = b"PUT /digitaltwins/drops HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(head + b" " * 3900)
        try:
            for _ in range(500):
                connection.sendall(b" ")
                time.sleep(0.2)
        except (BrokenPipeError, ConnectionResetError):
            return  # closed while we were still sending
        pytest.fail("the connection stayed open")


def test_an_idle_connection_is_closed_after_its_last_answer(server: Any) -> None:
    answer = ask(server, GET)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_an_answer_may_take_longer_than_every_time_out(server: Any) -> None:
    query = b'{"query":"slower"}'
    head = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(query)
    assert ask(server, head + query).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_does_not_take_its_answer_is_cut_off(server: Any) -> None:
    ask = b'{"query":"large"}'
    head = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(ask)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(head + ask)
        wait_until(lambda: not (find_server_side(server, connection) or (False,))[0])
        received = 0
        connection.settimeout(ENDED)
        try:
            while piece := connection.recv(65536):
                received += len(piece)
        except ConnectionResetError:
            pass
    assert received < 8_000_000


def test_connections_beyond_the_cap_are_answered_503(launch: Callable[..., Any]) -> None:
    limits = {"MaxConnections": 8, "MaxConnectionsPerAddress": 8}
    server = launch(BodyTimeout=600, HeaderTimeout=1, **limits)
    head = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
    held = [hold_place(server, head) for _ in range(8)]  # in a request, none gives way

    # NOTE: one that was refused before counts for a moment, and is the first to give way.
    def is_refused() -> bool:
        with server.connect() as connection:
            return read_to_end(connection).startswith(b"HTTP/1.1 503 ")

    try:
        wait_until(is_refused)
    finally:
        for connection in held:
            connection.close()
    wait_until(lambda: b" 200 OK" in server.send(GET))


def test_clients_that_leave_while_they_have_several_requests_under_way_leave_no_trace(
    launch: Callable[..., Any],
) -> None:
    server = launch()
    ask = b'{"query":"slow"}'
    slow = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(ask), ask)
    for _ in range(3):
        with server.connect() as connection:
            connection.sendall(slow + GET + GET)
            time.sleep(0.05)
    time.sleep(1.0)  # the slow ones are answered by now, to nobody
    assert b" 200 OK" in server.send(GET)
    server.process.terminate()
    _, written = server.process.communicate(timeout=120)
    server.process.stderr.close()
    assert b"Traceback" not in written


def test_a_refused_client_that_sends_on_without_an_end_is_cut_off(
    launch: Callable[..., Any],
) -> None:
    server = launch()
    sent = 0

    def send_on(connection: socket.socket) -> None:
        nonlocal sent
        while sent < 200_000_000:
            sent += connection.send(b"a" * 65536)

    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        with pytest.raises(OSError, match=r"reset|pipe"):
            send_on(connection)
    assert sent < 20_000_000  # what the system itself takes ahead of the server included
