"""R25: clients that take all they can get: memory, the event loop, the processes of a service."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.e2e.server import Server
from tests.reliability.attacks import list_attacks
from tests.reliability.attacks.attack import STORAGES, Attack
from tests.reliability.attacks.probe import find_longest_late
from tests.reliability.attacks.world import prepare
from tests.reliability.judging import ROOT, Figure, Goal, Trial, Twin, at_least, at_most, exactly
from tests.reliability.traffic import wait_for_workers
from tests.reliability.vitals import list_descendants, read_anonymous

SECONDS: Final = 2.0
SETTLING: Final = 0.6
WITHOUT_ACCOUNT: Final = ("uploads without a last byte",)
"""The attacks that the twin needs: without an account they take the most."""

ENVIRONMENT: Final = {
    "Logging__Access": "false",
    "MCP__Enabled": "true",
    "Query__Timeout": "5",
    "Sparql__Enabled": "true",
    "Sparql__Timeout": "5",
}


@dataclass(slots=True)
class Findings:
    """What was seen over all attacks of a storage."""

    attacks: int = 0
    largest: int = 0
    slow: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    ended: int = 0
    unanswered: int = 0
    tracebacks: int = 0


def judge(trial: Trial) -> Sequence[Figure]:
    """Each attack by itself, in turn, on one service a storage; others read meanwhile."""
    found = Findings()
    for storage in STORAGES if not trial.fault else STORAGES[:1]:
        folder = trial.folder / storage
        folder.mkdir()
        environment = {
            **ENVIRONMENT,
            "Storage__Provider": storage,
            "Storage__Rdf__Directory": str(folder / "triples"),
        }
        attacks = [
            attack
            for attack in list_attacks()
            if storage in attack.storages and (not trial.fault or attack.name in WITHOUT_ACCOUNT)
        ]
        with Server(folder, workers=2, environment=environment) as server:
            wait_for_workers(server)
            prepare(server.port)
            _attack_all(server, storage, attacks[:: trial.pick(1, 1 if trial.fault else 8)], found)
            found.tracebacks += server.log.read_text(encoding="utf-8").count("Traceback")
    return [
        at_most("MiB in all at most", found.largest / 2**20, 1024),
        exactly("attacks under which others' p99 was over 50 ms for seconds", len(found.slow)),
        exactly("processes that ended", found.ended),
        exactly("reads of others that failed", found.unanswered),
        exactly("answers that no attack may get", len(found.wrong)),
        exactly("tracebacks", found.tracebacks),
        at_least("attacks", found.attacks, len(WITHOUT_ACCOUNT) if trial.fault else 60),
    ]


def _attack_all(server: Server, storage: str, attacks: Sequence[Attack], found: Findings) -> None:
    assert server.process is not None
    before = list_descendants(server.process.pid)
    times: list[tuple[Attack, float, float]] = []
    rows: dict[str, str] = {}
    with _probe(server.port) as reads, _watch(server.process.pid) as peaks:
        time.sleep(1.0)
        for attack in attacks:
            peaks.largest, start = 0, time.monotonic()
            came = _run(attack, server.port, storage)
            time.sleep(SETTLING)
            times.append((attack, start, time.monotonic()))
            rows[attack.name] = f"{peaks.largest / 2**20:.0f} MiB, {came['answers']}"
            found.largest = max(found.largest, peaks.largest)
            found.wrong += [f"{attack.name}: {text}" for text in came["wrong"]]
    found.attacks += len(attacks)
    found.ended += len(set(before) - set(list_descendants(server.process.pid)))
    for attack, start, end in times:
        late = find_longest_late(reads, start, end)
        if late > 1:
            found.slow.append(f"{storage}: {attack.name}")
        worst = max((took for due, took, _ in reads if start <= due < end), default=0.0)
        print(
            f"    {storage}, {attack.name}: {rows[attack.name]}; others late for {late} s, "
            f"worst {worst * 1000:.0f} ms",
            flush=True,
        )
    found.unanswered += sum(status != 200 for _, _, status in reads)
    for text in found.wrong:
        print(f"    {text}", flush=True)


def _run(attack: Attack, port: int, storage: str) -> dict[str, Any]:
    command = [
        sys.executable, "-m", "tests.reliability.attacks",
        attack.name, str(port), str(attack.seconds or SECONDS), storage,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{attack.name}: {done.stderr}"
    came: dict[str, Any] = json.loads(done.stdout)
    return came


@contextmanager
def _probe(port: int) -> Iterator[list[list[float]]]:
    """Reads of others, complete at the end of the context."""
    reads: list[list[float]] = []
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.reliability.attacks.probe", str(port)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield reads
    finally:
        output, _ = process.communicate("")
    reads += json.loads(output)


@dataclass(slots=True)
class Peak:
    """The most anonymous memory of a process and all below it, since it was set to 0."""

    largest: int = 0


@contextmanager
def _watch(pid: int) -> Iterator[Peak]:
    peak, stop = Peak(), threading.Event()

    def look() -> None:
        while not stop.wait(0.05):
            peak.largest = max(peak.largest, read_anonymous([pid, *list_descendants(pid)]))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


GOAL = Goal(
    id="R25",
    title="bounds of memory and of the event loop",
    asked="≥ 60 attacks on memory and on the loop, on SQLite and RDF: a service of two workers "
    "stays ≤ 1 GiB in all, others' p99 is not over 50 ms for longer than a second, no process ends",
    judge=judge,
    longest=1500,
    twins=(
        Twin(
            fault="no-account",
            seeds="the account of memory grants everything",
            breaks=("MiB in all at most",),
        ),
    ),
)
