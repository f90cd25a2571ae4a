"""What was written lately: rows of points of many series, in the order in which they came."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from secrets import randbits
from typing import Final

import numpy as np

from twinframe.storage.tables import TableSession
from twinframe_points.columns import Columns, pack_columns, unpack_columns

PART_POINTS: Final = 4096
"""Most points of a row, which is read as a whole for each of its series."""

_PARTS: Final = 1 << 16
"""Ids of one rank: more than it has rows."""

_INSERT: Final = (
    "INSERT INTO @fresh (id, stamp, made, points, first, last, earliest, latest, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_NEWEST: Final = "SELECT coalesce(max(id), 0) FROM @fresh"
_ROWS: Final = "SELECT id, stamp, made, points FROM @fresh ORDER BY id"
_BODIES: Final = "SELECT body FROM @fresh WHERE id BETWEEN ? AND ? ORDER BY id"
_OVERLAPPING: Final = (
    "SELECT id, first, last FROM @fresh "
    "WHERE last >= ? AND first <= ? AND latest >= ? AND earliest < ? ORDER BY id"
)
_BODY: Final = "SELECT body FROM @fresh WHERE id = ?"
_STAMP: Final = "SELECT stamp FROM @fresh WHERE id = ?"
_DELETE: Final = "DELETE FROM @fresh WHERE id = ?"


@dataclass(frozen=True, slots=True)
class FreshRow:
    """A row without its points.

    Rows of one rank were written together. `stamp` tells rows of equal ids apart; `made` are
    seconds since 1970.
    """

    id: int
    stamp: int
    made: int
    points: int

    @property
    def rank(self) -> int:
        """Greater ones are newer."""
        return self.id // _PARTS


def insert_fresh(session: TableSession, columns: Columns, made: int, rank: int = 0) -> None:
    """Insert points that are by series and time, each once; without a rank they are the newest."""
    if not rank:
        ((newest,),) = session.read(_NEWEST)
        rank = newest // _PARTS + 1
    session.run_each(_INSERT, _build_rows(columns, made, rank))


def _build_rows(columns: Columns, made: int, rank: int) -> Iterator[tuple[object, ...]]:
    for row, part in enumerate(_split(columns), start=rank * _PARTS):
        series, times = part.series, part.times
        bounds = int(series[0]), int(series[-1]), int(times.min()), int(times.max())
        body = pack_columns(part, with_series=True)
        yield row, randbits(63), made, len(times), *bounds, body


def list_fresh(session: TableSession) -> list[FreshRow]:
    """Return all rows, older ones first."""
    return [FreshRow(*row) for row in session.read(_ROWS)]


def read_fresh(session: TableSession, first: FreshRow, last: FreshRow) -> list[Columns]:
    """Return the points of these rows and of those between them, older ones first."""
    return [unpack_columns(body) for (body,) in session.read(_BODIES, (first.id, last.id))]


def has_fresh(session: TableSession, rows: Sequence[FreshRow]) -> bool:
    """Return whether all these rows are still there."""
    found = session.read_each(_STAMP, ((row.id,) for row in rows))
    return all(some == [(row.stamp,)] for row, some in zip(rows, found, strict=True))


def delete_fresh(session: TableSession, rows: Sequence[FreshRow]) -> None:
    """Delete these rows."""
    session.run_each(_DELETE, ((row.id,) for row in rows))


def find_fresh(
    session: TableSession, ids: Sequence[int], start: int, end: int
) -> Iterator[Columns]:
    """Yield points of these series, whose ids are in order, between two times; older rows first.

    PERF: the beginnings of all rows are read, of which upkeep leaves some hundreds at most.
    """
    bounds = ids[0], ids[-1], start, end
    found: list[tuple[int]] = []
    for row, first, last in session.read(_OVERLAPPING, bounds):
        at = bisect_left(ids, first)
        if at < len(ids) and ids[at] <= last:
            found.append((row,))
    for ((body,),) in session.read_each(_BODY, found):
        columns = unpack_columns(body)
        if len(ids) == 1:
            low, high = np.searchsorted(columns.series, (ids[0], ids[0] + 1)).tolist()
            yield columns.take(slice(low, high))
        else:
            yield columns.take(np.isin(columns.series, ids))


def _split(columns: Columns) -> Iterator[Columns]:
    count = len(columns.times)
    for start in range(0, count, PART_POINTS):
        yield columns.take(slice(start, start + PART_POINTS))
