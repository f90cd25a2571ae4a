"""R26: writers of points killed over and over: processes on one store, and a whole service."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import orjson

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.point_writers import (
    SERIES,
    SharedClock,
    build_points,
    compute_value,
    fork,
    keep_up_for_ever,
    kill,
    read_acknowledged,
    read_all,
    write_for_ever,
)
from tests.reliability.traffic import LOST, Line, add_model, list_workers
from tests.waiting import join, start

_CLIENTS: Final = 6
_LINES: Final = 20
_ROUNDS_A_LOOK: Final = 5


def judge(trial: Trial) -> Sequence[Figure]:
    """Kill processes of one store, then processes of a service; look for what was acknowledged."""
    return [*_judge_store(trial), *_judge_service(trial)]


# --- processes on one store -----------------------------------------------------------------------


def _judge_store(trial: Trial) -> list[Figure]:
    dice, clock = random.Random(trial.seed), SharedClock()
    rounds, longest = trial.pick(210, 4), trial.pick(400, 30)
    folder = trial.folder / "store"
    folder.mkdir()
    lost = halved = faults = acknowledged = done = 0
    end = time.monotonic() + longest
    while done < rounds and time.monotonic() < end:
        names: list[str] = []
        # A look reads more than a round writes, so several rounds share one.
        for _ in range(min(_ROUNDS_A_LOOK, rounds - done)):
            own = [f"r{done}w{number}" for number in range(3)]
            children = [
                fork(partial(_write, trial, name, clock, dice.randrange(2**32))) for name in own
            ]
            children.append(fork(partial(_keep_up, trial, clock)))
            time.sleep(dice.uniform(0.05, 0.4))
            kill(*dice.sample(children, len(children)))
            names += own
            done += 1
            clock.set(clock() + 700)  # so that upkeep makes blocks of what there is
        store = build_points(folder, clock)
        faults += len(store.verify()) if done % (2 * _ROUNDS_A_LOOK) == 0 else 0
        for name in names:
            known = read_acknowledged(trial.folder / name)
            acknowledged += len(known) * SERIES
            found = [
                dict(store.read_points((f"{name}-{at}", "t"), 0, 2**60, 10**7))
                for at in range(SERIES)
            ]
            lost += sum(one.get(time_) != compute_value(time_) for one in found for time_ in known)
            halved += len({frozenset(one) for one in found}) > 1
        store.close()
    store = build_points(folder, clock)
    found_all = read_all(store)
    for path in trial.folder.glob("r*w*"):
        known = read_acknowledged(path)
        lost += sum(
            found_all.get(f"{path.name}-{at}", {}).get(time_) != compute_value(time_)
            for at in range(SERIES)
            for time_ in known
        )
    faults += len(store.verify())
    store.close()
    return [
        exactly("acknowledged points lost", lost),
        exactly("writes half applied", halved),
        exactly("findings of verify", faults),
        at_least("kills of processes", done * 4, trial.pick(800, 12)),
        at_least("points acknowledged", acknowledged, trial.pick(500_000, 1000)),
    ]


def _write(trial: Trial, name: str, clock: SharedClock, seed: int) -> None:
    store = build_points(trial.folder / "store", clock)
    write_for_ever(store, name, trial.folder / name, random.Random(seed), 2 * 86_400)


def _keep_up(trial: Trial, clock: SharedClock) -> None:
    keep_up_for_ever(build_points(trial.folder / "store", clock))


# --- a service ------------------------------------------------------------------------------------


class _Client:
    """Sends points of rising values; after a lost connection it reads what is there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent = self.acknowledged = self.lost = self.errors = 0
        self.start = datetime.now(UTC) - timedelta(days=2)

    def run(self, port: int, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                line = Line(port)
            except OSError:
                time.sleep(0.01)
                continue
            try:
                self.check(line)
                while not (stop.is_set() or line.ended):
                    self._send(line)
            except LOST:
                pass
            finally:
                line.close()

    def check(self, line: Line) -> None:
        since = self.start.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        path = f"/digitaltwins/{self.name}/series/n?from={since}&every=10d&aggregate=count,max"
        status, _, body = line.call("GET", path)
        if status == 503:
            return
        buckets = orjson.loads(body)["value"] if status == 200 else []
        count, most = (buckets[0]["count"], buckets[0]["max"]) if buckets else (0, 0)
        self.lost += count != most or most not in (self.acknowledged, self.sent)
        self.acknowledged = self.sent = int(most)

    def _send(self, line: Line) -> None:
        self.sent = self.acknowledged + _LINES
        rows = [
            {"twinId": self.name, "path": "n", "value": value, "time": self._build_time(value)}
            for value in range(self.acknowledged + 1, self.sent + 1)
        ]
        status, _, _ = line.call("POST", "/telemetry", b"\n".join(map(orjson.dumps, rows)))
        if status == 200:
            self.acknowledged = self.sent
        elif status == 503:
            self.sent = self.acknowledged
        else:
            self.errors += 1

    def _build_time(self, value: int) -> str:
        return (self.start + timedelta(milliseconds=value)).isoformat()


def _judge_service(trial: Trial) -> list[Figure]:
    dice, kills = random.Random(trial.seed), 0
    rounds, longest = trial.pick(40, 2), trial.pick(300, 60)
    server = Server(
        trial.folder,
        workers=2,
        environment={"History__Telemetry": "all", "Logging__Access": "false"},
    )
    clients = [_Client(f"c{number}") for number in range(_CLIENTS)]
    stop = threading.Event()
    server.start()
    try:
        add_model(server.port)
        line = Line(server.port)
        for one in clients:
            assert line.call("PUT", f"/digitaltwins/{one.name}", counter(0))[0] == 200
        line.close()
        threads = [start(one.run, server.port, stop) for one in clients]
        end = time.monotonic() + longest
        while kills < rounds and time.monotonic() < end:
            time.sleep(dice.uniform(0.2, 0.8))
            kills += 1
            workers = list_workers(server)
            if kills % 3 and workers:
                os.kill(dice.choice(workers), signal.SIGKILL)
            else:
                server.kill()
                server.start()
        time.sleep(1.0)
        stop.set()
        join(*threads)
        line = Line(server.port)
        for one in clients:
            one.check(line)
        line.close()
    finally:
        stop.set()
        server.stop()
    return [
        exactly("service: requests of which points were lost", sum(one.lost for one in clients)),
        exactly("service: answers but 200 and 503", sum(one.errors for one in clients)),
        at_least("service: kills", kills, trial.pick(40, 2)),
        at_least(
            "service: points acknowledged",
            sum(one.acknowledged for one in clients),
            trial.pick(100_000, 500),
        ),
    ]


GOAL = Goal(
    id="R26",
    title="writers of points killed -9",
    asked="≥ 800 kills of processes that write and keep up one store of points, ≥ 40 of a service "
    "or a worker: no acknowledged point lost, no write half applied",
    judge=judge,
    twins=(
        Twin(
            fault="points-acknowledged-early",
            seeds="points are acknowledged before their commit",
            breaks=("acknowledged points lost", "service: requests of which points were lost"),
        ),
    ),
    smoke=True,
)
