"""Runs scenarios on one engine, holds them to the list of known failures, and sums up."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.tck.engines import Engine
from tests.tck.judge import Outcome, Verdict, judge
from tests.tck.known import KnownFailures
from tests.tck.scenarios import Scenario


class Standing(enum.Enum):
    """A verdict in the light of the list of known failures."""

    PASSED = "passed"
    KNOWN = "known failure"
    FAILED = "FAILED"
    UNEXPECTED_PASS = "PASSED, BUT IS LISTED AS A KNOWN FAILURE"


@dataclass(frozen=True, slots=True)
class Finding:
    """A scenario, where it stands, and why."""

    scenario: Scenario
    standing: Standing
    outcome: Outcome
    reason: str


@dataclass(slots=True)
class Report:
    """The sums of a run."""

    counts: Counter[Standing] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    ran: int = 0
    ran_whole: int = 0
    declined: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        """Count one finding."""
        self.counts[finding.standing] += 1
        if finding.standing is Standing.KNOWN:
            self.reasons[finding.reason] += 1
        answer = finding.outcome.answer
        if (
            not finding.scenario.is_temporal
            and answer is not None
            and answer.phase != "compile time"
        ):
            self.ran += 1
            self.ran_whole += answer.whole
            if answer.declined:
                self.declined[answer.declined] += 1

    @property
    def unexpected(self) -> int:
        """How many scenarios did not go as they must."""
        return self.counts[Standing.FAILED] + self.counts[Standing.UNEXPECTED_PASS]

    def render(self) -> list[str]:
        """The summary, the counts as its last line; known failures count as failed."""
        counts = self.counts
        lines = [f"  {count:5} {reason}" for reason, count in sorted(self.reasons.items())]
        if lines:
            lines.insert(0, "Known failures, by reason:")
        total = counts.total()
        if self.ran:
            lines.append(
                f"Run by the store's engine alone: {self.ran_whole} of {self.ran} reading "
                f"scenarios outside of the temporal ones ({self.ran_whole / self.ran:.1%})"
            )
        lines.append("Default settings; models declare the temporal properties of set-ups")
        if total:
            passed = counts[Standing.PASSED]
            lines.append(f"Scenarios passed: {passed} of {total} ({passed / total:.2%})")
        lines.append(
            f"{counts[Standing.PASSED]} passed, {self.unexpected + counts[Standing.KNOWN]} failed, "
            "0 skipped"
        )
        return lines


def run_scenarios(
    scenarios: Iterable[Scenario], engine: Engine, features: Path, known: KnownFailures
) -> Iterator[Finding]:
    """Where each scenario stands, as they run."""
    for scenario in scenarios:
        outcome = judge(scenario, engine, features)
        yield _build_finding(scenario, outcome, known)


def _build_finding(scenario: Scenario, outcome: Outcome, known: KnownFailures) -> Finding:
    listed = known.find_reason(scenario.name)
    match outcome.verdict:
        case Verdict.FAILED if listed is not None:
            return Finding(scenario, Standing.KNOWN, outcome, listed)
        case Verdict.FAILED:
            return Finding(scenario, Standing.FAILED, outcome, outcome.reason)
        case _ if known.must_fail(scenario.name):
            return Finding(scenario, Standing.UNEXPECTED_PASS, outcome, listed or "")
        case _:
            return Finding(scenario, Standing.PASSED, outcome, "")
