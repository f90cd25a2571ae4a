"""R5: provisioners and background work that die, freeze and wake too late at each named step."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.judging import Figure, Goal, Trial, Twin, told
from tests.reliability.suites import run_tests

TESTS = (
    "tests/e2e/test_provisioner_crash.py",
    "tests/unit/graph/test_leases.py",
    "tests/unit/graph/test_background_work.py",
    "tests/e2e/test_jobs.py",
)


def judge(trial: Trial) -> Sequence[Figure]:
    """The tests of the provisioner, of leases, and of jobs whose workers are killed."""
    rounds = trial.pick("3", "1")
    places = TESTS if trial.size == "full" else TESTS[:2]
    outcome = run_tests(trial, places, {"TWINFRAME_ROUNDS": rounds}, "--timeout=600")
    return [*outcome.list_figures(trial.pick(25, 10)), told("rounds of deaths", float(rounds))]


GOAL = Goal(
    id="R5",
    title="lifecycle of resources and jobs",
    asked="every named crash point, every zombie, every late zombie: the final state is reached, "
    "effects happen once, nothing is left on disk",
    judge=judge,
    twins=(Twin(fault="no-fence", seeds="late hands are not refused", breaks=("tests failed",)),),
)
