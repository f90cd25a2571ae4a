"""Derived values: how far they are behind a change, and what a burst of changes costs."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.report import Figure, Report
from tests.derived_world import AREA, MODELS, ROOM
from tests.e2e.server import Server
from tests.e2e.wire import Wire

_ROOMS: Final = 10_000
_AT_ONCE: Final = 1_000
_SETTLE: Final = 1.0
_MATCH: Final = "(this)-[:contains]->(r:Room)"


def measure(report: Report, *, quick: bool) -> None:
    """Change a room of ten and wait for their area; then change 10,000 rooms of another one."""
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
        wire = Wire(server.port)
        wire.call("POST", "/models", MODELS)
        rooms = 1_000 if quick else _ROOMS
        for area, count in (("few", 10), ("many", rooms)):
            wire.call("PUT", f"/digitaltwins/{area}", {"$metadata": {"$model": AREA}})
            _put_rooms(wire, area, count, 0.0)
            relationships = [
                {
                    "$sourceId": area,
                    "$relationshipId": f"r{at}",
                    "$relationshipName": "contains",
                    "$targetId": f"{area}-{at}",
                }
                for at in range(count)
            ]
            for first in range(0, count, _AT_ONCE):
                some = relationships[first : first + _AT_ONCE]
                assert wire.call("POST", "/relationships", some)[2]["failureCount"] == 0
        delay = _measure_delay(wire, 50 if quick else 300)
        report.add(
            Figure("derived: behind a change, median", delay, "ms", aim="≤ 10 ms", kept=delay <= 10)
        )
        values, seconds = _measure_burst(wire, rooms)
        most = int(seconds / _SETTLE) + 1
        name = f"derived: computations of a burst of {rooms:,} in {seconds:.1f} s"
        report.add(Figure(name, values, "", aim=f"≤ {most}", kept=values <= most))
        wire.close()


def _define(wire: Wire, settle: float) -> int:
    """Define the mean of an area; return how many values were computed when it is current."""
    document = {"model": AREA, "property": "mean", "match": _MATCH, "value": "avg(r.own)"}
    wire.call("PUT", "/derivations/mean", {**document, "settleSeconds": settle})
    return _wait_until_current(wire)


def _wait_until_current(wire: Wire) -> int:
    while (answer := wire.call("GET", "/derivations/mean")[2])["state"] != "current":
        time.sleep(0.05)
    computed: int = answer["computed"]
    return computed


def _put_rooms(wire: Wire, area: str, count: int, value: float) -> None:
    twins = [
        {"$dtId": f"{area}-{at}", "$metadata": {"$model": ROOM}, "own": value}
        for at in range(count)
    ]
    for first in range(0, count, _AT_ONCE):
        some = twins[first : first + _AT_ONCE]
        assert wire.call("POST", "/digitaltwins", some)[2]["failureCount"] == 0


def _measure_delay(wire: Wire, rounds: int) -> float:
    """Return the milliseconds from the answer to a change until the value is there."""
    _define(wire, 0)
    taken = []
    for value in range(1, rounds + 1):
        patch = [{"op": "add", "path": "/own", "value": 10.0 * value}]
        wire.call("PATCH", "/digitaltwins/few-0", patch)
        begin = time.perf_counter()
        while wire.call("GET", "/digitaltwins/few")[2].get("mean") != value:
            pass
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken) * 1000


def _measure_burst(wire: Wire, rooms: int) -> tuple[int, float]:
    """Return how often the value of their area was computed, and the seconds of the changes."""
    before = _define(wire, _SETTLE)
    begin = time.perf_counter()
    _put_rooms(wire, "many", rooms, 1.0)
    seconds = time.perf_counter() - begin
    while wire.call("GET", "/digitaltwins/many")[2].get("mean") != 1.0:
        time.sleep(0.02)
    return _wait_until_current(wire) - before, seconds
