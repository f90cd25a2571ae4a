"""Reads of points: the blocks and fresh rows of some series, as one sequence without duplicates."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from twinframe.storage.points import BEGINNING, PointValue, SeriesKey
from twinframe.storage.tables import TableSession
from twinframe_points.blocks import (
    DAY,
    TooManyPoints,
    find_blocks,
    find_day_after,
    find_days_before,
)
from twinframe_points.columns import Columns, merge_columns
from twinframe_points.fresh import find_fresh
from twinframe_points.names import find_ids

MOST_POINTS: Final = 2_000_000
"""Points of blocks that are in memory at once, unless that many fall into `_SHORTEST`."""
_SHORTEST: Final = 1_000_000
_GROUP_POINTS: Final = 16_384
"""PERF: these stay in the processor's cache; 200 series at once took 20 ms, in groups 15."""

Point = tuple[int, PointValue]


def find_positions(session: TableSession, keys: Sequence[SeriesKey]) -> dict[int, list[int]]:
    """Return the positions in `keys` of each series, by its id in order."""
    found: dict[int, list[int]] = {}
    known = find_ids(session, list(dict.fromkeys(keys)))
    for position, key in enumerate(keys):
        if key in known:
            found.setdefault(known[key], []).append(position)
    return dict(sorted(found.items()))


def read_pieces(
    session: TableSession, ids: Sequence[int], start: int, end: int
) -> Iterator[Columns]:
    """Yield the points of these series, whose ids are in order, from `start` until before `end`.

    Those of a piece are by series and time. A later piece has other series, or later points. A
    piece has a bounded number of points.
    """
    if not ids or start >= end:
        return
    try:
        blocks, fresh = _read_parts(session, ids, start, end)
    except TooManyPoints:
        middle = (start + end) // 2
        if end - start > DAY:  # whole days, so that a block is read once
            middle = min(max(middle // DAY * DAY, start + 1), end - 1)
        yield from read_pieces(session, ids, start, middle)
        yield from read_pieces(session, ids, middle, end)
        return
    if fresh:
        yield merge_columns([*blocks, *fresh])  # what is fresh is newer than any block
        return
    for group in _group_blocks(blocks):
        yield merge_columns(group)


def _read_parts(
    session: TableSession, ids: Sequence[int], start: int, end: int
) -> tuple[list[Columns], list[Columns]]:
    """Return the blocks of some series, and what is fresh of them."""
    fresh = [_cut(part, start, end) for part in find_fresh(session, ids, start, end)]
    most = MOST_POINTS if end - start > _SHORTEST else sys.maxsize
    blocks = [_cut(block, start, end) for block in find_blocks(session, ids, start, end, most)]
    return [one for one in blocks if len(one.times)], [one for one in fresh if len(one.times)]


def _group_blocks(blocks: Sequence[Columns]) -> Iterator[list[Columns]]:
    """Yield blocks in groups, in which each series is whole."""
    group: list[Columns] = []
    points = 0
    for block in blocks:
        if points >= _GROUP_POINTS and block.series[0] != group[-1].series[0]:
            yield group
            group, points = [], 0
        group.append(block)
        points += len(block.times)
    if group:
        yield group


def read_first(
    session: TableSession,
    series: int,
    start: int,
    end: int,
    limit: int,
    room: int | None = None,
) -> list[Point]:
    """Return the first `limit` points of a series from `start` until before `end`.

    They end behind the one with which their texts have more than `room` bytes, two at least.
    """
    found: list[Point] = []
    while start < end and len(found) < limit:
        day = find_day_after(session, series, start)
        # Between the days that have blocks there may be fresh points only.
        until = end if day is None else min((day + 1) * DAY, end)
        for piece in read_pieces(session, [series], start, until):
            rows = np.arange(min(limit - len(found), len(piece.times)))
            some = _build_points(piece, rows)
            if room is not None and piece.texts:
                for at, (_, value) in enumerate(some):
                    room -= len(value) if isinstance(value, str) else 0
                    if room < 0 and (found or at):
                        return found + some[: at + 1]
            found += some
            if len(found) >= limit:
                break
        start = until
    return found


def read_latest(session: TableSession, ids: Sequence[int], moment: int) -> dict[int, Point]:
    """Return the last point up to `moment` of those of these series, in order, that have one."""
    parts = find_fresh(session, ids, BEGINNING, moment + 1) if ids else ()
    fresh = merge_columns([_cut(part, BEGINNING, moment + 1) for part in parts])
    ends = np.searchsorted(fresh.series, ids, "right").tolist()
    found: dict[int, Point] = {}
    of_days: dict[int, list[int]] = {}
    days = find_days_before(session, ids, moment)
    for series, end, day in zip(ids, ends, days, strict=True):
        is_fresh = end > 0 and int(fresh.series[end - 1]) == series
        if is_fresh and (day is None or int(fresh.times[end - 1]) // DAY > day):
            found[series] = _build_points(fresh, np.array([end - 1]))[0]
        elif day is not None:
            of_days.setdefault(day, []).append(series)
    for day, some in of_days.items():
        end = min(moment + 1, (day + 1) * DAY)
        for piece in read_pieces(session, some, day * DAY, end):
            ends = np.searchsorted(piece.series, some, "right").tolist()
            for series, last in zip(some, ends, strict=True):
                if last > 0 and int(piece.series[last - 1]) == series:
                    found[series] = _build_points(piece, np.array([last - 1]))[0]
    return found


def _cut(columns: Columns, start: int, end: int) -> Columns:
    times = columns.times
    is_block = len(times) > 0 and columns.series[0] == columns.series[-1]
    if is_block and times[0] >= start and times[-1] < end:
        return columns
    is_inside = (times >= start) & (times < end)
    return columns if is_inside.all() else columns.take(is_inside)


def _build_points(
    columns: Columns, rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> list[Point]:
    values = columns.take_values(rows)
    times = columns.times[rows].tolist()
    return [(time, value) for time, value in zip(times, values, strict=True) if value is not None]
