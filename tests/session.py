"""What holds for every test, of plugins too."""

from __future__ import annotations

import faulthandler
import gc
import os
import re
from collections import Counter
from collections.abc import Generator

import pytest
import pytest_timeout
from hypothesis import settings

from tests.forks import fork_programs
from tests.left_behind import end_with_this_process

# NOTE: no test measures time: an example may take long on a busy machine.
settings.register_profile("untimed", deadline=None)
# What `make reliability` asks of laws that do not say themselves how often they are tried.
settings.register_profile("thorough", deadline=None, max_examples=6500)
settings.load_profile("untimed")

_GRACE = 60.0  # seconds for the clean-up of a test that has reached its time limit
_LIMIT = pytest.StashKey[float]()
_ERRORS = pytest.StashKey[int]()

_PACKAGES = re.compile(r"apt(?:-get)? install ([\w .+-]+)")


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests start end with this process; keep where its last words go."""
    end_with_this_process()
    fork_programs()
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        config.stash[_ERRORS] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, and never look through what stays to the end."""
    # PERF: 5 s of CPU for 8 in each process.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> None:
    """Remember the time limit of a test."""
    item.stash[_LIMIT] = settings.timeout


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End the process, with all stacks, when the clean-up of a test that took too long hangs."""
    if limit := item.stash.get(_LIMIT, 0):
        _end_after(limit + _GRACE, item.config)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """The end of the process itself waits for threads: that has an end, too."""
    _end_after(_GRACE, config)


def _end_after(seconds: float, config: pytest.Config) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=config.stash[_ERRORS])


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
