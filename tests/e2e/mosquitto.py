"""An MQTT broker of a test's own."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.server import free_port
from tests.waiting import PATIENCE


class Mosquitto:
    """A broker on a free port, with further lines of its configuration.

    It lets everybody in, unless a line says otherwise.
    """

    def __init__(self, folder: Path, *lines: str) -> None:
        program = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            pytest.skip("needs Mosquitto: apt install mosquitto")
        self.port = free_port()
        config = folder / "mosquitto.conf"
        own = [f"user {getpass.getuser()}", f"listener {self.port} 127.0.0.1"]
        if not any(line.startswith("allow_anonymous") for line in lines):
            own.append("allow_anonymous true")
        config.write_text("\n".join([*own, *lines]) + "\n")
        self._command = [program, "-c", str(config)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        silent = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdout=silent, stderr=silent)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE),
            ):
                return
            time.sleep(0.02)
        raise AssertionError("Mosquitto does not listen")

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(120)
            self._process = None
