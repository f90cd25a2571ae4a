"""R7: sixteen clients that change three twins, each change conditional on the version it read.

Half of the changes are patches, half put the whole twin.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence

import orjson

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.traffic import Line, add_model

CLIENTS = 16
KEYS = 3


def judge(trial: Trial) -> Sequence[Figure]:
    """Count what was answered 200 and 204; the values must have risen by just as much."""
    wanted, longest = trial.pick(40_000, 1_200), trial.pick(250, 60)
    statuses: list[Counter[int]] = [Counter() for _ in range(CLIENTS)]
    stop = threading.Event()
    with Server(trial.folder, workers=2) as server:
        add_model(server.port)
        line = Line(server.port)
        for key in range(KEYS):
            line.call("PUT", f"/digitaltwins/k{key}", counter(0))
        threads = [
            threading.Thread(target=_increment, args=(server.port, number, found, stop))
            for number, found in enumerate(statuses)
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + longest
        while sum(map(Counter.total, statuses)) < wanted and time.monotonic() < end:
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join()
        values = [
            orjson.loads(line.call("GET", f"/digitaltwins/k{key}")[2])["value"]
            for key in range(KEYS)
        ]
        line.close()
    answered = sum(statuses, Counter())
    done = answered[200] + answered[204]
    return [
        exactly("updates lost", done - sum(values)),
        exactly("answers but 200, 204 and 412", answered.total() - done - answered[412]),
        at_least("conditional writes", answered.total(), trial.pick(40_000, 300)),
        at_least("refused with 412", answered[412], trial.pick(1_000, 10)),
    ]


def _increment(port: int, number: int, statuses: Counter[int], stop: threading.Event) -> None:
    dice = random.Random(number)
    line = Line(port)
    while not stop.is_set():
        path = f"/digitaltwins/k{dice.randrange(KEYS)}"
        document = orjson.loads(line.call("GET", path)[2])
        value = document["value"] + 1
        condition = f"If-Match: {document['$etag']}\r\n"
        if dice.random() < 0.5:
            answer = line.call("PUT", path, counter(value), condition)
        else:
            patch = [{"op": "replace", "path": "/value", "value": value}]
            answer = line.call("PATCH", path, patch, condition)
        statuses[answer[0]] += 1
    line.close()


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
