"""Processes that write, keep up and read the points of one store until they are killed.

They judge nothing. What a writer was acknowledged is in a file, which survives its death.
"""

from __future__ import annotations

import math
import mmap
import os
import random
import signal
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.storage.points import Points
from twinframe_points.settings import PointsSettings
from twinframe_points.store import FilePointStore

SERIES: Final = 8
"""Series of a writer: each write has a point of all of them at one time."""
NOW: Final = 1_790_000_000
DAY: Final = 86_400
NUMBER: Final = struct.Struct("<q")


class SharedClock:
    """Seconds since 1970 that one process sets and its children see."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, NUMBER.size)
        self.set(NOW)

    def __call__(self) -> float:
        return float(NUMBER.unpack(self._memory[: NUMBER.size])[0])

    def set(self, seconds: float) -> None:
        self._memory[: NUMBER.size] = NUMBER.pack(int(seconds))


def build_points(
    folder: Path, clock: Callable[[], float], keep_days: int = 0, keep_bytes: int = 0
) -> FilePointStore:
    """The store, which opens itself when it is used."""
    settings = PointsSettings(keep_days=keep_days, keep_bytes=keep_bytes, busy_timeout=60)
    return FilePointStore(folder / "beside", settings, clock)


def fork(run: Callable[[], object]) -> int:
    """Run it in a child until it ends or is killed; its id."""
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        run()
    except BaseException as error:  # noqa: BLE001  # a child says why it ends, and ends
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os._exit(0)


def kill(*children: int) -> None:
    """Kill children, and wait for their ends."""
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)


def write_for_ever(
    store: FilePointStore, name: str, acknowledged: Path, dice: random.Random, oldest: int = 0
) -> None:
    """Write one time after the other, some up to `oldest` seconds late; note what is stored.

    The value of a point follows from its time, so that it can be told whether it is right.
    """
    handle = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    number = 0
    while True:
        points, times = Points(), []
        for _ in range(dice.choice((1, 5, 60))):
            number += 1
            late = dice.randrange(oldest) if oldest and dice.random() < 0.3 else 0
            moment = (int(store._clock()) - late) * 1_000_000 + number % 1_000_000
            if moment < store.find_first_kept():
                continue
            times.append(moment)
            for series in range(SERIES):
                points.add(f"{name}-{series}", "t", moment, compute_value(moment))
        store.write(points)
        os.write(handle, b"".join(map(NUMBER.pack, times)))


def compute_value(moment: int) -> float:
    """Return the value of the points of a time: noise, which takes as many bytes as it looks."""
    return math.sin(moment)


def read_acknowledged(path: Path) -> set[int]:
    """The times of all points of which a writer knows that they are stored."""
    noted = path.read_bytes() if path.exists() else b""
    whole = len(noted) // NUMBER.size * NUMBER.size
    return {time for (time,) in NUMBER.iter_unpack(noted[:whole])}


def keep_up_for_ever(store: FilePointStore) -> None:
    """Do all upkeep there is, again and again."""
    while True:
        if not store.run_upkeep():
            time.sleep(0.001)


def read_all(store: FilePointStore) -> dict[str, dict[int, object]]:
    """All points by series and time."""
    found: dict[str, dict[int, object]] = {}
    for part in store.walk(10_000):
        found.setdefault(part.twin, {}).update(zip(part.times, part.values, strict=True))
    return found


@contextmanager
def running(*children: int) -> Iterator[list[int]]:
    """Children that are killed at the end of the block, with those that were added."""
    alive = [*children]
    try:
        yield alive
    finally:
        kill(*alive)
