"""R27: old points are removed, and others made blocks, while many are written."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Final

import apsw

from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.point_writers import (
    DAY,
    NOW,
    NUMBER,
    SERIES,
    SharedClock,
    build_points,
    compute_value,
    fork,
    keep_up_for_ever,
    kill,
    read_acknowledged,
    read_all,
    running,
    write_for_ever,
)

_KEEP_DAYS: Final = 4
_DAY: Final = DAY * 1_000_000
_WRITERS: Final = ("a", "b", "c")
_BETWEEN: Final = 30
"""Times that are written before the clock goes on."""
_SMALL: Final = 3_000_000
"""Bytes that are kept in the end, of more."""


def judge(trial: Trial) -> Sequence[Figure]:
    """Let days pass under writers and two processes of upkeep, one of which is killed at times."""
    dice, clock = random.Random(trial.seed), SharedClock()
    end, killed, written = time.monotonic() + trial.pick(75, 5), 0, 0
    with running(*(fork(partial(_write, trial, name, clock)) for name in _WRITERS)) as children:
        children += [fork(partial(_keep_up, trial, clock)) for _ in range(2)]
        # NOTE: a busy machine takes longer to get there, and is judged by as much.
        while (
            time.monotonic() < end
            or clock() < NOW + 2 * _KEEP_DAYS * DAY
            or killed < trial.pick(100, 5)
        ):
            time.sleep(dice.uniform(0.02, 0.1))
            if (noted := _count_noted(trial)) >= written + _BETWEEN:
                written = noted
                clock.set(clock() + trial.pick(900, 10_800))
            if dice.random() < 0.3:
                kill(children.pop(len(_WRITERS)))
                children.append(fork(partial(_keep_up, trial, clock)))
                killed += 1
    store = build_points(trial.folder, clock, _KEEP_DAYS)
    clock.set(clock() + 700)
    while store.run_upkeep():
        pass
    first = (int(clock()) // DAY - _KEEP_DAYS) * _DAY
    known = {name: read_acknowledged(trial.folder / name) for name in _WRITERS}
    found, faults = read_all(store), len(store.verify())
    store.close()
    lost = _count_lost(known, found, first)
    late = sum(moment < first for times in found.values() for moment in times)
    kept = sum(len(times) for times in found.values())
    gone = sum(moment < first for times in known.values() for moment in times) * SERIES
    return [
        exactly("points lost that are due to stay", lost),
        exactly("points left that are too old", late),
        exactly("findings of verify", faults),
        at_least("points kept", kept, trial.pick(200_000, 5_000)),
        at_least("points removed by age", gone, trial.pick(200_000, 5_000)),
        at_least("kills of upkeep", killed, trial.pick(100, 5)),
        *_judge_bytes(trial, clock, known),
    ]


def _measure_used(connection: apsw.Connection) -> int:
    """Return the bytes of the file's pages that are in use."""
    count, free = (connection.pragma(name) for name in ("page_count", "freelist_count"))
    size: int = connection.pragma("page_size") * (count - free)
    return size


def _judge_bytes(trial: Trial, clock: SharedClock, known: dict[str, set[int]]) -> list[Figure]:
    """Then fewer bytes are kept: the oldest day goes first, and all newer ones are whole."""
    store = build_points(trial.folder, clock, _KEEP_DAYS)
    before = _list_days(read_all(store))
    store.close()
    with closing(apsw.Connection(str(trial.folder / "beside" / "points.db"))) as connection:
        most = min(_SMALL, _measure_used(connection) * 3 // 4)
    store = build_points(trial.folder, clock, _KEEP_DAYS, most)
    while store.run_upkeep():
        pass
    found = read_all(store)
    store.close()
    days = _list_days(found)
    lost = _count_lost(known, found, (min(days, default=0) + 1) * _DAY)
    return [
        exactly("points lost of days after the oldest, by bytes", lost),
        at_least("days that are left by bytes", len(days), 1),
        at_least("days removed by bytes", len(before - days), 1),
    ]


def _list_days(found: dict[str, dict[int, object]]) -> set[int]:
    return {moment // _DAY for times in found.values() for moment in times}


def _count_lost(known: dict[str, set[int]], found: dict[str, dict[int, object]], first: int) -> int:
    return sum(
        found.get(f"{name}-{at}", {}).get(moment) != compute_value(moment)
        for name, times in known.items()
        for at in range(SERIES)
        for moment in times
        if moment >= first
    )


def _count_noted(trial: Trial) -> int:
    paths = [trial.folder / name for name in _WRITERS]
    return sum(path.stat().st_size // NUMBER.size for path in paths if path.exists())


def _write(trial: Trial, name: str, clock: SharedClock) -> None:
    store = build_points(trial.folder, clock, _KEEP_DAYS)
    dice = random.Random(f"{trial.seed}{name}")
    write_for_ever(store, name, trial.folder / name, dice, (_KEEP_DAYS - 1) * DAY)


def _keep_up(trial: Trial, clock: SharedClock) -> None:
    keep_up_for_ever(build_points(trial.folder, clock, _KEEP_DAYS))


GOAL = Goal(
    id="R27",
    title="retention and compaction of points under load",
    asked="days pass under three writers while two processes keep up, killed ≥ 100 times: what is "
    "due to stay stays, what is too old goes, by age and by bytes",
    judge=judge,
    twins=(
        Twin(
            fault="points-retired-early",
            seeds="a day is removed that is still to be kept",
            breaks=("points lost that are due to stay",),
        ),
        Twin(
            fault="fresh-points-deleted-first",
            seeds="compaction deletes what it is going to write",
            breaks=("points lost that are due to stay",),
        ),
    ),
    smoke=True,
)
