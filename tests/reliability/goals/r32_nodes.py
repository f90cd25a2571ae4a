"""R32: what a read may see over two and three nodes on PostgreSQL, while nodes are killed."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from tests.reliability.goals.r06_registers import KEYS, History, put_counters, using
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.services import serving
from tests.reliability.traffic import add_model


def judge(trial: Trial) -> Sequence[Figure]:
    """Registers over two nodes, then over three, of which one is killed about each two seconds."""
    dice, history = random.Random(trial.seed), History()
    wanted, kills = trial.pick(100_000, 1_500), trial.pick(24, 2)
    with serving(trial.folder, 2) as services:
        end = time.monotonic() + trial.pick(600, 120)
        add_model(services.ports[0])
        put_counters(services.ports[0], KEYS)
        with using(services.ports, history, dice):
            for half in (1, 2):

                def is_enough(done: int, half: int = half) -> bool:
                    told = done >= kills * half // 2 and history.operations >= wanted * half // 2
                    return told or time.monotonic() > end

                services.kill_in_turn(dice, is_enough)
                if half == 1:
                    services.add()
        tracebacks = services.read_logs().count("Traceback")
    return [
        exactly("violations", history.violations),
        exactly("tracebacks in the logs", tracebacks),
        at_least("operations", history.operations, trial.pick(100_000, 300)),
        at_least("kills", services.kills, kills),
    ]


GOAL = Goal(
    id="R32",
    title="linearizable registers over nodes on PostgreSQL",
    asked="≥ 100,000 operations over two and three nodes, ≥ 24 kills -9 of a node or of a worker: "
    "no operation sees less than one that ended before it began",
    judge=judge,
    twins=(
        Twin(
            fault="remember-twins",
            seeds="a worker answers a twin that it read a moment ago from memory",
            breaks=("violations",),
        ),
    ),
    longest=900,
)
