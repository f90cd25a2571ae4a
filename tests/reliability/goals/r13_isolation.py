"""R13: point reads and writes beside eight clients that never stop asking heavy queries."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tests.e2e.server import Server
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.load import Wrk, fill
from tests.reliability.traffic import LOST, Line, wait_for_workers

HEAVY = {"query": "MATCH (a:Counter), (b:Counter) WHERE a.value + b.value < 0 RETURN count(*) AS n"}
"""A million pairs, a second of one core, whatever values the writes of the load leave: a condition
that few twins meet would be cheap as soon as they were written over."""

CLIENTS = 8


def judge(trial: Trial) -> Sequence[Figure]:
    """The same load alone and beside the queries."""
    environment = {"Logging__Access": "false"}
    with Server(trial.folder, workers=2, environment=environment) as server:
        wait_for_workers(server)
        fill(server.port)
        wrk = Wrk(server.port)
        wrk.run(1, writes=20)
        seconds = trial.pick(20.0, 4.0)
        alone = wrk.run(seconds, writes=20, clients=8)
        stop = threading.Event()
        answered: list[int] = []
        heavy = [
            threading.Thread(target=_ask, args=(server.port, answered, stop))
            for _ in range(CLIENTS)
        ]
        for thread in heavy:
            thread.start()
        try:
            beside = wrk.run(seconds * 2, writes=20, clients=8)
        finally:
            stop.set()
            for thread in heavy:
                thread.join()
    return [
        trial.at_most_when_full("p99 ms beside queries", beside.p99, 50),
        at_least("share of the undisturbed rate", beside.rate / alone.rate, trial.pick(0.5, 0.2)),
        exactly("errors", alone.errors + beside.errors),
        at_least("heavy queries answered", sum(s == 200 for s in answered), 1),
        trial.at_most_when_full("heavy queries a second", _rate(answered, seconds * 2), 20),
        exactly("heavy queries failed", sum(s not in (200, 503) for s in answered)),
        told("undisturbed a second", alone.rate),
        told("undisturbed p99 ms", alone.p99),
    ]


def _rate(answered: Sequence[int], seconds: float) -> float:
    """More than a machine of two cores can do are not heavy."""
    return sum(status == 200 for status in answered) / seconds


def _ask(port: int, answered: list[int], stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            line = Line(port, timeout=120)
            while not stop.is_set():
                answered.append(line.call("POST", "/query", HEAVY)[0])
            line.close()
        except LOST:
            answered.append(0)


GOAL = Goal(
    id="R13",
    title="isolation of point requests from queries",
    asked="8 clients with heavy queries without pause: point p99 ≤ 50 ms, ≥ 50 % of the "
    "undisturbed rate",
    judge=judge,
    twins=(
        Twin(
            fault="queries-on-the-loop",
            seeds="queries run on the event loop",
            breaks=("share of the undisturbed rate",),
        ),
    ),
)
