"""All points of a file, one series after the other, as an export has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from twinframe.storage.points import PointValue, SeriesPart
from twinframe.storage.tables import TableSession
from twinframe_points.blocks import BLOCK_POINTS, DAY
from twinframe_points.columns import Columns
from twinframe_points.reading import read_pieces

_GROUP_POINTS: Final = 500_000
_GROUP_SERIES: Final = 512

_SERIES: Final = "SELECT id, twin, path FROM @series ORDER BY twin, path"
_OF_SERIES: Final = "SELECT count(*), min(day), max(day) FROM @block WHERE series = ?"
_FRESH: Final = "SELECT min(earliest), max(latest) FROM @fresh"

Named = tuple[int, str, str]
"""The id of a series, its twin and its path."""


def walk_parts(session: TableSession, most: int) -> Iterator[SeriesPart]:
    """Yield all points by twin, path and time, `most` at once, fewer at the end of a series."""
    ((earliest, latest),) = session.read(_FRESH)
    bounds = [] if earliest is None else [earliest, latest]
    group: list[Named] = []
    points = 0
    for series, twin, path in session.iterate(_SERIES):
        named = series, twin, path
        ((count, first, last),) = session.read(_OF_SERIES, (series,))
        if group and (points + count * BLOCK_POINTS > _GROUP_POINTS or len(group) >= _GROUP_SERIES):
            yield from _walk_group(session, group, bounds, most)
            group, points = [], 0
            bounds = [] if earliest is None else [earliest, latest]
        group.append(named)
        points += count * BLOCK_POINTS
        bounds += [] if first is None else [first * DAY, (last + 1) * DAY - 1]
    yield from _walk_group(session, group, bounds, most)


def _walk_group(
    session: TableSession, group: Sequence[Named], bounds: Sequence[int], most: int
) -> Iterator[SeriesPart]:
    if not group or not bounds:
        return
    ids = sorted(series for series, _, _ in group)
    pieces = read_pieces(session, ids, min(bounds), max(bounds) + 1)
    if len(group) == 1:  # it may have any number of points
        yield from _cut(group[0], pieces, most)
        return
    found: dict[int, list[Columns]] = {}
    for piece in pieces:
        lows, highs = (np.searchsorted(piece.series, ids, side).tolist() for side in _SIDES)
        for series, low, high in zip(ids, lows, highs, strict=True):
            if low < high:
                found.setdefault(series, []).append(piece.take(slice(low, high)))
    for named in group:
        yield from _cut(named, found.pop(named[0], ()), most)


_SIDES: Final = ("left", "right")


def _cut(named: Named, pieces: Iterable[Columns], most: int) -> Iterator[SeriesPart]:
    _, twin, path = named
    times: list[int] = []
    values: list[PointValue | None] = []
    for piece in pieces:
        start = 0
        while start < len(piece.times):
            rows = np.arange(start, min(start + most - len(times), len(piece.times)))
            times += piece.times[rows].tolist()
            values += piece.take_values(rows)
            start += len(rows)
            if len(times) == most:
                yield SeriesPart(twin, path, times, values)
                times, values = [], []
    if times:
        yield SeriesPart(twin, path, times, values)
