"""R19: backups of a graph that is being written, and what they hold when they are restored."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.storage_writers import read_values
from tests.reliability.traffic import LOST, Line, add_model, wait_for_workers
from twinframe.errors import TwinframeError
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

WRITERS = 4
PAD = {"op": "add", "path": "/value", "value": 1}


def judge(trial: Trial) -> Sequence[Figure]:
    """Back up by the command, restore elsewhere, compare with what was acknowledged before."""
    rounds = trial.pick(20, 3)
    writers = [Writer(f"w{number}") for number in range(WRITERS)]
    missing = unsound = taken = 0
    slowest = 0.0
    settings = {"Logging__Access": "false"}
    if trial.fault:  # else the log is emptied into the file while the command starts
        settings["Storage__Sqlite__CheckpointPages"] = "1000000"
    with Server(trial.folder, workers=2, environment=settings) as server:
        wait_for_workers(server)
        add_model(server.port)
        _fill(server.port, trial.pick(40_000, 500))
        stalls = Stalls(server.port)
        watching = threading.Thread(target=stalls.run)
        with writing(server.port, writers):
            time.sleep(0.5)
            watching.start()
            for number in range(rounds):
                before = {writer.name: writer.acknowledged for writer in writers}
                target = trial.folder / f"backup-{number}"
                start = time.monotonic()
                ok = _back_up(server, target)
                slowest = max(slowest, time.monotonic() - start)
                taken += ok
                found = _restore(trial.folder / f"restored-{number}", target) if ok else None
                unsound += found is None
                held = before if found is None else found
                missing += sum(held.get(k, 0) < value for k, value in before.items())
            stalls.stop.set()
            watching.join()
        size = (trial.folder / "data" / "default.db").stat().st_size / 1e6
    return [
        exactly("restored copies that verify refuses", unsound),
        exactly("acknowledged writes missing in them", missing),
        exactly("acknowledged writes lost", sum(writer.lost for writer in writers)),
        at_least("backups", taken, rounds),
        # The command starts an interpreter, which takes a second of its own.
        trial.at_most_when_full("seconds of the slowest backup", slowest, 1.5 + size / 50),
        trial.at_most_when_full("ms that a writer waited at most", stalls.worst * 1000, 200),
        at_least("MB", size, trial.pick(30, 0.1)),
    ]


class Stalls:
    """The longest that one write took."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.stop = threading.Event()
        self.worst = 0.0

    def run(self) -> None:
        """Write until told to stop."""
        line = Line(self._port)
        body = b'{"$metadata":{"$model":"dtmi:com:example:Counter;1"},"value":1}'
        while not self.stop.wait(0.005):
            start = time.monotonic()
            try:
                line.call("PUT", "/digitaltwins/stall", body)
            except LOST:
                line = Line(self._port)
            self.worst = max(self.worst, time.monotonic() - start)
        line.close()


def _fill(port: int, twins: int) -> None:
    line = Line(port)
    for start in range(0, twins, 500):
        documents = [
            {
                "$dtId": f"filler-{number}-{'x' * 100}",
                "$metadata": {"$model": "dtmi:com:example:Counter;1"},
                "value": number,
            }
            for number in range(start, min(start + 500, twins))
        ]
        assert line.call("POST", "/digitaltwins", documents)[0] == 200
    line.close()


def _back_up(server: Server, target: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "twinframe", "backup", "--to", str(target)],
        env={**os.environ, "Storage__Sqlite__Directory": str(server.folder / "data")},
        cwd=server.folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(done.stderr[-500:], flush=True)
    return done.returncode == 0


def _restore(folder: Path, backup: Path) -> dict[str, int] | None:
    """The value of each twin in a restored copy; None when it is not sound."""
    store = SqliteGraphStore(SqliteSettings(directory=str(folder)), "default")
    try:
        store.restore(backup, 5)
        store.open()
    except TwinframeError:
        return None
    try:
        return None if store.verify() else read_values(store)
    finally:
        store.close()


GOAL = Goal(
    id="R19",
    title="backup while writing",
    asked="20 backups under load: ≤ 1 s for 50 MB, a writer waits ≤ 200 ms, each restored copy "
    "passes verify and holds all that was acknowledged before",
    judge=judge,
    twins=(
        Twin(
            fault="copy-the-file",
            seeds="a backup copies the file without its log",
            breaks=("acknowledged writes missing in them",),
        ),
    ),
)
