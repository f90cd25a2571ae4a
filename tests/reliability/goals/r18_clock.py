"""R18: a wall clock that jumps by an hour and by ten years, both ways, under load, and one that
stands three years back after a restart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import orjson

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.preloads import compile_preload
from tests.reliability.traffic import LOST, Line, add_model, wait_for_workers
from tests.storages import SERVED

HOUR = 3600
WORKER_TIMEOUT = 6
"""Seconds without a sign of life after which a worker is killed; less than two jumps take."""
YEARS = 10 * 365 * 24 * HOUR
HEART = "heart-by-the-wall-clock"
RESTARTS = (0, -HOUR, -3 * 365 * 24 * HOUR)
"""Offsets of the clock in the lives of one service, one after the other."""
STORAGES = ("sqlite", "oxigraph")
JUMPS = (0, HOUR, -HOUR, YEARS, -YEARS, 0)


@dataclass(slots=True)
class Client:
    """Writes rising values to a twin, reads them back, and looks at the times told."""

    name: str
    writes: int = 0
    failures: int = 0
    lost: int = 0
    backwards: int = 0
    etags: set[str] = field(default_factory=set)
    repeated: int = 0
    last: str = ""

    def run(self, port: int, stop: threading.Event) -> None:
        """Until told to stop."""
        line = Line(port)
        path = f"/digitaltwins/{self.name}"
        value = 0
        while not stop.is_set():
            value += 1
            try:
                status, _, _ = line.call("PUT", path, counter(value))
                self.failures += status >= 500
                _, _, body = line.call("GET", path)
            except LOST:
                self.failures += 1
                line = Line(port)
                continue
            self._look(orjson.loads(body), value)
        line.close()

    def _look(self, document: dict[str, object], value: int) -> None:
        self.writes += 1
        self.lost += document.get("value") != value
        etag = str(document["$etag"])
        self.repeated += etag in self.etags
        self.etags.add(etag)
        metadata = document["$metadata"]
        assert isinstance(metadata, dict)
        moment = str(metadata["$lastUpdateTime"])
        self.backwards += moment < self.last
        self.last = moment


def judge(trial: Trial) -> Sequence[Figure]:
    """Each jump for some seconds, with clients that write and a query that has a deadline."""
    offset = trial.folder / "offset"
    offset.write_text("0")
    environment = {
        "LD_PRELOAD": str(compile_preload("clock", trial.folder)),
        "CLOCK_OFFSET_FILE": str(offset),
        "Query__Timeout": "1",
        "Logging__Access": "false",
        "Server__WorkerTimeout": str(WORKER_TIMEOUT),
    }
    pause = trial.pick(4.0, 4.0 if trial.fault == HEART else 1.0)
    clients = [Client(f"c{number}") for number in range(4)]
    stop = threading.Event()
    late = 0
    with Server(trial.folder, workers=2, environment=environment) as server:
        workers = wait_for_workers(server)
        add_model(server.port)
        threads = [threading.Thread(target=c.run, args=(server.port, stop)) for c in clients]
        for thread in threads:
            thread.start()
        try:
            for jump in JUMPS:
                offset.write_text(str(jump))
                time.sleep(pause)
                late += _ask_runaway(server.port)
            alive = wait_for_workers(server) == workers
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    backwards = {name: _restart(trial, name, offset, environment) for name in STORAGES}
    return [
        exactly("answers of 500 and more", sum(client.failures for client in clients)),
        exactly("acknowledged writes lost", sum(client.lost for client in clients)),
        exactly("versions that came twice", sum(client.repeated for client in clients)),
        exactly("times that went back", sum(client.backwards for client in clients)),
        *(
            exactly(f"times that went back over restarts ({name})", count)
            for name, count in backwards.items()
        ),
        exactly("deadlines that moved", late),
        exactly("workers that died", 0 if alive else 1),
        at_least("writes", sum(client.writes for client in clients), trial.pick(2_000, 100)),
    ]


def _restart(trial: Trial, name: str, offset: Path, environment: Mapping[str, str]) -> int:
    """Lives of a service under ever earlier clocks: how many times of writes went back."""
    folder = trial.folder / name
    folder.mkdir()
    told: list[str] = []
    for life, moved in enumerate(RESTARTS):
        offset.write_text(str(moved))
        settings = {**SERVED[name](folder), **environment}
        with Server(folder, workers=2, environment=settings) as server:
            add_model(server.port)
            told += _write(server.port, life, trial.pick(60, 10))
            server.stop()
    return sum(later < earlier for earlier, later in pairwise(told))


def _write(port: int, life: int, count: int) -> list[str]:
    """New twins, and one that is replaced and patched in each life: their times, as written."""
    told = []
    patch = [{"op": "replace", "path": "/value", "value": -1}]
    for number in range(count):
        line = Line(port)  # of whichever worker
        new = f"/digitaltwins/n{life}-{number}"
        for method, path, body in (
            ("PUT", new, counter(number)),
            ("PUT", "/digitaltwins/old", counter(number)),
            ("PATCH", "/digitaltwins/old", patch),
        ):
            status, _, answer = line.call(method, path, body)
            assert status in (200, 204), answer
            document = orjson.loads(line.call("GET", path)[2])
            told.append(document["$metadata"]["$lastUpdateTime"])
        line.close()
    return told


def _ask_runaway(port: int) -> int:
    """Whether a query without an end was ended too early or too late."""
    text = (
        "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x, y "
        "WHERE sin(x) + y < -9 RETURN count(*) AS n"
    )
    line = Line(port, timeout=60)
    start = time.monotonic()
    try:
        status, _, _ = line.call("POST", "/query", {"query": text})
    except LOST:
        return 1
    seconds = time.monotonic() - start
    line.close()
    return 0 if status == 400 and 0.9 < seconds < 4.0 else 1


GOAL = Goal(
    id="R18",
    title="a clock that jumps",
    asked="± 1 h, ± 10 y under load, 3 y back over a restart: no 5xx, nothing lost, no version "
    "twice, lastUpdateTime never goes back, deadlines are where they were, no worker dies",
    judge=judge,
    twins=(
        Twin(
            fault="wall-clock-rules",
            seeds="times follow the wall clock back",
            breaks=("times that went back",),
        ),
        Twin(
            fault="times-of-one-life",
            seeds="a worker knows no times but those that it gave itself",
            breaks=tuple(f"times that went back over restarts ({name})" for name in STORAGES),
        ),
        Twin(
            fault=HEART,
            seeds="workers tell that they live by the wall clock",
            breaks=("workers that died",),
        ),
    ),
)
