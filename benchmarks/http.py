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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import Figure, Report
from tests.e2e.server import Server, free_port
from tests.e2e.wire import Wire

CONNECTIONS = 16
_TICKS = os.sysconf("SC_CLK_TCK")


class Rate(NamedTuple):
    """Answers a second, and the seconds of processor time for one."""

    answers: float
    seconds: float


class Load:
    """wrk with one thread: what it sends, and what it counts."""

    def __init__(self, seconds: float, rounds: int) -> None:
        self._seconds = seconds
        self.rounds = rounds

    def measure(self, server: Server, script: str) -> Rate:
        """Answers a second, and the processor time of the busiest process of the server."""
        before = read_processor_times(server)
        rate, count = self._run(server.url, script)
        spent = [now - before.get(pid, now) for pid, now in read_processor_times(server).items()]
        return Rate(rate, max(spent) / count)

    def run(self, url: str, script: str = "") -> float:
        """Answers a second; fails when one of them is no success."""
        return self._run(url, script)[0]

    def _run(self, url: str, script: str) -> tuple[float, int]:
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{self._seconds:g}s"]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
            file.write(script)
            file.flush()
            if script:
                command += ["-s", file.name]
            done = subprocess.run([*command, url], capture_output=True, text=True, check=True)
        if "Non-2xx" in done.stdout:
            raise RuntimeError(done.stdout)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        count = re.search(r"(\d+) requests in", done.stdout)
        if rate is None or count is None:
            raise RuntimeError(done.stdout)
        return float(rate[1]), int(count[1])


def read_processor_times(server: Server) -> dict[int, float]:
    """Seconds of processor time by process of the server's group; the arbiter is one of them."""
    assert server.process is not None
    found: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == server.process.pid:
                found[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    return found


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
  return wrk.format(nil, "/query", nil, '{body}')
end
"""
_GIVEN = ',"parameters":{"id":"ID"}'
QUERIES = (
    ("query of a twin by id", "MATCH (n) WHERE n.$dtId = $id RETURN n", _GIVEN, 0.6),
    ("… its id in the text", "MATCH (n) WHERE n.$dtId = \\'ID\\' RETURN n", "", 0.6),
    ("… in the vendor's language", "SELECT * FROM digitaltwins WHERE $dtId = \\'ID\\'", "", 0.6),
    ("query of one hop", "MATCH (n)-[:observes]->(m) WHERE n.$dtId = $id RETURN m", _GIVEN, 0.5),
    (
        "… its id in the text",
        "MATCH (n)-[:observes]->(m) WHERE n.$dtId = \\'ID\\' RETURN m",
        "",
        0.5,
    ),
    (
        "… in the vendor's language",
        "SELECT M FROM digitaltwins T JOIN M RELATED T.observes WHERE T.$dtId = \\'ID\\'",
        "",
        0.5,
    ),
)
"""Name, text, the rest of the body, and the least share of GET's rate; ID is that of a sensor."""


def build_query_script(text: str, rest: str) -> str:
    """The script of wrk that asks one query with the ids of many twins."""
    body = f'{{"query":"{text}"{rest}}}'.replace("ID", "' .. id .. '")
    return QUERY.replace("{body}", body)


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
            load.run(server.url, build_query_script(*QUERIES[0][1:3]))  # the first makes columns
            for name, text, rest, least in QUERIES:
                script = build_query_script(text, rest)
                pairs = [
                    (load.measure(server, script), load.measure(server, GET))
                    for _ in range(load.rounds)
                ]
                add_pairs(report, name, pairs, f"≥ {least} of GET of the twin", least)
            patches = [load.run(server.url, PATCH) for _ in range(load.rounds)]
            _add(report, "PATCH twin (durable)", patches, floors, "", None)
            puts, bulks = [], []
            for _ in range(2):
                puts.append(load.run(server.url, PUT % json.dumps(body)))
                bulk = BULK % (json.dumps(body.removeprefix("{")), BULK_ITEMS)
                bulks.append(load.run(server.url, bulk) * BULK_ITEMS)
            _add(report, "PUT new twin (durable)", puts, floors, "", None)
            _add(report, "new twins in bulk (durable)", bulks, puts, "≥ 3 of single PUTs", 3.0)


def add_pairs(
    report: Report, name: str, pairs: Sequence[tuple[Rate, Rate]], aim: str, least: float
) -> None:
    """Add a figure with two ratios: of the rates, and of the processor time for an answer.

    The second hardly depends on what else the machine does: it decides.
    """
    own = statistics.median(one.answers for one, _ in pairs)
    floor = statistics.median(other.answers for _, other in pairs)
    rates = statistics.median(one.answers / other.answers for one, other in pairs)
    ratio = statistics.median(other.seconds / one.seconds for one, other in pairs)
    report.add(Figure(f"{name} over HTTP, 1 worker", own, "1/s", floor, rates, aim))
    own, floor = (statistics.median(pair[side].seconds * 1e6 for pair in pairs) for side in (0, 1))
    name = f"{name}, processor time"
    report.add(Figure(name, own, "us", floor, ratio, aim, ratio >= least))


def _add(
    report: Report, name: str, ours: list[float], floors: list[float], aim: str, least: float | None
) -> None:
    own, floor = statistics.median(ours), statistics.median(floors)
    ratio = own / floor
    kept = None if least is None else ratio >= least
    report.add(Figure(f"{name} over HTTP, 1 worker", own, "1/s", floor, ratio, aim, kept))
