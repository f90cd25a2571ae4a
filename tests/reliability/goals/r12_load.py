"""R12: what the real service does with tokens, permissions and durable writes under load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.server import Server
from tests.reliability.judging import Figure, Goal, Trial, Twin, exactly
from tests.reliability.load import Load, Wrk, build_access, fill
from tests.reliability.preloads import compile_preload
from tests.reliability.traffic import wait_for_workers


def judge(trial: Trial) -> Sequence[Figure]:
    """Mixed, reading only, and mixed with a disk whose syncs take 2 ms more."""
    mixed, reading = _load(trial.folder / "fast", {}, trial, {20: 120.0, 0: 30.0})
    library = compile_preload("slow_sync", trial.folder)
    slow = {"LD_PRELOAD": str(library), "SLOW_SYNC_MICROSECONDS": "2000"}
    (slowed,) = _load(trial.folder / "slow", slow, trial, {20: 40.0})
    least = trial.at_least_when_full if not trial.fault else _at_least
    most = trial.at_most_when_full
    return [
        least("mixed requests a second", mixed.rate, 3_000),
        most("mixed p99 ms", mixed.p99, 50),
        least("reads a second", reading.rate, 8_000),
        most("reads p99 ms", reading.p99, 15),
        least("mixed a second, syncs + 2 ms", slowed.rate, 2_500),
        exactly("errors", mixed.errors + reading.errors + slowed.errors),
    ]


def _load(
    folder: Path, settings: Mapping[str, str], trial: Trial, shares: Mapping[int, float]
) -> list[Load]:
    folder.mkdir()
    access, token = build_access(folder)
    environment = {
        **access,
        **settings,
        "Logging__Access": "false",
        "Logging__Audit": "false",
    }
    found = []
    with Server(folder, workers=2, environment=environment) as server:
        wait_for_workers(server)
        fill(server.port, token)
        wrk = Wrk(server.port, token)
        wrk.run(1, writes=20)
        for writes, seconds in shares.items():
            found.append(wrk.run(trial.pick(seconds, 3.0), writes=writes))
    return found


def _at_least(name: str, value: float, bound: float) -> Figure:
    """For the twin: it must be far off, whatever else the machine does."""
    return Figure(name, value, ">=", bound / 10)


GOAL = Goal(
    id="R12",
    title="load on the real service with tokens",
    asked="2 workers, 32 connections: 80/20 durable ≥ 3,000/s, p99 ≤ 50 ms; reads ≥ 8,000/s, p99 "
    "≤ 15 ms; with syncs + 2 ms ≥ 2,500/s; no error",
    judge=judge,
    twins=(
        Twin(
            fault="slow-everything",
            seeds="each request waits 20 ms on the loop",
            breaks=("mixed requests a second", "reads a second"),
        ),
    ),
)
