"""R16: a disk that fills up under writes, and gets room again, with both storages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from tests.reliability.judging import ROOT, Figure, Goal, NotRun, Trial, Twin, at_least, exactly
from tests.reliability.small_disk import Found
from tests.reliability.suites import run_tests

TESTS = ("plugins/storage-sqlite/tests/test_sqlite_disk_full.py",)
REOPEN = "reopen-at-once"
SOON = {"sqlite": 2, "rdf": 5}
"""Seconds within which writes are taken again."""


def judge(trial: Trial) -> Sequence[Figure]:
    """A small file system is filled: below a store by its test, below whole services here."""
    if trial.fault == REOPEN:
        return _judge_service(trial, "rdf")
    figures = run_tests(trial, TESTS).list_figures(1)
    for provider in SOON if not trial.fault else ():
        figures += _judge_service(trial, provider)
    return figures


def _judge_service(trial: Trial, provider: str) -> list[Figure]:
    found = _fill(trial, provider)
    figures = [
        exactly("acknowledged writes lost", found.lost),
        exactly("reads that failed", found.unread),
        exactly("refused writes that were made", found.there_though_refused),
        exactly("status of refused writes", found.refused, 507),
        exactly("writes refused otherwise", sum(s != 507 for s in found.refused_again)),
        exactly("liveness", found.live, 200),
        trial.at_most_when_full("seconds until writes go on", found.recovered, SOON[provider]),
        exactly("workers that ended", found.workers_ended),
        exactly("tracebacks", found.tracebacks),
        at_least("writes before", found.kept, 100),
    ]
    if provider == "sqlite":
        figures.append(exactly("deletion when full", found.deletion_on_full, 507))
        figures.append(exactly("with the ballast gone", found.deletion_with_ballast, 204))
    return [
        Figure(f"{provider}: {each.name}", each.value, each.relation, each.bound)
        for each in figures
    ]


def _fill(trial: Trial, provider: str) -> Found:
    folder = trial.folder / provider
    folder.mkdir()
    done = subprocess.run(
        [
            "unshare", "-m", sys.executable, "-m", "tests.reliability.small_disk",
            str(folder), provider,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode and ("permi" in done.stderr or "mount" in done.stderr):
        raise NotRun("a small file system needs the right to mount: run it as root")
    if done.returncode:
        raise RuntimeError(f"the run on a small file system failed:\n{done.stderr[-2000:]}")
    return Found(**json.loads(done.stdout))


GOAL = Goal(
    id="R16",
    title="disk full",
    asked="over HTTP, SQLite and triples: no acknowledged write lost, reads 200, writes 507, both "
    "again without a restart ≤ 2 s (SQLite), ≤ 5 s (triples) after there is room; the ballast lets "
    "deletions work",
    judge=judge,
    twins=(
        Twin(
            fault="full-looks-damaged",
            seeds="a full disk is taken for a damaged file",
            breaks=("tests failed",),
        ),
        Twin(
            fault=REOPEN,
            seeds="a full store of triples is reopened at once",
            breaks=("rdf: reads that failed",),
        ),
    ),
)
