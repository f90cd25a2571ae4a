"""`twinframe demo`: what a newcomer types first, as it stands."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.e2e.server import free_port
from tests.waiting import PATIENCE
from twinframe.demo.building import FAILED_UNIT, WARM_ROOMS, build_campus
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


def ask(port: int, query: str) -> list[dict[str, Any]]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/query",
        json.dumps({"query": query}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        rows: list[dict[str, Any]] = json.load(answer)["value"]
        return rows


def read_series(port: int, twin: str, path: str) -> list[Any]:
    since = (datetime.now(UTC) - timedelta(hours=23)).strftime("%Y-%m-%dT%H:%M:%SZ")
    address = f"http://127.0.0.1:{port}/digitaltwins/{twin}/series/{path}?from={since}"
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return [each["value"] for each in json.load(answer)["value"]]


def check_past(port: int) -> None:
    """Which rooms of the north wing are too warm, since when, and what feeds them."""
    place = "MATCH (:Building {name: 'North Wing'})-[:contains*2]->(r:Room)"
    warm = "r.climate.temperature > 24"
    feeding = "(a:AirHandlingUnit {status: 'fault'})-[:feeds]->()-[:feeds]->(r)"
    rows = ask(
        port, f"{place} MATCH {feeding} WHERE {warm} RETURN r.`$dtId` AS room, a.`$dtId` AS unit"
    )
    assert {(row["room"], row["unit"]) for row in rows} == {
        (room, FAILED_UNIT) for room in WARM_ROOMS
    }
    assert {row["room"] for row in ask(port, f"{place} WHERE {warm} RETURN r.`$dtId` AS room")} == {
        *WARM_ROOMS
    }
    for room, celsius in WARM_ROOMS.items():
        values = read_series(port, room, "climate%2Ftemperature")
        assert values[-1] == celsius
        assert 5 < len([*filter(lambda value: value <= 24, values)]) < len(values)
    assert len(read_series(port, "b1-chiller", "power")) == 100, "a full page"


def test_the_first_run_loads_the_sample_and_the_second_serves_on_with_it(tmp_path: Path) -> None:
    campus, port = build_campus(), free_port()
    demo = start_demo(tmp_path, port, ["--once"])
    first, _ = demo.communicate(timeout=150)
    assert demo.returncode == 0, first
    assert re.search(r"^The sample and its day .*100%", first, re.MULTILINE), first
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
        check_past(port)
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does it
        rest, _ = demo.communicate(timeout=120)
        assert "Traceback" not in first + second + rest
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.communicate(timeout=PATIENCE)
