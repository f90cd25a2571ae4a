"""R6: what a read may see over all workers, while workers are killed: a history is checked."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.traffic import LOST, Line, add_model, list_workers

KEYS = 4
READERS = 4


@dataclass(slots=True)
class History:
    """Registers with one writer each, whose values rise: so the order of all values is known.

    An operation that starts after another one has ended must not be before it in that order.
    """

    floors: list[int] = field(default_factory=lambda: [0] * KEYS)
    sent: list[int] = field(default_factory=lambda: [0] * KEYS)
    operations: int = 0
    violations: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self, key: int, floor: int, value: int) -> None:
        """An operation that began when `floor` was known has ended with `value`."""
        with self.lock:
            self.operations += 1
            self.violations += not floor <= value <= self.sent[key]
            self.floors[key] = max(self.floors[key], value)


def judge(trial: Trial) -> Sequence[Figure]:
    """Writers and readers on all workers, a kill of one each 0.7 seconds."""
    dice = random.Random(trial.seed)
    wanted, longest = trial.pick(100_000, 2_000), trial.pick(250, 60)
    wanted_kills = trial.pick(30, 1)
    history, kills = History(), 0
    server = Server(trial.folder, workers=2)
    with server:
        add_model(server.port)
        put_counters(server.port, KEYS)
        end = time.monotonic() + longest
        with using([server.port], history, dice):
            while (history.operations < wanted or kills < wanted_kills) and time.monotonic() < end:
                time.sleep(0.7)
                workers = list_workers(server)
                if len(workers) == 2:
                    os.kill(dice.choice(workers), signal.SIGKILL)
                    kills += 1
    return [
        exactly("violations", history.violations),
        at_least("operations", history.operations, trial.pick(100_000, 500)),
        at_least("kills", kills, wanted_kills),
    ]


def put_counters(port: int, count: int) -> None:
    """Put so many twins with the value 0."""
    line = Line(port)
    for key in range(count):
        line.call("PUT", f"/digitaltwins/k{key}", counter(0))
    line.close()


@contextmanager
def using(ports: Sequence[int], history: History, dice: random.Random) -> Iterator[None]:
    """Write and read the registers until the end of the block, over any of these ports.

    More ports may be added meanwhile.
    """
    stop = threading.Event()
    threads = [
        threading.Thread(target=_write, args=(ports, dice.random(), key, history, stop))
        for key in range(KEYS)
    ]
    threads += [
        threading.Thread(target=_read, args=(ports, dice.random(), history, stop))
        for _ in range(READERS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _write(
    ports: Sequence[int], seed: float, key: int, history: History, stop: threading.Event
) -> None:
    dice = random.Random(seed)
    while not stop.is_set():
        try:
            line = Line(dice.choice(ports))
            try:
                for _ in range(200):  # then another connection, which may have another worker
                    floor = history.floors[key]
                    history.sent[key] += 1
                    value = history.sent[key]
                    status, _, _ = line.call("PUT", f"/digitaltwins/k{key}", counter(value))
                    if status == 200:
                        history.end(key, floor, value)
                    if stop.is_set():
                        return
            finally:
                line.close()
        except LOST:
            time.sleep(0.01)


def _read(ports: Sequence[int], seed: float, history: History, stop: threading.Event) -> None:
    dice = random.Random(seed)
    while not stop.is_set():
        try:
            line = Line(dice.choice(ports))
            try:
                for _ in range(200):
                    key = dice.randrange(KEYS)
                    floor = history.floors[key]
                    status, _, body = line.call("GET", f"/digitaltwins/k{key}")
                    if status == 200:
                        history.end(key, floor, orjson.loads(body)["value"])
                    if stop.is_set():
                        return
            finally:
                line.close()
        except LOST:
            time.sleep(0.01)


GOAL = Goal(
    id="R6",
    title="linearizable registers over all workers",
    asked="≥ 100,000 operations with a worker killed each 0.7 s: no operation sees less than one "
    "that ended before it began",
    judge=judge,
    twins=(
        Twin(
            fault="acknowledge-before-commit",
            seeds="writes are acknowledged before the commit",
            breaks=("violations",),
        ),
    ),
    smoke=True,
)
