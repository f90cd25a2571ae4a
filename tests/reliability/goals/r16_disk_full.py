"""R16: a disk that fills up under writes, and gets room again."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.judging import Figure, Goal, Trial, Twin
from tests.reliability.suites import run_tests

TESTS = ("plugins/storage-sqlite/tests/test_sqlite_disk_full.py",)


def judge(trial: Trial) -> Sequence[Figure]:
    """A small file system is filled; its test says what must hold."""
    return run_tests(trial, TESTS).list_figures(1)


GOAL = Goal(
    id="R16",
    title="disk full",
    asked="no acknowledged write lost, reads go on, writes are refused, service goes on when room "
    "returns, the ballast lets deletions work",
    judge=judge,
    twins=(
        Twin(
            fault="full-looks-damaged",
            seeds="a full disk is taken for a damaged file",
            breaks=("tests failed",),
        ),
    ),
)
