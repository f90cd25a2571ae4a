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

from tests.reliability.judging import (
    PATIENCE,
    ROOT,
    Figure,
    Goal,
    NotRun,
    Size,
    Twin,
    build_fault_environment,
)
from tests.reliability.table import Row, Verdict

LONGEST: Final = 900
"""Seconds after which a run is given up: it hangs."""

_TRIES: Final = 3
"""Runs in which a fault, which needs some luck of timing, has to be seen once."""

NOT_RUN: Final = 3
"""Exit code of a judge that cannot work here."""


def find_longest(goal: Goal) -> int:
    """Seconds after which a run of this goal's judge is given up."""
    return int(PATIENCE * max(LONGEST, goal.longest))


def run_goal(goal: Goal, size: Size, seed: int, *, with_goal: bool, with_twin: bool) -> Row:
    """Judge the goal, then prove with each of its twins that it can fail."""
    load = os.getloadavg()[0]
    start = half = time.monotonic()
    figures: list[Figure] = []
    twins: Sequence[tuple[Twin, Sequence[Figure]]] = ()
    verdict: Verdict
    try:
        if with_goal:
            figures = _judge(goal, size, "", seed)
            half = time.monotonic()
        verdict, note = _decide(figures, with_goal=with_goal)
        if with_twin:
            twins = [(twin, _run_twin(goal, twin, seed)) for twin in goal.twins]
        if verdict == "held":
            verdict, note = _decide_twins(twins)
    except NotRun as reason:
        verdict, note = "NOT RUN", str(reason)
    except RuntimeError as error:
        verdict, note = "FAILED", str(error)
    end = time.monotonic()
    seconds, twin_seconds = half - start, end - half
    if size == "full" and with_goal and with_twin and end - start > goal.longest * PATIENCE:
        note = f"it took {end - start:.0f} s, more than {goal.longest * PATIENCE:.0f}; {note}"
        verdict = "FAILED" if verdict == "held" else verdict
    return Row(goal, verdict, figures, twins, seconds, twin_seconds, load, note)


def _decide(figures: Sequence[Figure], *, with_goal: bool) -> tuple[Verdict, str]:
    missed = [figure.name for figure in figures if not figure.holds]
    if missed or (with_goal and not figures):
        return "FAILED", f"not as asked: {', '.join(missed) or 'nothing was measured'}"
    return "held", ""


def _decide_twins(twins: Sequence[tuple[Twin, Sequence[Figure]]]) -> tuple[Verdict, str]:
    """Whether each fault broke all that it had to."""
    if not twins:
        return "held", "the twin was not run"
    notes = []
    for twin, figures in twins:
        broken = [each for each in figures if each.name in twin.breaks and not each.holds]
        if unseen := _find_unseen(twin, figures):
            found = "; ".join(figure.render() for figure in figures)
            return "CANNOT FAIL", f"{twin.seeds}: not seen by {', '.join(sorted(unseen))}; {found}"
        notes.append(f"{twin.seeds}: {'; '.join(figure.render() for figure in broken)}")
    return "held", ". ".join(notes)


def _run_twin(goal: Goal, twin: Twin, seed: int) -> Sequence[Figure]:
    """The figures of the first run that sees the fault, else those of the last."""
    for again in range(_TRIES):
        figures = _judge(goal, "smoke", twin.fault, seed + again)
        if not _find_unseen(twin, figures):
            break
    return figures


def _find_unseen(twin: Twin, figures: Sequence[Figure]) -> set[str]:
    """The figures that hold, or are missing, although the fault should break them."""
    return set(twin.breaks) - {each.name for each in figures if not each.holds}


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
        code = process.wait(find_longest(goal) + 60)
    except subprocess.TimeoutExpired:
        _end(process)
        raise RuntimeError(f"the judge hung; what it left is in {folder}") from None
    except KeyboardInterrupt:
        _end(process)
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let it stop what it started, for as long as that may take."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
