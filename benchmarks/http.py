"""Requests a second over loopback, as ratios to a bare responder under the same server."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import Figure, Report
from tests.e2e.server import Server, free_port
from tests.e2e.wire import Wire

CONNECTIONS = 16


class Load:
    """wrk with one thread: what it sends, and what it counts."""

    def __init__(self, seconds: float, rounds: int) -> None:
        self._seconds = seconds
        self.rounds = rounds

    def run(self, url: str, script: str = "") -> float:
        """Answers a second; fails when one of them is no success."""
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{self._seconds:g}s"]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
            file.write(script)
            file.flush()
            if script:
                command += ["-s", file.name]
            done = subprocess.run([*command, url], capture_output=True, text=True, check=True)
        if "Non-2xx" in done.stdout:
            raise RuntimeError(done.stdout)
        found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        if found is None:
            raise RuntimeError(done.stdout)
        return float(found[1])


PATCH = """
wrk.method = "PATCH"
wrk.headers["Content-Type"] = "application/json-patch+json"
local n = 0
request = function()
  n = n + 1
  local path = "/digitaltwins/sensor-" .. (n % 20000)
  return wrk.format(nil, path, nil, '[{"op":"replace","path":"/value","value":' .. n .. '.5}]')
end
"""
PUT = """
wrk.method = "PUT"
wrk.headers["Content-Type"] = "application/json"
local n = 0
local body = %s
request = function()
  n = n + 1
  return wrk.format(nil, "/digitaltwins/new-" .. n, nil, body)
end
"""
BULK_ITEMS = 200
BULK = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local n = 0
local rest = %s
request = function()
  local items = {}
  for at = 1, %d do
    n = n + 1
    items[at] = '{"$dtId":"bulk-' .. n .. '",' .. rest
  end
  return wrk.format(nil, "/digitaltwins", nil, "[" .. table.concat(items, ",") .. "]")
end
"""
GET = """
local n = 0
request = function()
  n = n + 1
  return wrk.format("GET", "/digitaltwins/sensor-" .. (n * 7919 % 20000))
end
"""


QUERY = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local n = 0
request = function()
  n = n + 1
  local id = "sensor-" .. (n * 7919 % 20000)
  return wrk.format(nil, "/query", nil, '{"query":"{text}","parameters":{"id":"' .. id .. '"}}')
end
"""
QUERIES = (
    ("query of a twin by id", "MATCH (n) WHERE n.$dtId = $id RETURN n", 0.6),
    ("query of one hop", "MATCH (n)-[:observes]->(m) WHERE n.$dtId = $id RETURN m", 0.5),
)


@contextmanager
def serve_bare(folder: Path) -> Iterator[str]:
    """The bare responder under gunicorn with our worker class, one worker."""
    port = free_port()
    process = subprocess.Popen(
        [
            sys.executable, "-m", "gunicorn", "--worker-class", "twinframe.http.worker.Worker",
            "--workers", "1", "--bind", f"127.0.0.1:{port}", "--no-control-socket",
            "benchmarks.bare:app",
        ],
        stdout=(folder / "bare.log").open("wb"),
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONPATH": "."},
        start_new_session=True,
    )  # fmt: skip
    server = Server(folder, port=port)
    server.process = process
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()


def _wait(port: int) -> None:
    import time

    for _ in range(200):
        try:
            wire = Wire(port)
            wire.call("GET", "/digitaltwins/x")
        except OSError:
            time.sleep(0.05)
        else:
            wire.close()
            return
    raise RuntimeError("the bare responder did not start")


def measure(report: Report, data: Path, *, quick: bool) -> None:
    """GET, PATCH and PUT of a twin on a service with a graph in `data`, one worker each."""
    if shutil.which("wrk") is None:
        print("wrk is not installed (Debian: apt-get install wrk): HTTP figures are left out")
        return
    load = Load(2 if quick else 5, 2 if quick else 5)
    body = json.dumps(
        {"$metadata": {"$model": "dtmi:com:example:bench:TemperatureSensor;1"}, "name": "New",
         "value": 20.5, "unit": "degreeCelsius", "maker": "Aerotec"}
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        server = Server(folder, environment={"Storage__Sqlite__Directory": str(data)}, workers=1)
        with server, serve_bare(folder) as bare:
            floors, gets = [], []
            for _ in range(load.rounds):
                floors.append(load.run(f"{bare}/digitaltwins/sensor-1"))
                gets.append(load.run(server.url, GET))
            _add(report, "GET twin", gets, floors, "≥ 0.7 of the bare responder", 0.7)
            for name, text, least in QUERIES:
                script = QUERY.replace("{text}", text)
                pairs = [
                    (load.run(server.url, script), load.run(server.url, GET))
                    for _ in range(load.rounds)
                ]
                asked, got = map(list, zip(*pairs, strict=True))
                _add(report, name, asked, got, f"≥ {least} of GET of the twin", least)
            patches = [load.run(server.url, PATCH) for _ in range(load.rounds)]
            _add(report, "PATCH twin (durable)", patches, floors, "", None)
            puts, bulks = [], []
            for _ in range(2):
                puts.append(load.run(server.url, PUT % json.dumps(body)))
                bulk = BULK % (json.dumps(body.removeprefix("{")), BULK_ITEMS)
                bulks.append(load.run(server.url, bulk) * BULK_ITEMS)
            _add(report, "PUT new twin (durable)", puts, floors, "", None)
            _add(report, "new twins in bulk (durable)", bulks, puts, "≥ 3 of single PUTs", 3.0)


def _add(
    report: Report, name: str, ours: list[float], floors: list[float], aim: str, least: float | None
) -> None:
    own, floor = statistics.median(ours), statistics.median(floors)
    ratio = own / floor
    kept = None if least is None else ratio >= least
    report.add(Figure(f"{name} over HTTP, 1 worker", own, "1/s", floor, ratio, aim, kept))
