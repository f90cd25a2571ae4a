"""A service that ends or reloads under load: what was accepted is finished, and nothing is lost.

`TWINFRAME_ROUNDS` is how many times it is told to; a few, unless set.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.server import Certificates, Server, free_port
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.waiting import PATIENCE, join, start

ROUNDS = int(os.environ.get("TWINFRAME_ROUNDS", "2"))
WRITERS = 4
LATE = 0.25  # seconds: half of those that a leaving worker waits for the next request
WORKERS = 2
HOSTED = "/graphs/any"
"""Whether there is such a graph makes no difference to its readiness."""
SLOW = (
    "UNWIND range(1, 3000) AS a UNWIND range(1, 300) AS b WITH a, b WHERE a % 7 = b % 11 "
    "RETURN count(*) AS n"
)
ENDLESS = SLOW.replace("3000", "100000").replace("300)", "100000)")


@dataclass
class Writer:
    """Writes rising values to one twin, on one connection as long as that lasts."""

    twin: str
    port: int
    stop: threading.Event
    sent: int = 0
    acknowledged: int = 0
    broken: int = 0
    refused: list[int] = field(default_factory=list)

    def run(self) -> None:
        """Write until told to stop; a connection that ends is counted, and made anew."""
        wire = Wire(self.port)
        while not self.stop.is_set():
            self.sent += 1
            try:
                status = wire.call("PUT", f"/digitaltwins/{self.twin}", counter(self.sent))[0]
            except (OSError, http.client.HTTPException):
                self.broken += 1
                wire.close()
                wire = Wire(self.port)
                time.sleep(0.01)
                continue
            if status == 200:
                self.acknowledged = self.sent
            else:
                self.refused.append(status)
        wire.close()


@contextmanager
def writing(port: int) -> Iterator[list[Writer]]:
    """Some writers at work."""
    stop = threading.Event()
    writers = [Writer(f"writer-{number}", port, stop) for number in range(WRITERS)]
    threads = [start(writer.run) for writer in writers]
    try:
        yield writers
    finally:
        stop.set()
        join(*threads)


def wait_for_progress(writers: list[Writer]) -> None:
    """Return when each of them had a write acknowledged from now on."""
    before = [writer.acknowledged for writer in writers]
    end = time.monotonic() + 120
    while any(writer.acknowledged <= early for writer, early in zip(writers, before, strict=True)):
        assert time.monotonic() < end, "writers get no answers"
        time.sleep(0.01)


def set_up(server: Server) -> None:
    wire = Wire(server.port)
    assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
    for number in range(WRITERS):
        assert wire.call("PUT", f"/digitaltwins/writer-{number}", counter(0))[0] == 200
    wire.close()


def check(server: Server, writers: list[Writer]) -> None:
    """All that was acknowledged is there."""
    wire = Wire(server.port)
    for writer in writers:
        value = wire.call("GET", f"/digitaltwins/{writer.twin}")[2]["value"]
        assert writer.acknowledged <= value <= writer.sent
    wire.close()


def read_log(server: Server) -> str:
    return server.log.read_text(encoding="utf-8")


def read_ready(server: Server, base: str = "") -> int:
    """The status of readiness on a connection of its own; 0 where nobody accepts any more."""
    wire = Wire(server.port)
    try:
        return wire.call("GET", f"{base}/health/ready")[0]
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        wire.close()


def test_term_under_load_loses_nothing_that_was_accepted(tmp_path: Path) -> None:
    server = Server(tmp_path, workers=WORKERS)
    server.start()
    set_up(server)
    for _ in range(ROUNDS):
        with writing(server.port) as writers:
            wait_for_progress(writers)
            assert server.process is not None
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(120) == 0
        assert {status for writer in writers for status in writer.refused} <= {503}
        server.start()
        check(server, writers)
    server.stop()
    assert "Traceback" not in read_log(server)
    assert "WORKER TIMEOUT" not in read_log(server)


def is_query_running(metrics: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=120) as answer:
        return any(
            line.startswith(b"twinframe_queries_running ") and float(line.split()[1]) > 0
            for line in answer
        )


def test_who_asks_again_and_again_is_told_which_answer_is_the_last(tmp_path: Path) -> None:
    with Server(tmp_path, workers=WORKERS) as server:
        silent = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        silent.connect()
        told = 0
        while not told:
            told = ask_through_a_reload(server)
        assert silent.sock.recv(1) == b"", "who never asked is not waited for"
        silent.close()
    assert "Traceback" not in read_log(server)


def ask_through_a_reload(server: Server) -> int:
    """How many connections were told which answer is their last.

    Only those are closed untold on which nothing was asked for some time, as on a busy machine.
    """
    answered = {
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE): 0.0
        for _ in range(20)
    }
    for connection in answered:
        ask(connection)
        answered[connection] = time.monotonic()
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)
    told, end = 0, time.monotonic() + PATIENCE
    while answered:
        assert time.monotonic() < end, f"{len(answered)} were never told"
        for connection in tuple(answered):
            try:
                is_last = ask(connection) == "close"
                told += is_last
            except (OSError, http.client.HTTPException):
                assert time.monotonic() - answered[connection] > LATE, "it was not told"
                is_last = True
            answered[connection] = time.monotonic()
            if is_last:
                del answered[connection]
                connection.close()
    return told


def ask(connection: http.client.HTTPConnection) -> str | None:
    """What the answer says of the connection. Raises when it is closed instead."""
    connection.request("GET", "/health/live")
    with connection.getresponse() as answer:
        answer.read()
        assert answer.status == 200
        return answer.getheader("connection")


def test_a_tls_client_that_keeps_an_idle_connection_does_not_hold_up_the_end(
    tmp_path: Path, certificates: Certificates
) -> None:
    with Server(tmp_path, certificates) as server, connect(server, certificates) as idle:
        idle.sendall(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
        assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
        server.stop()
        assert idle.recv(1) == b"", "the farewell of the server"
    assert "graceful shutdown exceeded" not in read_log(server)


def test_a_tls_client_that_reads_late_gets_the_whole_of_its_answer(
    tmp_path: Path, certificates: Certificates
) -> None:
    rows = 10_000
    body = json.dumps({"query": f"UNWIND range(1, {rows}) AS a RETURN a, '{'x' * 800}' AS b"})
    head = f"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
    kind = "Content-Type: application/json\r\nmax-items-per-page: 10000\r\n\r\n"
    # NOTE: a page that is as large as pages usually may be fits into what the kernel keeps.
    large = {"Graph__MaxPageBytes": str(32 * 2**20), "Server__GracefulTimeout": "100"}
    with (
        Server(tmp_path, certificates, environment=large) as server,
        connect(server, certificates) as late,
    ):
        late.sendall((head + kind + body).encode())
        time.sleep(1.0)  # all of it is rendered, and most of it cannot be sent
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        time.sleep(4.0)  # longer than any farewell is waited for
        with http.client.HTTPResponse(late) as answer:
            answer.begin()
            assert len(json.loads(answer.read())["value"]) == rows
        assert server.process.wait(120) == 0
    assert "Traceback" not in read_log(server)


def connect(server: Server, certificates: Certificates) -> ssl.SSLSocket:
    """A connection of the test's own, with a small window for what it does not read."""
    context = ssl.create_default_context(cafile=str(certificates.authority))
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    plain.connect(("127.0.0.1", server.port))
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def test_an_answer_that_takes_its_time_is_finished(tmp_path: Path) -> None:
    metrics = free_port()
    environment = {
        "Metrics__Enabled": "true",
        "Metrics__Bind": f"127.0.0.1:{metrics}",
        "Server__GracefulTimeout": "100",
    }
    server = Server(tmp_path, environment=environment)
    server.start()
    answers: list[tuple[int, object]] = []

    def ask() -> None:
        wire = Wire(server.port)
        status, _, document = wire.call("POST", "/query", {"query": SLOW})
        answers.append((status, document["value"]))
        wire.close()

    ask()
    asking = start(ask)
    while not is_query_running(metrics):
        if not asking.is_alive():  # it was done before anybody saw it run
            asking = start(ask)
        time.sleep(0.005)
    assert server.process is not None
    server.process.send_signal(signal.SIGTERM)
    join(asking)
    assert server.process.wait(120) == 0
    assert answers[-1] == answers[0]
    assert answers[0][0] == 200


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_an_answer_that_takes_too_long_is_told_to_be_given_up(tmp_path: Path, how: int) -> None:
    metrics = free_port()
    environment = {
        "Metrics__Enabled": "true",
        "Metrics__Bind": f"127.0.0.1:{metrics}",
        "Query__Timeout": "200",
        "Server__GracefulTimeout": "1",
    }
    with Server(tmp_path, environment=environment) as server:
        answers: list[tuple[int, str]] = []

        def ask() -> None:
            wire = Wire(server.port)
            status, _, document = wire.call("POST", "/query", {"query": ENDLESS})
            answers.append((status, document["error"]["code"]))
            wire.close()

        asking = start(ask)
        while not is_query_running(metrics):
            assert asking.is_alive(), "the query was done before anybody saw it run"
            time.sleep(0.005)
        assert server.process is not None
        server.process.send_signal(how)
        join(asking)
        assert answers == [(503, "ServiceUnavailable")]
    assert "Traceback" not in read_log(server)


def test_it_is_not_ready_before_it_stops_accepting(tmp_path: Path) -> None:
    environment = {
        "Server__DrainDelay": "300",
        "Hosting__Enabled": "true",
        "Hosting__Directory": str(tmp_path / "hosting"),
    }
    server = Server(tmp_path, workers=WORKERS, environment=environment)
    server.start()
    set_up(server)
    with writing(server.port) as writers:
        wait_for_progress(writers)
        assert server.process is not None
        assert read_ready(server) == 200
        assert read_ready(server, HOSTED) == 200
        server.process.send_signal(signal.SIGTERM)
        seen = [read_ready(server)]
        while seen[-1] != 503 and len(seen) < 100:
            time.sleep(0.01)
            seen.append(read_ready(server))
        wait_for_progress(writers)
        assert [read_ready(server) for _ in range(8)] == [503] * 8
        assert [read_ready(server, HOSTED) for _ in range(8)] == [503] * 8
        assert [writer.broken for writer in writers] == [0] * WRITERS
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0
    states = [status for status, _ in itertools.groupby(seen)]
    assert states in ([200, 503], [503])


def test_a_second_term_ends_the_delay(tmp_path: Path) -> None:
    server = Server(tmp_path, environment={"Server__DrainDelay": "300"})
    server.start()
    assert server.process is not None
    server.process.send_signal(signal.SIGTERM)
    while read_ready(server) == 200:
        time.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(120) == 0


def test_reloads_under_load_lose_nothing_and_break_few_connections(tmp_path: Path) -> None:
    server = Server(tmp_path, workers=WORKERS)
    server.start()
    set_up(server)
    with writing(server.port) as writers:
        for number in range(ROUNDS):
            assert server.process is not None
            booted = read_log(server).count("Application startup complete")
            server.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 120
            while read_log(server).count("Application startup complete") < booted + WORKERS:
                assert time.monotonic() < end, f"reload {number} brought no new workers"
                time.sleep(0.05)
            wait_for_progress(writers)
    # A request may meet a connection that an old worker closes in the same moment.
    assert max(writer.broken for writer in writers) <= ROUNDS * WORKERS
    assert {status for writer in writers for status in writer.refused} <= {503}
    check(server, writers)
    server.stop()
    assert "Traceback" not in read_log(server)
