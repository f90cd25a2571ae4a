"""Kill -9 of the store process and of its workers, over and over: nothing is lost, torn or doubled.

`make test-rdf-crash` does it 300 times; a few times here. What a kill leaves unsynced the system
still has: `test_rdf_power_loss.py` takes that away too.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from runpy import run_path

import pytest

from tests.waiting import PATIENCE, join, start
from twinframe.storage.base import GraphSession
from twinframe.testing.contracts.base import reading
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.storeprocess.frames import Files

ROUNDS = int(os.environ.get("TWINFRAME_ROUNDS", "6"))
WORKERS = ("a", "b")
SCRIPT = Path(__file__).with_name("counting_worker.py")


@dataclass
class Worker:
    """A process that counts, and the last count it was acknowledged."""

    place: Path
    name: str
    acknowledged: int = 0
    process: subprocess.Popen[bytes] = field(init=False)
    _reader: threading.Thread = field(init=False)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(self.place), self.name], stdout=subprocess.PIPE
        )
        self._reader = start(self._read)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        join(self._reader)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if line.endswith(b"\n"):  # the last one may be cut off
                    self.acknowledged = int(line)


def find_process(place: Path) -> int | None:
    """The store process of the directory: the one that holds its lock."""
    inode = Files(place).alive.stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        parts = line.split()
        if parts[1] == "FLOCK" and parts[5].endswith(f":{inode}"):
            return int(parts[4])
    return None


def read_counts(session: GraphSession, name: str) -> tuple[int, ...]:
    """What twin, mirror and entry say."""
    found = [session.read_twin(twin_id) for twin_id in (name, f"{name}-mirror")]
    bodies = [b'"n":0,' if one is None else one.body for one in found]
    entry = session.read_entry("count", name)
    counts = [int(body.split(b'"n":')[1].split(b",")[0].rstrip(b"}")) for body in bodies]
    return (*counts, int(entry or b"0"))


def check_soundness(session: GraphSession, least: dict[str, int]) -> int:
    """Nothing acknowledged is missing and each write is there as a whole; how many there are."""
    with session.snapshot():
        counts = {name: read_counts(session, name) for name in WORKERS}
        shared = session.read_twin("shared")
        events: list[tuple[str, int]] = []
        after = 0
        while rows := session.read_events(after=after, limit=500):
            after = rows[-1][0]
            events += ((event.subject, int(event.body)) for _, event in rows)
    for name in WORKERS:
        assert len(set(counts[name])) == 1, f"torn: {name} {counts}"
        assert counts[name][0] >= least[name], f"lost: {name} {counts} of {least}"
        own = [count for subject, count in events if subject == name]
        assert own == list(range(1, counts[name][0] + 1))
    total = sum(counts[name][0] for name in WORKERS)
    if total:
        assert shared is not None
        assert f'"n":{total},'.encode() in shared.body
    return total


@pytest.mark.timeout(300 + 10 * ROUNDS)
def test_whoever_is_killed_nothing_acknowledged_is_lost_torn_or_made_twice(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    dice = random.Random(ROUNDS)
    place = tmp_path / "default"
    store = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=5), "default")
    store.open()
    workers = {name: Worker(tmp_path, name) for name in WORKERS}
    for worker in workers.values():
        worker.start()
    killed = {"the store process": 0, "a worker": 0}
    totals = [0]
    try:
        while sum(killed.values()) < ROUNDS:
            wait_for_progress(workers)
            time.sleep(dice.random() * 0.05)
            if dice.random() < 0.7:
                process = find_process(place)
                if process is None:
                    continue
                os.kill(process, signal.SIGKILL)
                killed["the store process"] += 1
            else:
                victim = workers[dice.choice(WORKERS)]
                victim.kill()
                victim.start()
                killed["a worker"] += 1
            least = {name: worker.acknowledged for name, worker in workers.items()}
            with reading(store) as session:
                totals.append(check_soundness(session, least))
    finally:
        for worker in workers.values():
            worker.kill()
    least = {name: worker.acknowledged for name, worker in workers.items()}
    with reading(store) as session:
        totals.append(check_soundness(session, least))
    record_property("kills", sum(killed.values()))
    record_property("writes", totals[-1])
    print(f"{killed}, {totals[-1]} writes, none lost, none torn")
    assert list(store.verify()) == []
    store.close()


def wait_for_progress(workers: dict[str, Worker]) -> None:
    """Wait until each worker was acknowledged something more."""
    before = {name: worker.acknowledged for name, worker in workers.items()}
    while any(worker.acknowledged == before[name] for name, worker in workers.items()):
        assert all(worker.process.poll() is None for worker in workers.values())
        time.sleep(0.005)


def test_the_check_finds_what_is_lost_and_what_is_torn(tmp_path: Path) -> None:
    """It can fail: with a count that was never written, and with a mirror that is behind."""
    store = build_store(RdfSettings(directory=""), "default")
    store.open()
    count_up = run_path(str(SCRIPT))["count_up"]
    (outcome,) = store.write([lambda transaction: count_up(transaction, "a")])
    assert outcome.error is None
    with reading(store) as session:
        assert check_soundness(session, {"a": 1, "b": 0}) == 1
        with pytest.raises(AssertionError, match="lost"):
            check_soundness(session, {"a": 2, "b": 0})
        store.write([lambda transaction: transaction.put_entry("count", "a", b"2")])
        with pytest.raises(AssertionError, match="torn"):
            check_soundness(session, {"a": 1, "b": 0})
    store.close()
