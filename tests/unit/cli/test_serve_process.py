"""`twinframe serve` as a process: start, reload, drain, and an end without orphans."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server import free_port

SECONDS = 120.0


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(0.02)


class Service:
    """One service with its settings file and its log."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self.config = folder / "config.json"
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    def configure(self, **server: Any) -> None:
        document = {
            "Server": {"Bind": f"127.0.0.1:{self.port}", "Workers": 2, **server},
            "Storage": {"Sqlite": {"Directory": str(self.folder / "data")}},
        }
        self.config.write_text(json.dumps(document), encoding="utf-8")

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "twinframe", "serve", "--config", str(self.config)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(lambda: self.get("/health/ready") == 200, "the first answer")
        return self.process

    def get(self, path: str) -> int:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}{path}", timeout=120
            ) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except OSError:
            return 0

    def list_members(self) -> list[int]:
        """The living processes of its group, zombies left out."""
        assert self.process is not None
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            if fields[2] == str(self.process.pid) and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    made.configure()
    yield made
    if made.process is not None:
        for member in made.list_members():
            os.kill(member, signal.SIGKILL)
        made.process.wait(SECONDS)


def test_term_drains_and_ends_every_process_with_success(service: Service) -> None:
    process = service.start()
    wait_for(lambda: len(service.list_members()) == 3, "the arbiter and two workers")
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
    assert service.list_members() == []
    log = service.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert all(json.loads(line)["level"] in ("info", "warning") for line in log.splitlines())


def test_hup_takes_new_settings_and_refuses_wrong_ones(service: Service) -> None:
    process = service.start()
    assert service.get("/graphs/models") == 404
    service.configure(BasePath="/graphs")
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: service.get("/graphs/models") == 200, "the new base path")
    service.configure(BasePath="/other", Workers=0, Bnid="x")
    process.send_signal(signal.SIGHUP)
    wait_for(
        lambda: "The new settings are not taken" in service.log.read_text(encoding="utf-8"),
        "the refusal in the log",
    )
    wait_for(lambda: service.get("/graphs/models") == 200, "the old base path")
    assert process.poll() is None
    log = service.log.read_text(encoding="utf-8")
    assert "Did you mean Server__Bind?" in log


def test_workers_end_when_the_arbiter_is_killed(service: Service) -> None:
    process = service.start()
    process.send_signal(signal.SIGKILL)
    process.wait(SECONDS)
    wait_for(lambda: service.list_members() == [], "the end of all workers")


def serve(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "twinframe", "serve", *args],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_an_address_in_use_is_one_line_and_a_failure(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        result = serve(Server__Bind=bind, Storage__Sqlite__Directory=str(tmp_path))
    assert result.returncode == 1
    assert result.stderr == (
        f"twinframe: Server__Bind={bind}: Address already in use. Another program listens there.\n"
    )


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"Authentication__Enabled": "true"}, "Audience must be set"),
        ({"Storage__Provider": "sqlte"}, "Did you mean 'sqlite'?"),
        ({"Server__Wrkers": "1"}, "Did you mean Server__Workers?"),
        ({"TWINFRAME_CONFIG": "/no/such/file.json"}, "/no/such/file.json cannot be read"),
    ],
)
def test_a_start_that_cannot_be_is_one_line_and_a_failure(
    environment: dict[str, str], said: str, tmp_path: Path
) -> None:
    result = serve(**{"Storage__Sqlite__Directory": str(tmp_path), **environment})
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert said in result.stderr


class Terminal:
    """A terminal with one command in it."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self.port = free_port()
        self.shown = ""
        settings = {
            "Server__Bind": f"127.0.0.1:{self.port}",
            "Server__Workers": "1",
            "Storage__Sqlite__Directory": str(folder),
        }
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            # Or a run of the tests under nohup would have the command outlive its terminal.
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.environ.update(settings)
            os.execvp(words[0], words)  # noqa: S606  (our own command)

    def read_until(self, text: str) -> None:
        end = time.monotonic() + SECONDS
        while text not in self.shown:
            assert time.monotonic() < end, self.shown
            if select.select([self.end], [], [], 1)[0]:
                self.shown += os.read(self.end, 65536).decode()

    def read_exit_code(self) -> int:
        """Return the exit code of the command."""
        found: list[int] = []

        def has_ended() -> bool:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            found.append(os.waitstatus_to_exitcode(status))
            return bool(pid)

        wait_for(has_ended, "the end of the command")
        return found[-1]


SERVE = (sys.executable, "-m", "twinframe", "serve")
STARTED = "Application startup complete"


def test_a_terminal_shows_lines_of_text_and_no_warning_at_ctrl_c(tmp_path: Path) -> None:
    terminal = Terminal(SERVE, tmp_path)
    terminal.read_until(STARTED)
    os.write(terminal.end, b"\x03")
    terminal.read_until("Shutting down: Master")
    assert terminal.read_exit_code() == 0
    os.close(terminal.end)
    assert f"INFO    twinframe.cli.serve: Serving at http://127.0.0.1:{terminal.port}/api ·" in (
        terminal.shown
    )
    assert f"http://127.0.0.1:{terminal.port}/explorer/" in terminal.shown
    assert "was sent" not in terminal.shown
    assert '{"' not in terminal.shown


def test_a_closed_terminal_ends_the_service(tmp_path: Path) -> None:
    terminal = Terminal(SERVE, tmp_path)
    terminal.read_until(STARTED)
    os.close(terminal.end)
    assert terminal.read_exit_code() == 0


def test_a_service_that_ignores_hang_ups_outlives_its_terminal(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = f"exec nohup {shlex.join(SERVE)} >{log} 2>&1"
    terminal = Terminal(["sh", "-c", command], tmp_path)
    wait_for(lambda: log.exists() and STARTED in log.read_text(), "the start")
    os.close(terminal.end)
    try:
        wait_for(lambda: "Hang up" in log.read_text(), "the reload")
    finally:
        os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.read_exit_code() == 0
