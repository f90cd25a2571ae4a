"""R4: the store of triples killed and without power. The tests of its plugin do it; it counts."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.judging import Figure, Goal, Trial, Twin, told
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
    )
    return [*outcome.list_figures(2), told("kills", rounds), told("images", 2 * rounds)]


GOAL = Goal(
    id="R4",
    title="triples on disk: kills and power loss",
    asked="≥ 300 kills, ≥ 600 images: nothing acknowledged lost, torn or made twice",
    judge=judge,
    twins=(
        Twin(
            fault="no-sync-of-triples",
            seeds="the log of the triples is not synced",
            breaks=("tests failed",),
        ),
    ),
)
