"""R36: concurrent statements in Cypher over a service of two workers that is killed meanwhile."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Mapping, Sequence

from tests.e2e.server import Server
from tests.reliability.goals.r01_kill_service import count_findings
from tests.reliability.judging import PATIENCE, Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.statement_clients import contending, count, list_figures, prepare
from tests.reliability.traffic import list_workers

TWINS = (
    Twin(
        fault="two-transactions",
        seeds="a statement reads in one transaction and writes in another",
        breaks=("wrong answers",),
    ),
    Twin(
        fault="merge-remembers",
        seeds="MERGE remembers for half a second what it did not find",
        breaks=("written or merged twice",),
    ),
)


def judge(trial: Trial) -> Sequence[Figure]:
    """Clients over two workers, one of which, or the whole service, is killed again and again."""
    figures = judge_service(trial, {}, 600)
    return [*figures, exactly("findings of verify", count_findings(trial.folder))]


def judge_service(trial: Trial, environment: Mapping[str, str], seconds: float) -> list[Figure]:
    """The same over any storage, for so many seconds at most."""
    dice = random.Random(trial.seed)
    wanted, longest = trial.pick(50_000, 500), trial.pick(seconds, 60) * PATIENCE
    wanted_kills, kills = trial.pick(30, 2), 0
    settings = {"Logging__Access": "false", **environment}
    with Server(trial.folder, workers=2, environment=settings) as server:
        prepare(server.port)
        end = time.monotonic() + longest
        with contending([server.port], trial.seed) as clients:
            while (count(clients) < wanted or kills < wanted_kills) and time.monotonic() < end:
                time.sleep(dice.uniform(1, 4) if trial.size == "full" else 0.5)
                workers = list_workers(server)
                if kills >= wanted_kills:
                    continue
                if kills % 3 == 2:
                    server.kill()
                    server.start()
                    kills += 1
                elif len(workers) == 2:
                    os.kill(dice.choice(workers), signal.SIGKILL)
                    kills += 1
        figures = list_figures(server.port, clients)
    tracebacks = server.log.read_text(encoding="utf-8").count("Traceback")
    return [
        *figures,
        exactly("tracebacks in the log", tracebacks),
        at_least("operations", count(clients), trial.pick(50_000, 200)),
        at_least("kills", kills, wanted_kills),
    ]


GOAL = Goal(
    id="R36",
    title="concurrent statements in Cypher equal a serial order",
    asked="≥ 50,000 counters, swaps, conditional moves and MERGE over two workers, ≥ 30 kills -9 "
    "of a worker or of the service: each answer and the end as in one serial order, which keeps "
    "the order of what was acknowledged; nothing lost, halved or merged twice",
    judge=judge,
    twins=TWINS,
    longest=900,
)
