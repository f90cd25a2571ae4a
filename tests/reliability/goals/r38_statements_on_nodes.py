"""R38: concurrent statements in Cypher over nodes on PostgreSQL, of which some are killed."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from tests.reliability.goals.r36_statements import TWINS
from tests.reliability.judging import PATIENCE, Figure, Goal, Trial, at_least, exactly
from tests.reliability.services import serving
from tests.reliability.statement_clients import contending, count, list_figures, prepare


def judge(trial: Trial) -> Sequence[Figure]:
    """Clients over two nodes, then over three, of which one is killed about each two seconds."""
    dice = random.Random(trial.seed)
    wanted, kills = trial.pick(50_000, 500), trial.pick(24, 2)
    with serving(trial.folder, 2) as services:
        end = time.monotonic() + trial.pick(700, 120) * PATIENCE
        prepare(services.ports[0])
        with contending(services.ports, trial.seed) as clients:
            for half in (1, 2):

                def is_enough(done: int, half: int = half) -> bool:
                    told = done >= kills * half // 2 and count(clients) >= wanted * half // 2
                    return told or time.monotonic() > end

                services.kill_in_turn(dice, is_enough)
                if half == 1:
                    services.add()
        figures = list_figures(services.ports[0], clients)
        tracebacks = services.read_logs().count("Traceback")
    return [
        *figures,
        exactly("tracebacks in the logs", tracebacks),
        at_least("operations", count(clients), trial.pick(50_000, 200)),
        at_least("kills", services.kills, kills),
    ]


GOAL = Goal(
    id="R38",
    title="concurrent statements in Cypher over nodes on PostgreSQL",
    asked="as R36, over two and three nodes, with ≥ 24 kills -9 of a node or of a worker",
    judge=judge,
    twins=TWINS,
    longest=900,
)
