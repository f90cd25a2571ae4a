"""Retention: the oldest days are removed, by age and by bytes."""

from __future__ import annotations

from typing import Final

import apsw

from twinframe.storage.points import BEGINNING
from twinframe_points.blocks import DAY
from twinframe_points.settings import PointsSettings
from twinframe_points.transactions import Writes

_AT_ONCE: Final = 500
"""Blocks that are removed in one transaction."""

_FIRST_DAY: Final = "SELECT min(day) FROM block"
_OF_DAY: Final = "SELECT id, series FROM block WHERE day = ? LIMIT ?"
_DELETE_BLOCK: Final = "DELETE FROM block WHERE id = ?"
_DELETE_SERIES: Final = (
    "DELETE FROM series WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM block WHERE series = ?1) "
    "AND NOT EXISTS (SELECT 1 FROM fresh WHERE first <= ?1 AND last >= ?1)"
)
_FORGET: Final = "UPDATE meta SET value = value + 1 WHERE key = 'forgotten'"


def find_first_day(settings: PointsSettings, now: int) -> int:
    """Return the first day that is not too old. `now` are seconds since 1970."""
    return now // 86_400 - settings.keep_days if settings.keep_days else BEGINNING // DAY


def find_expired_day(connection: apsw.Connection, settings: PointsSettings, now: int) -> int | None:
    """Return the oldest day, if its points are to be removed. `now` are seconds since 1970."""
    first: int | None = connection.execute(_FIRST_DAY).get
    if first is None:
        return None
    is_old = first < find_first_day(settings, now)
    is_large = settings.keep_bytes > 0 and measure_used(connection) > settings.keep_bytes
    return first if is_old or is_large else None


def measure_used(connection: apsw.Connection) -> int:
    """Return the bytes of the file's pages that are in use."""
    count, free = (connection.pragma(name) for name in ("page_count", "freelist_count"))
    size: int = connection.pragma("page_size") * (count - free)
    return size


def remove_part(writes: Writes, day: int) -> None:
    """Remove some blocks of a day, and series that have no points any more."""
    with writes.transaction() as connection:
        blocks = connection.execute(_OF_DAY, (day, _AT_ONCE)).fetchall()
        is_forgotten = False
        for block, series in blocks:
            connection.execute(_DELETE_BLOCK, (block,)).fetchall()
            connection.execute(_DELETE_SERIES, (series,)).fetchall()
            is_forgotten |= connection.changes() > 0
        if is_forgotten:
            connection.execute(_FORGET).fetchall()
