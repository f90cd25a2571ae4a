"""R5: provisioners and background work that die, freeze and wake too late at each named step."""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.dying_provisioners import LEASE
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, told
from tests.reliability.suites import run_tests

DEATHS = "tests/e2e/test_provisioner_crash.py"
JOBS = "tests/e2e/test_jobs.py"
TESTS = (
    DEATHS,
    "tests/unit/graph/background/test_leases.py",
    "tests/unit/graph/background/test_background_work.py",
    JOBS,
)
PLACE_APART = "place-apart"
LEASE_OF_JOBS = 0.5
"""Seconds; what the test of imports that are killed sets."""


def judge(trial: Trial) -> Sequence[Figure]:
    """The tests of the provisioner, of leases, and of jobs whose workers are killed."""
    rounds = trial.pick(3, 1)
    settings = {"TWINFRAME_ROUNDS": str(rounds)}
    if trial.fault == PLACE_APART:
        options = ("--timeout=600", "-k", "killed")
        return run_tests(trial, [JOBS], settings, *options).list_figures(1)
    places = TESTS if trial.size == "full" else TESTS[:2]
    outcome = run_tests(trial, places, settings, "--timeout=600")
    figures = [
        *outcome.list_figures(trial.pick(25, 10)),
        at_least("deaths", outcome.measured.get("deaths", 0), 30 * rounds),
        at_least("zombies", outcome.measured.get("zombies", 0), 30),
        told("rounds of deaths", rounds),
    ]
    for name, lease in (
        ("seconds to the end", LEASE),
        ("seconds until an import goes on", LEASE_OF_JOBS),
    ):
        if name in outcome.largest:
            figures.append(trial.at_most_when_full(name, outcome.largest[name], lease + 5))
    return figures


GOAL = Goal(
    id="R5",
    title="lifecycle of resources and jobs",
    asked="every named crash point, every zombie, every late zombie: the final state is reached "
    "within the lease + 5 s of whoever lives, effects happen once, nothing is left on disk",
    judge=judge,
    twins=(
        Twin(fault="no-fence", seeds="late hands are not refused", breaks=("tests failed",)),
        Twin(
            fault=PLACE_APART,
            seeds="the place of an import is kept apart from its rows",
            breaks=("tests failed",),
        ),
    ),
)
