"""R1: the whole service, or one of its workers, killed over and over under load."""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.traffic import LOST, Line, add_model, list_workers
from tests.waiting import PATIENCE


def judge(trial: Trial) -> Sequence[Figure]:
    """Kill in turn two workers and then all; writers look for what was acknowledged to them."""
    dice = random.Random(trial.seed)
    rounds, longest = trial.pick(200, 6), trial.pick(250, 120)
    server = Server(trial.folder, workers=2, environment={"Logging__Access": "false"})
    writers = [Writer(f"w{n}") for n in range(8)] + [Writer(f"p{n}", pair=True) for n in range(4)]
    writers += [Writer(f"m{n}", merges=True) for n in range(2)]
    starts: list[float] = []
    kills = whole = 0
    end = time.monotonic() + longest
    server.start()
    try:
        add_model(server.port)
        with writing(server.port, writers):
            while kills < rounds and time.monotonic() < end:
                time.sleep(dice.uniform(0.2, 1.0))
                kills += 1
                if kills % 3:
                    os.kill(dice.choice(list_workers(server)), signal.SIGKILL)
                    _wait_for_workers(server)
                else:
                    whole += 1
                    server.kill()
                    start = time.monotonic()
                    server.start()
                    starts.append(time.monotonic() - start)
            time.sleep(1.0)
        _check_all(server.port, writers)
    finally:
        server.stop()
    return [
        exactly("acknowledged writes lost", sum(writer.lost for writer in writers)),
        exactly("transactions half applied", sum(writer.halved for writer in writers)),
        exactly("findings of verify", count_findings(trial.folder)),
        exactly("answers but 200 and 503", sum(writer.errors for writer in writers)),
        at_least("kills", kills, trial.pick(rounds, 3)),
        at_least("of one worker", kills - whole, trial.pick(60, 1)),
        at_least("writes acknowledged", sum(w.count for w in writers), trial.pick(300_000, 500)),
        trial.at_most_when_full("median seconds to the first 200", statistics.median(starts), 1.0),
        told("statements of 20 twins", sum(w.count for w in writers if w.merges)),
        told("slowest start", max(starts)),
    ]


def count_findings(folder: Path) -> int:
    """What `twinframe verify` finds in the graph of a server that had its data there."""
    done = subprocess.run(
        [sys.executable, "-m", "twinframe", "verify"],
        env={**os.environ, "Storage__Sqlite__Directory": str(folder / "data")},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return 0 if done.returncode == 0 else max(1, len(done.stderr.splitlines()))


def _wait_for_workers(server: Server) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            line = Line(server.port, timeout=PATIENCE)
            ready = line.call("GET", "/health/ready")[0] == 200
            line.close()
        except LOST:
            ready = False
        if ready and len(list_workers(server)) == 2:
            return
        time.sleep(0.02)
    raise AssertionError("no worker came in the place of the killed one")


def _check_all(port: int, writers: Sequence[Writer]) -> None:
    line = Line(port)
    for writer in writers:
        writer.check(line)
    line.close()


GOAL = Goal(
    id="R1",
    title="the service killed -9 over HTTP",
    asked="≥ 200 kills, ≥ 60 of them of one worker, ≥ 300,000 acknowledged writes: none lost, "
    "nothing corrupt or half applied; the first 200 within 1.0 s of a start",
    judge=judge,
    twins=(
        Twin(
            fault="acknowledge-before-commit",
            seeds="answers are sent before the commit",
            breaks=("acknowledged writes lost",),
        ),
    ),
    smoke=True,
)
