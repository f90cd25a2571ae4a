"""R19: backups of a graph that is being written, and what they hold when they are restored."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.storage_writers import read_values
from tests.reliability.traffic import LOST, Line, add_model, wait_for_workers
from twinframe.errors import TwinframeError
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.file_store import RdfFileStore
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

WRITERS = 4


def judge(trial: Trial) -> Sequence[Figure]:
    """Back graphs up that are being written, restore elsewhere, compare with what was known."""
    figures = _judge_storage(trial, "sqlite", trial.pick(20, 3), trial.pick(40_000, 500))
    if not trial.fault:
        figures += _judge_storage(trial, "rdf", trial.pick(5, 1), trial.pick(10_000, 500))
    return figures


def _judge_storage(trial: Trial, provider: str, rounds: int, twins: int) -> list[Figure]:
    folder = trial.folder / provider
    folder.mkdir()
    writers = [Writer(f"w{number}") for number in range(WRITERS)]
    missing = unsound = taken = 0
    times: list[float] = []
    settings = _build_settings(provider, folder / "data")
    if trial.fault:  # else the log is emptied into the file while the command starts
        settings["Storage__Sqlite__CheckpointPages"] = "1000000"
    with Server(folder, workers=2, environment=settings) as server:
        wait_for_workers(server)
        add_model(server.port)
        _fill(server.port, twins)
        stalls = Stalls(server.port)
        watching = threading.Thread(target=stalls.run)
        source = _build_store(provider, folder / "data")
        source.open()
        with writing(server.port, writers):
            time.sleep(0.5)
            watching.start()
            for number in range(rounds):
                before = {writer.name: writer.acknowledged for writer in writers}
                target = folder / f"backup-{number}"
                if number % 5 == 2:
                    ok = _back_up(settings, folder, target)
                else:
                    start = time.monotonic()
                    source.back_up(target)
                    times.append(time.monotonic() - start)
                    ok = True
                taken += ok
                copy = _build_store(provider, folder / f"restored-{number}")
                found = _restore(copy, target) if ok else None
                unsound += found is None
                held = before if found is None else found
                missing += sum(held.get(k, 0) < value for k, value in before.items())
            stalls.stop.set()
            watching.join()
        size = source.measure() / 1e6
        source.close()
    figures = [
        exactly("restored copies that verify refuses", unsound),
        exactly("acknowledged writes missing in them", missing),
        exactly("acknowledged writes lost", sum(writer.lost for writer in writers)),
        at_least("backups", taken, rounds),
        trial.at_most_when_full("seconds of the slowest backup", max(times), max(1.0, size / 50)),
        trial.at_most_when_full("ms that a writer waited at most", stalls.worst * 1000, 200),
        at_least("MB", size, trial.pick(30 if provider == "sqlite" else 5, 0.1)),
    ]
    return [
        Figure(f"{provider}: {each.name}", each.value, each.relation, each.bound)
        for each in figures
    ]


def _build_settings(provider: str, data: Path) -> dict[str, str]:
    return {
        "Storage__Provider": provider,
        f"Storage__{provider.capitalize()}__Directory": str(data),
        "Logging__Access": "false",
    }


def _build_store(provider: str, data: Path) -> SqliteGraphStore | RdfFileStore:
    if provider == "sqlite":
        return SqliteGraphStore(SqliteSettings(directory=str(data)), "default")
    store = build_store(RdfSettings(directory=str(data), idle_seconds=1), "default")
    assert isinstance(store, RdfFileStore)
    return store


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


def _back_up(settings: Mapping[str, str], folder: Path, target: Path) -> bool:
    """By the command, as an operator does."""
    done = subprocess.run(
        [sys.executable, "-m", "twinframe", "backup", "--to", str(target)],
        env={**os.environ, **settings},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(done.stderr[-500:], flush=True)
    return done.returncode == 0


def _restore(store: SqliteGraphStore | RdfFileStore, backup: Path) -> dict[str, int] | None:
    """The value of each twin in a restored copy; None when it is not sound."""
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
    asked="20 backups of SQLite and 5 of triples under load: ≤ 1 s for each 50 MB begun, a writer "
    "waits ≤ 200 ms, each restored copy passes verify and holds all that was acknowledged before",
    judge=judge,
    twins=(
        Twin(
            fault="copy-the-file",
            seeds="a backup copies the file without its log",
            breaks=("sqlite: acknowledged writes missing in them",),
        ),
    ),
)
