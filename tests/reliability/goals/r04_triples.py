"""R4: the store of triples killed and without power. The tests of its plugin do it; it counts."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, told
from tests.reliability.suites import run_tests

TESTS = (
    "plugins/storage-rdf/tests/test_rdf_crash.py",
    "plugins/storage-rdf/tests/test_rdf_power_loss.py",
)


def judge(trial: Trial) -> Sequence[Figure]:
    """Each round is a kill and two images; the tests fail at the first write that is lost."""
    rounds = trial.pick(300, 6)
    outcome = run_tests(
        trial,
        TESTS,
        {"TWINFRAME_ROUNDS": str(rounds)},
        "-k",
        "not without_the_sync",
        "--timeout=900",
        *("-n", "2", "--dist", "loadfile"),
    )
    measured = outcome.measured
    return [
        *outcome.list_figures(3),
        at_least("kills", measured.get("kills", 0), rounds),
        at_least("images", measured.get("images", 0), 2 * rounds),
        told("writes whose counters were compared", measured.get("writes", 0)),
    ]


GOAL = Goal(
    id="R4",
    title="triples on disk: kills and power loss",
    asked="≥ 300 kills, ≥ 600 images: nothing acknowledged lost, torn or made twice, the counter "
    "that all processes raise is exact",
    judge=judge,
    twins=(
        Twin(
            fault="no-sync-of-triples",
            seeds="the log of the triples is not synced",
            breaks=("tests failed",),
        ),
    ),
)
