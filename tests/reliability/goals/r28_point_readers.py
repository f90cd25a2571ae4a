"""R28: readers of points beside writes and compaction see one state each time."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.point_writers import (
    NOW,
    SharedClock,
    build_points,
    fork,
    keep_up_for_ever,
    running,
)
from twinframe.errors import TwinframeError
from twinframe.storage.points import Points, Window
from twinframe_points.store import FilePointStore

_START: Final = NOW // 86_400 * 86_400_000_000
_STABLE: Final = tuple((f"stable-{at}", "t") for at in range(10))
_POINTS: Final = 2_500
"""Points of a stable series, a second apart: more than two blocks."""
_PAIRED: Final = tuple((f"paired-{at}", "t") for at in range(20))
_WINDOW: Final = Window(_START, _START + _POINTS * 1_000_000, 60_000_000)
_AGGREGATES: Final = ("count", "sum", "first", "last")
_READERS: Final = 2


def judge(trial: Trial) -> Sequence[Figure]:
    """Rewrite and compact the same series over and over; readers compare with what must be."""
    clock = SharedClock()
    store = build_points(trial.folder, clock)
    store.write(_build_stable(range(_POINTS)))
    store.write(_build_paired(0))
    store.close()
    seconds = trial.pick(60, 4)
    results = [trial.folder / f"reader-{number}.json" for number in range(_READERS)]
    with running() as children:
        children += [fork(partial(_write, trial, clock, seed)) for seed in range(2)]
        children += [fork(partial(keep_up_for_ever, build_points(trial.folder, clock)))]
        readers = [
            fork(partial(_read, build_points(trial.folder, clock), path, seconds))
            for path in results
        ]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            clock.set(clock() + 300)  # what was written becomes blocks after ten minutes
        codes = [os.waitpid(reader, 0)[1] for reader in readers]
    store = build_points(trial.folder, clock)
    blocks = int(store._file.open().execute(_MADE).get)
    faults = len(store.verify())
    store.close()
    found = [json.loads(path.read_text()) for path in results if path.exists()]
    return [
        exactly("reads that saw no one state", sum(one["torn"] for one in found)),
        exactly("reads that saw less than the one before", sum(one["back"] for one in found)),
        exactly("reads that failed", sum(one["failed"] for one in found) + sum(map(bool, codes))),
        exactly("findings of verify", faults),
        at_least("reads", sum(one["reads"] for one in found), trial.pick(4_000, 100)),
        at_least("blocks that compaction made meanwhile", blocks, trial.pick(5_000, 100)),
    ]


_MADE: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'block'"


def _build_stable(rows: Sequence[int]) -> Points:
    points = Points()
    for at in rows:
        for twin, path in _STABLE:
            points.add(twin, path, _START + at * 1_000_000, float(at))
    return points


def _build_paired(number: int) -> Points:
    points = Points()
    for twin, path in _PAIRED:
        points.add(twin, path, _START, float(number))
    return points


def _write(trial: Trial, clock: SharedClock, seed: int) -> None:
    """Write stable points as they are, others behind them; one of two raises the paired values."""
    store, dice, number = build_points(trial.folder, clock), random.Random(seed), 0
    while True:
        store.write(_build_stable([dice.randrange(_POINTS) for _ in range(20)]))
        behind = Points()
        for twin, path in _STABLE:
            moment = _START + (_POINTS + dice.randrange(10_000)) * 1_000_000
            behind.add(twin, path, moment, -1.0)
        store.write(behind)
        if seed == 0:
            number += 1
            store.write(_build_paired(number))


def _read(store: FilePointStore, result: Path, seconds: float) -> None:
    wanted = _expect()
    found = {"reads": 0, "torn": 0, "back": 0, "failed": 0}
    last, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        found["reads"] += 1
        try:
            buckets = store.read_buckets(_STABLE, _WINDOW, _AGGREGATES)
            found["torn"] += any(
                [*zip(each.starts, *each.columns, strict=True)] != wanted for each in buckets
            )
            paired = {None if point is None else point[1] for point in _read_paired(store)}
            found["torn"] += len(paired) != 1
            now = max(float(value or 0) for value in paired)
            found["back"] += now < last
            last = now
        except TwinframeError:
            found["failed"] += 1
        except (IndexError, TypeError, ValueError):  # a part is gone
            found["torn"] += 1
    store.close()
    with result.open("w", encoding="utf-8") as file:
        json.dump(found, file)


def _read_paired(store: FilePointStore) -> Sequence[tuple[int, object] | None]:
    return store.read_last(_PAIRED, _START)


def _expect() -> list[tuple[object, ...]]:
    rows = []
    for first in range(0, _POINTS, 60):
        some = range(first, min(first + 60, _POINTS))
        start = _START + first * 1_000_000
        rows.append((start, len(some), float(sum(some)), float(some[0]), float(some[-1])))
    return rows


GOAL = Goal(
    id="R28",
    title="readers of points across a compaction",
    asked="two readers beside two writers and upkeep that rewrites the same series: each of ≥ 4,000"
    " reads of many series is one state, and none is older than the one before",
    judge=judge,
    twins=(
        Twin(
            fault="points-read-in-many-states",
            seeds="each statement of a read sees a state of its own",
            breaks=("reads that saw no one state",),
        ),
    ),
    smoke=True,
)
