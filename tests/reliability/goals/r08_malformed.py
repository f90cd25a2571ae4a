"""R8: a million malformed requests from sockets of our own against the real service."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.fuzzing import Fuzzer, Tally
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.traffic import LOST, Line, add_model, list_workers, wait_for_workers
from tests.reliability.vitals import read_resident


def judge(trial: Trial) -> Sequence[Figure]:
    """Fuzz for a while; look at statuses, workers, memory and at what others wait for."""
    cases, longest = trial.pick(1_000_000, 20_000), trial.pick(250, 60)
    server = Server(trial.folder, workers=2, environment={"Logging__Access": "false"})
    with server:
        add_model(server.port)
        line = Line(server.port)
        line.call("PUT", "/digitaltwins/room", counter(1))
        line.close()
        workers = wait_for_workers(server)
        fuzzer = Fuzzer(server.port, trial.seed)
        fuzzer.run(cases // 20, longest / 10)  # what is made once is made now
        before = read_resident(workers)
        pings: list[float] = []
        stop = threading.Event()
        pinging = threading.Thread(target=_ping, args=(server.port, pings, stop))
        pinging.start()
        start = time.monotonic()
        try:
            tally: Tally = fuzzer.run(cases, longest)
        finally:
            stop.set()
            pinging.join()
        seconds = time.monotonic() - start
        grown = read_resident(workers) - before
        alive = list_workers(server) == workers
    failures = {
        status: count
        for status, count in tally.statuses.items()
        if status >= 500 and status not in (501, 503, 505)
    }
    return [
        exactly("answers of 500 and more", sum(failures.values())),
        exactly("tracebacks", server.log.read_text(encoding="utf-8").count("Traceback")),
        exactly("workers that died", 0 if alive else 1),
        trial.at_most_when_full("MiB grown", grown / 2**20, 20),
        at_least("cases", tally.cases, trial.pick(1_000_000, 1_000)),
        at_least("answered", tally.statuses.total(), trial.pick(500_000, 500)),
        trial.at_least_when_full("cases a second", tally.cases / seconds, 3_300),
        trial.at_most_when_full("worst ping in ms", max(pings) * 1000, 200),
        told("different statuses", len(tally.statuses)),
        *(told(f"answers {status}", count) for status, count in sorted(tally.statuses.items())),
    ]


def _ping(port: int, pings: list[float], stop: threading.Event) -> None:
    while not stop.is_set():
        start = time.monotonic()
        try:
            line = Line(port, timeout=10)
            line.call("GET", "/health/live")
            line.close()
        except LOST:
            pass
        pings.append(time.monotonic() - start)
        stop.wait(0.1)


GOAL = Goal(
    id="R8",
    title="malformed HTTP",
    asked="1,000,000 cases in under 5 minutes: no 5xx but 501, 503, 505; no worker dies, memory "
    "grows < 20 MiB, others wait ≤ 200 ms",
    judge=judge,
    twins=(
        Twin(
            fault="stock-protocol",
            seeds="uvicorn's own HTTP protocol without guard",
            breaks=("answers of 500 and more",),
        ),
    ),
    smoke=True,
)
