"""What holds for every test of this tree."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import settings

# NOTE: no test measures time: an example may take long on a busy machine.
settings.register_profile("untimed", deadline=None)
# What `make reliability` asks of laws that do not say themselves how often they are tried.
settings.register_profile("thorough", deadline=None, max_examples=6500)
settings.load_profile("untimed")

_PACKAGES = re.compile(r"apt(?:-get)? install ([\w .+-]+)")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was skipped, why, and how to get what was missing."""
    told = render_skips([each.longrepr[2] for each in terminalreporter.stats.get("skipped", [])])
    if told:
        terminalreporter.write_line(told)


def render_skips(reasons: list[str]) -> str:
    """The reasons with their counts, the commonest first, and one command for all packages."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    parts = [f"{count} × {reason}" for reason, count in counts.most_common()]
    packages = {
        name for reason in counts for found in _PACKAGES.findall(reason) for name in found.split()
    }
    if packages:
        parts.append(f"all packages at once: apt-get install {' '.join(sorted(packages))}")
    return f"Skipped: {'; '.join(parts)}" if parts else ""
