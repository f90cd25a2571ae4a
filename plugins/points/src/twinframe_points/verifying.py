"""Checks of a whole file of points, which repair nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from twinframe.errors import StorageDamaged
from twinframe.storage.tables import TableSession
from twinframe_points.blocks import DAY
from twinframe_points.columns import Columns, is_ordered, unpack_columns

MOST_FAULTS: Final = 20
"""Faults that are reported."""

_ORPHANS: Final = "SELECT id, series FROM @block WHERE series NOT IN (SELECT id FROM @series)"
_BLOCKS: Final = "SELECT id, series, day, points, earliest, latest, body FROM @block"
_FRESH: Final = "SELECT id, points, first, last, earliest, latest, body FROM @fresh"
_KNOWN: Final = "SELECT 1 FROM @series WHERE id = ?"


def find_faults(session: TableSession) -> list[str]:
    """Return what is wrong with the points; nothing where they are sound."""
    return list(islice(_list_faults(session), MOST_FAULTS))


def _list_faults(session: TableSession) -> Iterator[str]:
    for block, series in session.iterate(_ORPHANS):
        yield f"Block {block} of points is of the series {series}, which is not there."
    for block, series, day, *head, body in session.iterate(_BLOCKS):
        points, earliest, latest = head
        if (columns := _unpack(body, series)) is None:
            yield f"Block {block} of points is damaged."
        elif not _fits(columns, points, earliest, latest) or not _is_of_day(columns, day):
            yield f"Block {block} of points has other points than its row says."
    for row, points, first, last, earliest, latest, body in session.iterate(_FRESH):
        if (columns := _unpack(body, 0)) is None:
            yield f"Row {row} of fresh points is damaged."
            continue
        series = columns.series
        bounds = int(series[0]), int(series[-1])
        if not _fits(columns, points, earliest, latest) or bounds != (first, last):
            yield f"Row {row} of fresh points has other points than it says."
        ids = [(one,) for one in {*series.tolist()}]
        for (one,), known in zip(ids, session.read_each(_KNOWN, ids), strict=True):
            if not known:
                yield f"Row {row} of fresh points is of the series {one}, which is not there."


def _unpack(body: bytes, series: int) -> Columns | None:
    try:
        return unpack_columns(body, series)
    except StorageDamaged:
        return None


def _fits(columns: Columns, points: int, earliest: int, latest: int) -> bool:
    times = columns.times
    if len(times) != points or not points or not is_ordered(columns):
        return False
    return (int(times.min()), int(times.max())) == (earliest, latest)


def _is_of_day(columns: Columns, day: int) -> bool:
    return int(columns.times[0]) // DAY == day == int(columns.times[-1]) // DAY
