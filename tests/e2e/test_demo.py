"""`twinframe demo`: what a newcomer types first, as it stands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.server import free_port
from tests.waiting import PATIENCE
from twinframe.demo.building import build_campus
from twinframe.demo.tour import QUESTIONS

LAST = "Press Ctrl-C to end."


def start_demo(folder: Path, port: int, options: Sequence[str]) -> subprocess.Popen[str]:
    """The demo with its defaults but for the port, and `var` in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-m", "twinframe", "demo", *options],
        env={**os.environ, "Server__Bind": f"127.0.0.1:{port}", "COLUMNS": "200"},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_the_first_run_loads_the_sample_and_the_second_serves_on_with_it(tmp_path: Path) -> None:
    campus, port = build_campus(), free_port()
    demo = start_demo(tmp_path, port, ["--once"])
    first, _ = demo.communicate(timeout=150)
    assert demo.returncode == 0, first
    for name in ("Models", "Twins", "Relationships"):
        assert any(line.startswith(name) and "100%" in line for line in first.splitlines()), first
    for question in QUESTIONS:
        assert question.text in first
        assert question.title in first
    answers = first[first.index(QUESTIONS[0].text) :]

    demo = start_demo(tmp_path, port, [])
    try:
        assert demo.stdout is not None
        second = ""
        while LAST not in second:
            line = demo.stdout.readline()
            assert line, second
            second += line
        assert f"The sample is loaded already: {len(campus.twins)} twins." in second
        assert answers in second, "the same questions have the same answers"
        assert f"http://127.0.0.1:{port}/swagger" in second
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/digitaltwins/b1-l0-r02", timeout=PATIENCE
        ) as answer:
            assert answer.status == 200
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does it
        rest, _ = demo.communicate(timeout=120)
        assert "Traceback" not in first + second + rest
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.communicate(timeout=PATIENCE)
