"""Runs tests that exist as the judge of a goal, with the settings given. It skips nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.judging import ROOT, Figure, NotRun, Trial, at_least, exactly


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many tests there were, and what became of them; `slow` took over a second.

    `measured` is the sum of what the tests recorded under each name with `record_property`, and
    `largest` the greatest of it.
    """

    passed: int
    failed: int
    skipped: int
    slow: int
    measured: Mapping[str, float]
    largest: Mapping[str, float]
    log: str

    def list_figures(self, least: int, name: str = "tests") -> list[Figure]:
        """None may fail or be skipped, and there must be enough of them."""
        return [
            exactly(f"{name} failed", self.failed),
            exactly(f"{name} skipped", self.skipped),
            at_least(f"{name} passed", self.passed, least),
        ]


def run_tests(
    trial: Trial,
    places: Sequence[str],
    settings: Mapping[str, str] | None = None,
    *options: str,
) -> Outcome:
    """Run the tests of these files (or `file::test`); `settings` are environment variables."""
    for place in places:
        if not (ROOT / place.partition("::")[0]).exists():
            raise NotRun(f"{place} does not exist")
    report = trial.folder / f"junit-{abs(hash(tuple(places))):x}.xml"
    log = report.with_suffix(".log")
    with log.open("wb") as output:
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", f"--junitxml={report}",
                f"--basetemp={trial.folder / 'pytest'}", "-p", "no:cacheprovider",
                # What tests record needs the older form; a row is timed without its fixtures.
                "-o", "junit_family=xunit1", "-o", "junit_duration_report=call",
                *(("-x",) if trial.fault else ()), *options, *places,
            ],
            cwd=ROOT,
            env={**os.environ, **(settings or {})},
            stdout=output,
            stderr=output,
        )  # fmt: skip
    if not report.exists():
        raise RuntimeError(f"pytest wrote no report:\n{log.read_text()[-3000:]}")
    outcome = _read(report, log.read_text(encoding="utf-8"))
    # NOTE: 2 is what `-x` ends with where tests run beside each other.
    if done.returncode not in ((1, 2) if outcome.failed else (0,)):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{outcome.log[-3000:]}")
    if outcome.failed and not trial.fault:
        print(outcome.log[-3000:], flush=True)
    return outcome


def _read(report: Path, log: str) -> Outcome:
    passed = failed = skipped = slow = 0
    measured: dict[str, float] = {}
    largest: dict[str, float] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  (pytest's own)
        slow += float(case.get("time", "0")) > 1.0
        for entry in case.iter("property"):
            name, value = entry.get("name", ""), float(entry.get("value", "nan"))
            measured[name] = measured.get(name, 0.0) + value
            largest[name] = max(largest.get(name, value), value)
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return Outcome(passed, failed, skipped, slow, measured, largest, log)
