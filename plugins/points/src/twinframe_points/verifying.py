"""Checks of a whole file of points, which repair nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import apsw

from twinframe.errors import StorageDamaged
from twinframe_points.blocks import DAY
from twinframe_points.columns import Columns, is_ordered, unpack_columns

_MOST: Final = 20
"""Faults that are reported."""

_CHECK: Final = f"PRAGMA integrity_check({_MOST})"
_ORPHANS: Final = "SELECT id, series FROM block WHERE series NOT IN (SELECT id FROM series)"
_BLOCKS: Final = "SELECT id, series, day, points, earliest, latest, body FROM block"
_FRESH: Final = "SELECT id, points, first, last, earliest, latest, body FROM fresh"
_KNOWN: Final = "SELECT 1 FROM series WHERE id = ?"


def find_faults(connection: apsw.Connection) -> list[str]:
    """Return what is wrong with the file, its pages first; nothing where it is sound."""
    pages = [text for (text,) in connection.execute(_CHECK) if text != "ok"]
    if pages:
        return [f"points: {text}" for text in pages]
    return list(islice(_list_faults(connection), _MOST))


def _list_faults(connection: apsw.Connection) -> Iterator[str]:
    for block, series in connection.execute(_ORPHANS):
        yield f"Block {block} of points is of the series {series}, which is not there."
    for block, series, day, *head, body in connection.execute(_BLOCKS):
        points, earliest, latest = head
        if (columns := _unpack(body, series)) is None:
            yield f"Block {block} of points is damaged."
        elif not _fits(columns, points, earliest, latest) or not _is_of_day(columns, day):
            yield f"Block {block} of points has other points than its row says."
    for row, points, first, last, earliest, latest, body in connection.execute(_FRESH):
        if (columns := _unpack(body, 0)) is None:
            yield f"Row {row} of fresh points is damaged."
            continue
        series = columns.series
        bounds = int(series[0]), int(series[-1])
        if not _fits(columns, points, earliest, latest) or bounds != (first, last):
            yield f"Row {row} of fresh points has other points than it says."
        for one in {*series.tolist()}:
            if connection.execute(_KNOWN, (one,)).get is None:
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
