"""A service whose data lie on a small file system that fills up and gets room again.

`python -m tests.reliability.small_disk FOLDER PROVIDER` prints what happened as JSON. It judges
nothing, and mounts below FOLDER: run it as root in a mount namespace of its own (`unshare -m`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from tests.e2e.server import Server
from tests.reliability.hostile import META, MODEL
from tests.reliability.traffic import LOST, Line, add_model, list_workers, wait_for_workers

MIB: Final = 2**20
SIZES: Final = {"sqlite": 16, "rdf": 48}
"""MiB of the file system."""

PAD: Final = "x" * 15_000
LONGEST: Final = 8.0
ENOUGH: Final = 3
"""Reads that failed, after which no more are tried."""


@dataclass(slots=True)
class Found:
    """What happened. Statuses are those of HTTP, 0 for an answer that did not come."""

    kept: int = 0
    refused: int = 0
    refused_again: list[int] = field(default_factory=list)
    there_though_refused: int = 0
    unread: int = 0
    live: int = 0
    deletion_on_full: int = 0
    deletion_with_ballast: int = 0
    recovered: float = 0.0
    lost: int = 0
    workers_ended: int = 0
    tracebacks: int = 0


def fill_and_recover(folder: Path, provider: str) -> Found:
    """Write until nothing more is taken, make room, and look for what was acknowledged."""
    disk = folder / "disk"
    disk.mkdir()
    _mount(disk, f"size={SIZES[provider]}m")
    environment = {
        "Storage__Provider": provider,
        "Storage__Sqlite__Directory": str(disk),
        "Storage__Sqlite__BallastBytes": str(MIB),
        "Storage__Sqlite__CheckpointPages": "100",
        "Storage__Rdf__Directory": str(disk),
        "Logging__Access": "false",
    }
    found = Found()
    with Server(folder, workers=2, environment=environment) as server:
        workers = wait_for_workers(server)
        add_model(server.port, MODEL)
        while (status := _put(server.port, found.kept)) == 200:
            found.kept += 1
        found.refused = status
        found.refused_again = [_put(server.port, found.kept) for _ in range(5)]
        after = _call(server.port, "GET", f"/digitaltwins/t{found.kept}")
        found.there_though_refused = int(after == 200)
        found.unread = _count_unread(server.port, 0, found.kept)
        found.live = _call(server.port, "GET", "/health/live")
        deleted = _delete_when_full(disk, server.port, found) if provider == "sqlite" else 0
        _mount(disk, f"remount,size={4 * SIZES[provider]}m")
        start = time.monotonic()
        _wait(lambda: _put(server.port, found.kept) == 200)
        found.recovered = time.monotonic() - start
        found.lost = _count_unread(server.port, deleted, found.kept + 1)
        found.workers_ended = len(set(workers) - set(list_workers(server)))
    found.tracebacks = server.log.read_text(encoding="utf-8").count("Traceback")
    return found


def _delete_when_full(disk: Path, port: int, found: Found) -> int:
    """Delete on a disk without one free byte, with and without the ballast; how many are gone."""
    with (disk / "other").open("wb", buffering=0) as other:
        try:
            while other.write(b"x" * 4096):
                pass
        except OSError:
            pass
    found.deletion_on_full = _call(port, "DELETE", "/digitaltwins/t0")
    (disk / "ballast").unlink()
    found.deletion_with_ballast = _call(port, "DELETE", "/digitaltwins/t0")
    return 1


def _mount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)


def _put(port: int, number: int) -> int:
    return _call(port, "PUT", f"/digitaltwins/t{number}", META | {"text": PAD})


def _call(port: int, method: str, path: str, body: object = None) -> int:
    try:
        line = Line(port, timeout=LONGEST)
        status, _, _ = line.call(method, path, body)
        line.close()
    except LOST:
        return 0
    return status


def _count_unread(port: int, start: int, end: int) -> int:
    unread = 0
    for number in range(start, end):
        unread += _call(port, "GET", f"/digitaltwins/t{number}") != 200
        if unread == ENOUGH:
            break
    return unread


def _wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)


if __name__ == "__main__":
    print(json.dumps(asdict(fill_and_recover(Path(sys.argv[1]), sys.argv[2]))))
