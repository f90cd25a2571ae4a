"""R2: four processes that write one graph, killed over and over."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.storage_writers import PAIRS, Child, build_store, read_values

WRITERS = 4


def judge(trial: Trial) -> Sequence[Figure]:
    """Fork writers, kill all or one first, look for what they were told; over and over."""
    dice = random.Random(trial.seed)
    rounds, longest = trial.pick(500, 12), trial.pick(250, 20)
    store = build_store(trial.folder)
    store.open()
    store.close()
    lost = halved = corrupt = acknowledged = done = 0
    end = time.monotonic() + longest
    while done < rounds and time.monotonic() < end:
        told = _run_round(trial.folder, done, dice)
        acknowledged += sum(told.values()) * PAIRS
        done += 1
        found, findings = _look(trial.folder, thorough=done % 10 == 0)
        corrupt += findings
        for name, number in told.items():
            for pair in range(PAIRS):
                left, right = (found.get(f"{name}-{pair}-{end}", 0) for end in ("left", "right"))
                lost += not number <= left <= number + 1
                halved += left != right
    return [
        exactly("acknowledged writes lost", lost),
        exactly("pairs half applied", halved),
        exactly("findings of verify", corrupt),
        at_least("kills", done, trial.pick(500, 3)),
        at_least("writes acknowledged", acknowledged, trial.pick(50_000, 100)),
    ]


def _run_round(folder: Path, number: int, dice: random.Random) -> dict[str, int]:
    """What each of the writers was told last."""
    children = [Child(folder, f"r{number}w{each}") for each in range(WRITERS)]
    time.sleep(dice.uniform(0.05, 0.3))
    if dice.random() < 0.3:
        os.kill(children[0].pid, signal.SIGKILL)
        time.sleep(0.03)
    for child in children:
        os.kill(child.pid, signal.SIGKILL)
    return {child.name: child.read_acknowledged() for child in children}


def _look(folder: Path, *, thorough: bool) -> tuple[dict[str, int], int]:
    store = build_store(folder)
    store.open()
    try:
        return read_values(store), len(store.verify()) if thorough else 0
    finally:
        store.close()


GOAL = Goal(
    id="R2",
    title="writers of the storage killed -9",
    asked="≥ 500 kills of 4 writing processes: no acknowledged write lost, none half applied",
    judge=judge,
    twins=(
        Twin(
            fault="acknowledge-before-commit",
            seeds="writes are acknowledged before the commit",
            breaks=("acknowledged writes lost",),
        ),
    ),
)
