"""R30: the network between the service and PostgreSQL fails under load, in each way it can."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from typing import Final

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.goals.r29_fail_over import (
    News,
    build_environment,
    check_all,
    compare_events,
)
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.nodes import make_nodes
from tests.reliability.proxy import Network, Proxy
from tests.reliability.traffic import add_model, list_workers, wait_for_workers
from tests.waiting import PATIENCE

_FAILURES: Final[tuple[tuple[Network, bool], ...]] = (
    ("losing requests", True),
    ("losing answers", True),
    ("refusing", True),
    ("holding", False),
    ("holding", True),
)
"""What the network does first, and whether its connections break after that."""


def judge(trial: Trial) -> Sequence[Figure]:
    """Let each failure come in turn; then compare what is there, and how often it was written."""
    dice = random.Random(trial.seed)
    rounds, longest = trial.pick(60, 5), trial.pick(240, 100)
    writers = [Writer(f"w{n}", doubts=True) for n in range(8)]
    writers += [Writer(f"p{n}", pair=True, doubts=True) for n in range(4)]
    news = News(writers)
    done = 0
    with make_nodes(1) as (node,):
        node.make()
        node.start()
        with Proxy(node.port) as network:
            settings = build_environment(node)
            url = settings["Storage__Postgres__Url"].replace(str(node.port), str(network.port))
            server = Server(
                trial.folder, workers=2, environment={**settings, "Storage__Postgres__Url": url}
            )
            server.start()
            try:
                add_model(server.port)
                workers = wait_for_workers(server)
                end = time.monotonic() + longest
                with writing(server.port, writers):
                    while done < rounds and time.monotonic() < end:
                        news.wait()
                        time.sleep(dice.uniform(0.1, 0.4))
                        fail(network, *_FAILURES[done % len(_FAILURES)], dice)
                        news.measure(time.monotonic())
                        done += 1
                check_all(server.port, writers)
                restarted = int(list_workers(server) != workers)
            finally:
                server.stop()
        lost, twice = compare_events(node, writers)
    return [
        exactly("acknowledged writes lost", lost + sum(each.lost for each in writers)),
        exactly("transactions half applied", sum(each.halved for each in writers)),
        exactly("writes made twice", twice),
        exactly("answers but 200, 503 and 504", sum(each.errors for each in writers)),
        exactly("workers that had to start anew", restarted),
        at_least("failures of the network", done, trial.pick(40, 4)),
        at_least("writes acknowledged", sum(each.count for each in writers), trial.pick(2000, 50)),
        told("answers 503", sum(each.refused for each in writers)),
        told("answers 504", sum(each.unanswered for each in writers)),
        told("median seconds from the repair to a write", statistics.median(news.seconds)),
        told("longest", max(news.seconds)),
    ]


def fail(network: Proxy, how: Network, breaks: bool, dice: random.Random) -> None:
    """Let the network fail for a moment."""
    network.set(how)
    if how.startswith("losing"):
        assert network.lost.wait(PATIENCE), "nothing was committed any more"
    time.sleep(dice.uniform(0.1, 0.4))
    if breaks:
        network.cut()
        time.sleep(dice.uniform(0.0, 1.0))
    network.set("whole")


GOAL = Goal(
    id="R30",
    title="the network between service and PostgreSQL",
    asked="≥ 40 failures of the network under load, which refuses, holds, or loses requests or "
    "answers: no acknowledged write lost, none half applied or made twice, no answer but 200, 503 "
    "and 504; the service goes on without a restart",
    judge=judge,
    twins=(
        Twin(
            fault="believe-lost-commits",
            seeds="a write whose answer was lost counts as made",
            breaks=("acknowledged writes lost",),
        ),
        Twin(
            fault="repeat-lost-commits",
            seeds="a write whose answer was lost is made again",
            breaks=("writes made twice",),
        ),
    ),
    smoke=True,
)
