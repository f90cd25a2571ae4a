"""R19: backups of a graph that is being written, and what they hold when they are restored."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.storage_writers import read_values
from tests.reliability.traffic import LOST, Line, add_model, wait_for_workers
from twinframe.errors import TwinframeError
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfFileStore
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

WRITERS = 4
_BETWEEN = 0.5
"""Seconds before each backup, in which the writers are alone."""


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
    settings = _build_settings(provider, folder / "data")
    if trial.fault:  # else the log is emptied into the file while the command starts
        settings["Storage__Sqlite__CheckpointPages"] = "1000000"
    with Server(folder, workers=2, environment=settings) as server:
        wait_for_workers(server)
        add_model(server.port)
        _fill(server.port, twins)
        stalls = Stalls(server.port)
        source = _build_store(provider, folder / "data")
        source.open()
        with writing(server.port, writers):
            time.sleep(_BETWEEN)
            with stalls.watching():
                backups = [
                    _take(number, source, settings, folder, writers) for number in range(rounds)
                ]
        size = source.measure() / 1e6
        source.close()
    # NOTE: behind the load, as what the judge does for itself is no part of what writers wait for.
    held = [_restore_one(provider, folder, backup) for backup in backups]
    missing = sum(
        (backup.known if found is None else found).get(name, 0) < value
        for backup, found in zip(backups, held, strict=True)
        for name, value in backup.known.items()
    )
    times = [backup.seconds for backup in backups if backup.seconds is not None]
    figures = [
        exactly("restored copies that verify refuses", held.count(None)),
        exactly("acknowledged writes missing in them", missing),
        exactly("acknowledged writes lost", sum(writer.lost for writer in writers)),
        at_least("backups", sum(backup.is_taken for backup in backups), rounds),
        trial.at_most_when_full("seconds of the slowest backup", max(times), max(1.0, size / 50)),
        trial.at_most_when_full("ms that a writer waited at most", stalls.worst * 1000, 200),
        at_least("MB", size, trial.pick(30 if provider == "sqlite" else 5, 0.1)),
    ]
    return [
        Figure(f"{provider}: {each.name}", each.value, each.relation, each.bound)
        for each in figures
    ]


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup, if it `is_taken`: what each writer `known` it had before it began.

    `seconds` it took, where it was made here; a command has to start first.
    """

    target: Path
    known: Mapping[str, int]
    is_taken: bool
    seconds: float | None


def _take(
    number: int,
    source: SqliteGraphStore | RdfFileStore,
    settings: Mapping[str, str],
    folder: Path,
    writers: Sequence[Writer],
) -> Backup:
    """A backup beside the writers, who then have a moment to go on."""
    target = folder / f"backup-{number}"
    time.sleep(_BETWEEN)
    known = {writer.name: writer.acknowledged for writer in writers}
    if number % 5 == 2:
        return Backup(target, known, _back_up(settings, folder, target), None)
    start = time.monotonic()
    source.back_up(target)
    return Backup(target, known, True, time.monotonic() - start)


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
    """The longest that one write took while it was watched, from its start to its answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self.worst = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """One write after the other, until the end of the block."""
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        line = Line(self._port)
        body = b'{"$metadata":{"$model":"dtmi:com:example:Counter;1"},"value":1}'
        while not self._stop.wait(0.005):
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


def _restore_one(provider: str, folder: Path, backup: Backup) -> dict[str, int] | None:
    """The value of each twin in a copy restored from it; None when there is none that is sound."""
    if not backup.is_taken:
        return None
    place = folder / "restored"
    try:
        return _read_restored(_build_store(provider, place), backup.target)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _read_restored(store: SqliteGraphStore | RdfFileStore, backup: Path) -> dict[str, int] | None:
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
