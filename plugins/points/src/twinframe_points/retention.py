"""Retention: the oldest days are removed, by age and by bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twinframe.storage.points import BEGINNING
from twinframe.storage.tables import Tables, TableSession
from twinframe_points.blocks import DAY, delete_blocks
from twinframe_points.settings import PointsSettings

_AT_ONCE: Final = 500
"""Blocks that are removed in one transaction."""

_FIRST_DAY: Final = "SELECT min(day) FROM @block"
_OF_DAY: Final = "SELECT id, series FROM @block WHERE day = ? LIMIT ?"
_DELETE_SERIES: Final = (
    "DELETE FROM @series WHERE id = ? AND NOT EXISTS (SELECT 1 FROM @block WHERE series = ?) "
    "AND NOT EXISTS (SELECT 1 FROM @fresh WHERE first <= ? AND last >= ?) RETURNING 1"
)
_FORGET: Final = "UPDATE @meta SET value = value + 1 WHERE key = 'forgotten'"


def find_first_day(settings: PointsSettings, now: int) -> int:
    """Return the first day that is not too old. `now` are seconds since 1970."""
    return now // 86_400 - settings.keep_days if settings.keep_days else BEGINNING // DAY


def find_expired_day(
    session: TableSession,
    settings: PointsSettings,
    now: int,
    measure: Callable[[TableSession], int],
) -> int | None:
    """Return the oldest day, if its points are to be removed. `now` are seconds since 1970.

    `measure` returns the bytes that are in use.
    """
    ((first,),) = session.read(_FIRST_DAY)
    if first is None:
        return None
    is_old = first < find_first_day(settings, now)
    is_large = settings.keep_bytes > 0 and measure(session) > settings.keep_bytes
    return int(first) if is_old or is_large else None


def remove_part(tables: Tables, day: int) -> None:
    """Remove some blocks of a day, and series that have no points any more."""
    with tables.writing(durable=False) as session:
        found = session.read(_OF_DAY, (day, _AT_ONCE))
        delete_blocks(session, [block for block, _ in found])
        series = {(one,) * 4 for _, one in found}
        if any([*session.read_each(_DELETE_SERIES, series)]):
            session.run(_FORGET)
