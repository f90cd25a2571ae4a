"""Runs one goal and its must-fail twin, each in a process and a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.reliability.judging import ROOT, Figure, Goal, NotRun, Size, build_fault_environment
from tests.reliability.table import Row, Verdict

LONGEST: Final = 900
"""Seconds after which a run is given up: it hangs."""

NOT_RUN: Final = 3
"""Exit code of a judge that cannot work here."""


def run_goal(goal: Goal, size: Size, seed: int, *, with_goal: bool, with_twin: bool) -> Row:
    """Judge the goal, then prove that it can fail."""
    load = os.getloadavg()[0]
    start = time.monotonic()
    figures: Sequence[Figure] = ()
    twin: Sequence[Figure] = ()
    seconds = 0.0
    try:
        if with_goal:
            figures = _judge(goal, size, "", seed)
        seconds = time.monotonic() - start
        if with_twin:
            twin = _judge(goal, "smoke", goal.fault, seed)
    except NotRun as reason:
        return Row(goal, "NOT RUN", figures, twin, seconds, load, str(reason))
    except RuntimeError as error:
        return Row(goal, "FAILED", figures, twin, seconds, load, str(error))
    seconds = time.monotonic() - start
    verdict, note = _decide(goal, figures, twin, with_goal=with_goal, with_twin=with_twin)
    return Row(goal, verdict, figures, twin, seconds, load, note)


def _decide(
    goal: Goal,
    figures: Sequence[Figure],
    twin: Sequence[Figure],
    *,
    with_goal: bool,
    with_twin: bool,
) -> tuple[Verdict, str]:
    missed = [figure.name for figure in figures if not figure.holds]
    if missed or (with_goal and not figures):
        return "FAILED", f"not as asked: {', '.join(missed) or 'nothing was measured'}"
    if not with_twin:
        return "held", "the twin was not run"
    seen = [figure for figure in twin if figure.name in goal.breaks and not figure.holds]
    unseen = set(goal.breaks) - {figure.name for figure in seen}
    if unseen or not seen:
        found = "; ".join(figure.render() for figure in twin)
        return "CANNOT FAIL", f"{goal.seeds}: not seen by {', '.join(sorted(unseen))}; {found}"
    return "held", f"{goal.seeds}: {'; '.join(figure.render() for figure in seen)}"


def _judge(goal: Goal, size: Size, fault: str, seed: int) -> list[Figure]:
    """The figures of a judge in a process of its own, which has the fault from its start."""
    folder = Path(tempfile.mkdtemp(prefix=f"reliability-{goal.id.lower()}-"))
    result = folder / "figures.json"
    command = [
        sys.executable, "-m", "tests.reliability.one", goal.id, size, str(seed), str(folder), fault,
    ]  # fmt: skip
    environment = {**os.environ, **build_fault_environment(fault)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        code = process.wait(LONGEST + 60)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.send_signal(signal.SIGTERM)
        process.wait()
        raise
    written = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    if code == NOT_RUN:
        raise NotRun(written["reason"])
    if code:
        raise RuntimeError(f"the judge ended with {code}; what it left is in {folder}")
    figures = [Figure(**each) for each in written["figures"]]
    if fault or all(figure.holds for figure in figures):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"    what it left is in {folder} (seed {seed})", flush=True)
    return figures
