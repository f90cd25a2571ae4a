"""`make soak`: half an hour of mixed, bounded load on two workers; memory and times as they went.

It is no goal of the table and runs by itself: `python -m tests.reliability.soak --minutes 30`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.left_behind import end_with_this_process
from tests.reliability.traffic import LOST, Line, add_model, wait_for_workers
from tests.reliability.vitals import count_files, count_threads, read_resident, read_time

TWINS: Final = 5000
CLIENTS: Final = 4
CALLS: Final = 500
"""Calls of a connection: who stays with one worker would leave the other cold for long."""

WARM_UP: Final = 5.0
"""Minutes; caches, spools and threads are there by then."""

MOST_GROWTH: Final = 5.0
"""MiB of a worker after the warm-up."""

LEAST_SHARE: Final = 0.2
"""Of the work, that each of the two workers has to have had."""

Request = tuple[str, str, Any]

_QUERIES: Final = (
    "MATCH (t:Counter) WHERE t.value > 900 RETURN t.$dtId AS id, t.value AS value LIMIT 50",
    "MATCH (a)-[:next]->(b)-[:next]->(c) WHERE a.$dtId = 't{n}' RETURN c.$dtId AS id",
    "SELECT COUNT() FROM DIGITALTWINS T WHERE T.value < 100",
    "MATCH (t:Counter) RETURN t.value % 10 AS digit, count(*) AS many ORDER BY digit",
    "MATCH (t {{`$dtId`: 't{n}'}}) RETURN t.value + {n} AS different_each_time",
)


def _build_request(dice: random.Random) -> tuple[str, Request]:
    n, kind = dice.randrange(TWINS), dice.random()
    twin = f"/digitaltwins/t{n}"
    if kind < 0.45:
        return "read", ("GET", twin, None)
    if kind < 0.60:
        patch = [{"op": "replace", "path": "/value", "value": dice.randrange(1000)}]
        return "patch", ("PATCH", twin, patch)
    if kind < 0.70:
        return "put", ("PUT", twin, counter(dice.randrange(1000)))
    if kind < 0.75:
        # Ids that come and go: nothing may be kept of them.
        new = f"/digitaltwins/passing-{dice.randrange(10**12)}"
        return "put new", ("PUT", new, counter(1))
    if kind < 0.80:
        return "telemetry", ("POST", f"{twin}/telemetry", {"value": n})
    if kind < 0.83:
        body = [{"$dtId": f"t{n + k}", **counter(k)} for k in range(min(50, TWINS - n))]
        return "bulk of 50", ("POST", "/digitaltwins", body)
    if kind < 0.85:
        return "refused", ("PUT", twin, {"$metadata": {"$model": "dtmi:not:there;1"}})
    if kind < 0.88:
        return "relationships", ("GET", f"{twin}/relationships", None)
    text = dice.choice(_QUERIES).format(n=n)
    return "query", ("POST", "/query", {"query": text})


class Client(threading.Thread):
    """Sends requests at its share of the rate, and takes away the twins that it made."""

    def __init__(self, port: int, pause: float, end: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._port, self._pause, self._end = port, pause, end
        self._dice = random.Random(seed)
        self.times: dict[str, list[float]] = defaultdict(list)
        self.wrong: list[str] = []

    def run(self) -> None:
        due = time.monotonic()
        while time.monotonic() < self._end:
            line = Line(self._port)
            due = self._use(line, due)
            line.close()

    def _use(self, line: Line, due: float) -> float:
        """Call until the connection had its share; when the next call is due."""
        for _ in range(CALLS):
            now = time.monotonic()
            if now >= self._end:
                break
            if now < due:
                time.sleep(due - now)
            due = max(due + self._pause, now - 1.0)
            name, (method, path, body) = _build_request(self._dice)
            started = time.perf_counter()
            try:
                status, _, answer = line.call(method, path, body)
                if name == "put new":
                    line.call("DELETE", path)
            except LOST as error:
                self.wrong.append(f"{name}: {error!r}")
                break
            self.times[name].append(time.perf_counter() - started)
            if status >= 500 or (status >= 400) != (name == "refused"):
                self.wrong.append(f"{name}: {status} {answer[:200]!r}")
        return due


def run_soak(folder: Path, minutes: float, rate: float) -> bool:
    """Print what was seen; whether nothing failed and nothing grew."""
    environment = {"Logging__Access": "false", "Events__Endpoints__lines__Type": "log"}
    with Server(folder, workers=2, environment=environment) as server:
        workers = wait_for_workers(server)
        add_model(server.port)
        _fill(server.port)
        end = time.monotonic() + minutes * 60
        clients = [Client(server.port, CLIENTS / rate, end, seed) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        begun = [read_time(worker) for worker in workers]
        seen = _watch(workers, end, min(WARM_UP, minutes / 4))
        worked = [read_time(w) - was for w, was in zip(workers, begun, strict=True)]
        for client in clients:
            client.join()
        assert server.process is not None
        alive = wait_for_workers(server) == workers
    wrong = [each for client in clients for each in client.wrong]
    _print_times(clients)
    for each in wrong[:10]:
        print("wrong:", each)
    grown = max(_measure_growth(list(sizes)) for sizes in zip(*seen, strict=True)) / 2**20
    print(f"a worker grew {grown:+.1f} MiB after the warm-up; {len(wrong)} wrong answers")
    least = min(worked) / sum(worked)
    print(f"the worker that had less to do had {least:.0%} of the work")
    held = not wrong and alive and grown <= MOST_GROWTH and least >= LEAST_SHARE
    print("held" if held else "FAILED")
    return held


def _measure_growth(sizes: Sequence[int]) -> float:
    """From the median of the first third to that of the last: one look sees garbage too."""
    third = max(1, len(sizes) // 3)
    return statistics.median(sizes[-third:]) - statistics.median(sizes[:third])


def _fill(port: int) -> None:
    line = Line(port)
    for start in range(0, TWINS, 250):
        body = [{"$dtId": f"t{n}", **counter(n % 1000)} for n in range(start, start + 250)]
        assert line.call("POST", "/digitaltwins", body)[0] == 200
    for n in range(TWINS):
        body = {"$targetId": f"t{(n + 1) % TWINS}", "$relationshipName": "next"}
        assert line.call("PUT", f"/digitaltwins/t{n}/relationships/r", body)[0] == 200
    line.close()


def _watch(workers: Sequence[int], end: float, warm_up: float) -> list[list[int]]:
    """Memory of each worker, a line a minute, from the end of the warm-up on."""
    started, seen = time.monotonic(), []
    while (now := time.monotonic()) < end:
        time.sleep(min(60.0, max(end - now, 1.0), warm_up * 60))
        resident = [read_resident([worker]) for worker in workers]
        files = [count_files(worker) for worker in workers]
        threads = [count_threads(worker) for worker in workers]
        minute = (time.monotonic() - started) / 60
        sizes = " ".join(f"{each / 2**20:.1f}" for each in resident)
        print(f"{minute:5.1f} min: {sizes} MiB, files {files}, threads {threads}", flush=True)
        if minute >= warm_up - 0.01:
            seen.append(resident)
    return seen


def _print_times(clients: Sequence[Client]) -> None:
    times: dict[str, list[float]] = defaultdict(list)
    for client in clients:
        for name, found in client.times.items():
            times[name] += found
    print(f"{'':14}{'requests':>9}{'p50 ms':>9}{'p99 ms':>9}{'worst':>9}")
    for name, found in sorted(
        {**times, "all": [t for each in times.values() for t in each]}.items()
    ):
        cuts = statistics.quantiles(found, n=100)
        print(
            f"{name:14}{len(found):9}{cuts[49] * 1e3:9.2f}{cuts[98] * 1e3:9.2f}"
            f"{max(found) * 1e3:9.1f}"
        )


def main() -> int:
    """0 when it held."""
    end_with_this_process()
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=400.0, help="requests a second, all together")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if run_soak(Path(folder), chosen.minutes, chosen.rate) else 1


if __name__ == "__main__":
    sys.exit(main())
