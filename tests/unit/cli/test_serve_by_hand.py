"""The app under a server that somebody else starts: it runs, or says in one line why not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.server import free_port

UVICORN = ["-m", "uvicorn", "twinframe.asgi:app", "--port"]
GUNICORN = ["-m", "gunicorn", "-k", "twinframe.http.worker.Worker", "--no-control-socket"]
FAILED = 3


def start(arguments: list[str], **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"Server__Wrkers": "2"}, "Did you mean Server__Workers?"),
        ({"Storage__Sqlite__Directory": __file__}, f"{__file__} cannot be used: File exists."),
    ],
)
def test_what_is_wrong_is_one_line_under_uvicorn(environment: dict[str, str], said: str) -> None:
    ended = start([*UVICORN, str(free_port())], **environment)
    _, errors = ended.communicate(timeout=120)
    assert ended.returncode == FAILED
    assert sum(said in line for line in errors.splitlines()) == 1
    assert "Traceback" not in errors


def test_what_is_wrong_ends_gunicorn_instead_of_a_row_of_workers() -> None:
    bind = f"127.0.0.1:{free_port()}"
    ended = start([*GUNICORN, "-b", bind, "twinframe.asgi:app"], Server__Wrkers="2")
    _, errors = ended.communicate(timeout=120)
    assert ended.returncode == FAILED
    assert errors.count("twinframe: Server__Wrkers") == 1
    assert "Traceback" not in errors


@pytest.mark.parametrize("server", ["uvicorn", "gunicorn"])
def test_it_answers_under_a_server_started_by_hand(server: str, tmp_path: Path) -> None:
    port = str(free_port())
    arguments = {
        "uvicorn": [*UVICORN, port],
        "gunicorn": [*GUNICORN, "-b", f"127.0.0.1:{port}", "twinframe.asgi:app"],
    }[server]
    running = start(arguments, Storage__Sqlite__Directory=str(tmp_path))
    try:
        assert wait_for_answer(f"http://127.0.0.1:{port}/models", running) == b'{"value":[]'
    finally:
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=120)
    assert "Traceback" not in errors


def wait_for_answer(url: str, running: subprocess.Popen[str]) -> bytes:
    end = time.monotonic() + 120
    while running.poll() is None and time.monotonic() < end:
        try:
            # NOTE: gunicorn listens before its worker is there, which a busy machine may delay.
            with urllib.request.urlopen(url, timeout=120) as answer:
                return bytes(answer.read()).partition(b",")[0]
        except urllib.error.URLError:
            time.sleep(0.05)
    raise AssertionError("no answer")
