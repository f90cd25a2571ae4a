"""The gunicorn worker: how it ends, what it logs, TLS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from uvicorn.config import Config

from tests.unit.http.conftest import find_server_side, read_all, wait_until
from tests.waiting import PATIENCE, run_program
from twinframe.http.worker import DrainingServer

GET = b"GET /digitaltwins/room-1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
ASK = b'{"query":"slow"}'
SLOW = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(ASK), ASK)

Launch = Callable[..., Any]


def is_listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_a_worker_does_not_outlive_its_arbiter(launch: Launch) -> None:
    server = launch()
    assert b" 200 OK" in server.send(GET)
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(PATIENCE)
    ends = time.monotonic() + 120
    while is_listening(server.port):
        assert time.monotonic() < ends, "an orphan goes on serving"
        time.sleep(0.05)


def test_a_request_that_was_accepted_is_finished_at_the_stop(launch: Launch) -> None:
    server = launch()
    with server.connect() as asking:
        asking.sendall(SLOW)
        wait_until(lambda: find_server_side(server, asking) == (True, 0))
        server.process.terminate()
        assert b" 200 OK" in read_all(asking)
    assert server.process.wait(timeout=120) == 0


def test_each_request_has_a_line_and_nothing_else_is_written(launch: Launch) -> None:
    server = launch()
    server.send(GET)
    server.send(b"GARBAGE\r\n\r\n")
    server.process.terminate()
    _, written = server.process.communicate(timeout=120)
    lines = [orjson.loads(line) for line in written.splitlines() if line.startswith(b"{")]
    assert [line["path"] for line in lines if line["path"] != "/health/live"] == [
        "/digitaltwins/room-1"
    ]
    assert b"Traceback" not in written
    assert b"Invalid HTTP request" not in written  # what anybody can cause fills no log


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    run_program(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    return folder


def test_tls_is_served_and_a_silent_handshake_is_cut_off(launch: Launch, certificate: Path) -> None:
    server, hasty = launch(certificate), launch(certificate, HeaderTimeout=0.5)
    context = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
    context.check_hostname = False
    with server.connect() as raw, context.wrap_socket(raw, server_hostname="localhost") as tls:
        tls.sendall(GET)
        assert tls.recv(1000).startswith(b"HTTP/1.1 200 OK")
    with hasty.connect() as silent:
        silent.settimeout(40)  # less than it takes where nobody says how long
        assert silent.recv(1) == b""


@pytest.mark.parametrize(("parent", "ends"), [(os.getppid(), False), (2**22 + 1, True)])
def test_a_server_ends_when_its_process_has_another_parent(parent: int, ends: bool) -> None:
    async def tick() -> bool:
        config = Config(app=lambda: None, log_config=None)
        config.load()
        return await DrainingServer(config, lambda: None, parent).on_tick(0)

    assert asyncio.run(tick()) is ends


def test_signs_of_life_do_not_depend_on_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    signs: list[float] = []
    clock = [1000.0]

    async def notify() -> None:
        signs.append(clock[0])

    async def scenario() -> None:
        config = Config(None, callback_notify=notify, timeout_notify=5)  # type: ignore[arg-type]
        server = DrainingServer(config, lambda: None, os.getppid())
        for second in range(12):
            clock[0] = 1000.0 + second
            wall = 2e9 - second * 3600  # it is set back again and again
            monkeypatch.setattr("uvicorn.server.time.time", lambda wall=wall: wall)
            for tick in range(10):
                await server.on_tick(tick)

    monkeypatch.setattr("twinframe.http.worker.time.monotonic", lambda: clock[0])
    asyncio.run(scenario())
    assert signs == [1000.0, 1006.0]
