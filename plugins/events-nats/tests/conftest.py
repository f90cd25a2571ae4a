"""NATS servers of the tests' own, on free loopback ports."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.server import free_port
from tests.waiting import PATIENCE


class NatsServer:
    """A NATS server with JetStream, its data in `folder`; `options` are of its command line."""

    def __init__(self, folder: Path, *options: str) -> None:
        program = shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            pytest.skip("needs a NATS server: apt install nats-server")
        self.port = free_port()
        place = ["-a", "127.0.0.1", "-p", str(self.port), "-sd", str(folder / "streams")]
        self._command = [program, *place, "-js", *options]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it listens."""
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE),
            ):
                return
            time.sleep(0.02)
        raise AssertionError("the NATS server does not listen")

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(120)
            self._process = None


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., NatsServer]]:
    """Makes servers, not started; they are ended with the test."""
    made: list[NatsServer] = []

    def make(*options: str) -> NatsServer:
        made.append(NatsServer(tmp_path, *options))
        return made[-1]

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def server(make_server: Callable[..., NatsServer]) -> NatsServer:
    """A running server that lets everybody in."""
    server = make_server()
    server.start()
    return server
