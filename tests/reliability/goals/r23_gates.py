"""R23: what a service must not start with: an old library, a missing parser, the wrong file."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.judging import Figure, Goal, Trial, Twin
from tests.reliability.suites import run_tests

TESTS = (
    "plugins/storage-sqlite/tests/test_sqlite_opening.py",
    "tests/unit/cli/test_check_command.py",
    "tests/unit/cli/test_serve_process.py",
    "tests/unit/cli/test_serve_by_hand.py",
    "tests/unit/hooks/test_plugin_loading.py",
)


def judge(trial: Trial) -> Sequence[Figure]:
    """The tests of opening a file, of `check`, of the start of `serve`, of loading plugins."""
    return run_tests(trial, TESTS if not trial.fault else TESTS[:1]).list_figures(40)


GOAL = Goal(
    id="R23",
    title="gates at the start",
    asked="SQLite ≥ 3.51.3, httptools there, WAL on a local file system, the file's instance "
    "matches, plugins load: else the service exits with a reason",
    judge=judge,
    twins=(
        Twin(fault="any-library", seeds="any version of SQLite is taken", breaks=("tests failed",)),
    ),
)
