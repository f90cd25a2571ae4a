"""Brokers of the tests' own, on free loopback ports."""

from __future__ import annotations

import contextlib
import getpass
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


class Broker:
    """Mosquitto with its data in `folder`; `rules` are lines of its configuration."""

    def __init__(self, folder: Path, *rules: str) -> None:
        program = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            pytest.skip("needs Mosquitto: apt install mosquitto")
        self.port = free_port()
        self._program = program
        self._config = folder / "mosquitto.conf"
        lines = (
            f"user {getpass.getuser()}",
            f"listener {self.port} 127.0.0.1",
            *(rules or ("allow_anonymous true",)),
        )
        self._config.write_text("\n".join(lines) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        self._process = subprocess.Popen(
            [self._program, "-c", str(self._config)],
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
        raise AssertionError("Mosquitto does not listen")

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(120)
            self._process = None


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Makes brokers, not started; they are ended with the test."""
    made: list[Broker] = []

    def make(*rules: str) -> Broker:
        made.append(Broker(tmp_path, *rules))
        return made[-1]

    yield make
    for broker in made:
        broker.stop()


@pytest.fixture
def broker(make_broker: Callable[..., Broker]) -> Broker:
    """A running broker that lets everybody in."""
    broker = make_broker()
    broker.start()
    return broker
