"""R7: sixteen clients that change three twins, each change conditional on the version it read.

Half of the changes are patches, half put the whole twin.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.goals.r06_registers import put_counters
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.traffic import LOST, Line, add_model

CLIENTS = 16
KEYS = 3


@dataclass(slots=True)
class Tally:
    """How often each status was answered to a conditional write, and how many got no answer."""

    statuses: Counter[int] = field(default_factory=Counter)
    unanswered: int = 0

    @property
    def done(self) -> int:
        """The updates that were acknowledged."""
        return self.statuses[200] + self.statuses[204]


def judge(trial: Trial) -> Sequence[Figure]:
    """Count what was answered 200 and 204; the values must have risen by just as much."""
    wanted, longest = trial.pick(40_000, 1_200), trial.pick(250, 60)
    with Server(trial.folder, workers=2) as server:
        add_model(server.port)
        put_counters(server.port, KEYS)
        with contending([server.port]) as tallies:
            end = time.monotonic() + longest
            while count(tallies) < wanted and time.monotonic() < end:
                time.sleep(0.1)
        risen = sum(read_counters(server.port))
    found = add_up(tallies)
    return [
        exactly("updates lost", found.done - risen),
        exactly(
            "answers but 200, 204 and 412",
            found.statuses.total() - found.done - found.statuses[412] + found.unanswered,
        ),
        at_least("conditional writes", found.statuses.total(), trial.pick(40_000, 300)),
        at_least("refused with 412", found.statuses[412], trial.pick(1_000, 10)),
    ]


@contextmanager
def contending(ports: Sequence[int]) -> Iterator[Sequence[Tally]]:
    """Let all clients change the twins over any of these ports until the end of the block."""
    stop = threading.Event()
    tallies = [Tally() for _ in range(CLIENTS)]
    threads = [
        threading.Thread(target=_run, args=(ports, number, tally, stop))
        for number, tally in enumerate(tallies)
    ]
    for thread in threads:
        thread.start()
    try:
        yield tallies
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def count(tallies: Sequence[Tally]) -> int:
    """How many conditional writes were answered."""
    return sum(tally.statuses.total() for tally in tallies)


def add_up(tallies: Sequence[Tally]) -> Tally:
    """What all clients counted."""
    statuses = sum((tally.statuses for tally in tallies), Counter())
    return Tally(statuses, sum(tally.unanswered for tally in tallies))


def read_counters(port: int) -> list[int]:
    """The values of the twins."""
    line = Line(port)
    answers = [line.call("GET", f"/digitaltwins/k{key}") for key in range(KEYS)]
    line.close()
    return [orjson.loads(body)["value"] for _, _, body in answers]


def _run(ports: Sequence[int], number: int, tally: Tally, stop: threading.Event) -> None:
    dice = random.Random(number)
    while not stop.is_set():
        try:
            line = Line(dice.choice(ports))
            try:
                for _ in range(200):  # then another connection, which may have another worker
                    _increment(line, dice, tally)
                    if stop.is_set() or line.ended:
                        break
            finally:
                line.close()
        except LOST:
            time.sleep(0.01)


def _increment(line: Line, dice: random.Random, tally: Tally) -> None:
    path = f"/digitaltwins/k{dice.randrange(KEYS)}"
    status, _, body = line.call("GET", path)
    if status != 200:
        return
    document = orjson.loads(body)
    value = document["value"] + 1
    condition = f"If-Match: {document['$etag']}\r\n"
    patch = [{"op": "replace", "path": "/value", "value": value}]
    try:
        if dice.random() < 0.5:
            answer = line.call("PUT", path, counter(value), condition)
        else:
            answer = line.call("PATCH", path, patch, condition)
    except LOST:
        tally.unanswered += 1
        raise
    tally.statuses[answer[0]] += 1


GOAL = Goal(
    id="R7",
    title="concurrent If-Match",
    asked="≥ 40,000 conditional writes: no update lost, as many 204 as versions",
    judge=judge,
    twins=(
        Twin(fault="ignore-etags", seeds="If-Match is not looked at", breaks=("updates lost",)),
        Twin(
            fault="ignore-etags-of-puts",
            seeds="a PUT does not look at If-Match",
            breaks=("updates lost",),
        ),
    ),
    smoke=True,
)
