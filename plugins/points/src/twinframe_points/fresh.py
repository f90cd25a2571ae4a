"""What was written lately: rows of points of many series, in the order in which they came."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import apsw
import numpy as np

from twinframe_points.columns import Columns, pack_columns, unpack_columns

PART_POINTS: Final = 4096
"""Most points of a row, which is read as a whole for each of its series."""

_PARTS: Final = 1 << 16
"""Ids of one rank: more than it has rows."""

_INSERT: Final = (
    "INSERT INTO fresh (id, stamp, made, points, first, last, earliest, latest, body) "
    "VALUES (?, random(), ?, ?, ?, ?, ?, ?, ?)"
)
_NEWEST: Final = "SELECT coalesce(max(id), 0) FROM fresh"
_ROWS: Final = "SELECT id, stamp, made, points FROM fresh ORDER BY id"
_BODIES: Final = "SELECT body FROM fresh WHERE id BETWEEN ? AND ? ORDER BY id"
_OVERLAPPING: Final = (
    "SELECT id, first, last FROM fresh "
    "WHERE last >= ? AND first <= ? AND latest >= ? AND earliest < ? ORDER BY id"
)
_BODY: Final = "SELECT body FROM fresh WHERE id = ?"
_STAMP: Final = "SELECT stamp FROM fresh WHERE id = ?"
_DELETE: Final = "DELETE FROM fresh WHERE id = ?"


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


def insert_fresh(connection: apsw.Connection, columns: Columns, made: int, rank: int = 0) -> None:
    """Insert points that are by series and time, each once; without a rank they are the newest."""
    row = (rank or connection.execute(_NEWEST).get // _PARTS + 1) * _PARTS
    for part in _split(columns):
        series, times = part.series, part.times
        bounds = int(series[0]), int(series[-1]), int(times.min()), int(times.max())
        body = pack_columns(part, with_series=True)
        connection.execute(_INSERT, (row, made, len(times), *bounds, body)).fetchall()
        row += 1


def list_fresh(connection: apsw.Connection) -> list[FreshRow]:
    """Return all rows, older ones first."""
    return [FreshRow(*row) for row in connection.execute(_ROWS)]


def read_fresh(connection: apsw.Connection, first: FreshRow, last: FreshRow) -> list[Columns]:
    """Return the points of these rows and of those between them, older ones first."""
    return [unpack_columns(body) for (body,) in connection.execute(_BODIES, (first.id, last.id))]


def has_fresh(connection: apsw.Connection, rows: Sequence[FreshRow]) -> bool:
    """Return whether all these rows are still there."""
    return all(connection.execute(_STAMP, (row.id,)).get == row.stamp for row in rows)


def delete_fresh(connection: apsw.Connection, rows: Sequence[FreshRow]) -> None:
    """Delete these rows."""
    connection.executemany(_DELETE, [(row.id,) for row in rows]).fetchall()


def find_fresh(
    connection: apsw.Connection, ids: Sequence[int], start: int, end: int
) -> Iterator[Columns]:
    """Yield points of these series, whose ids are in order, between two times; older rows first.

    PERF: SQLite reads the beginnings of all rows, of which upkeep leaves some hundreds at most.
    """
    bounds = ids[0], ids[-1], start, end
    found: list[Any] = connection.execute(_OVERLAPPING, bounds).fetchall()
    for row, first, last in found:
        at = bisect_left(ids, first)
        if at < len(ids) and ids[at] <= last:
            columns = unpack_columns(connection.execute(_BODY, (row,)).get)
            if len(ids) == 1:
                low, high = np.searchsorted(columns.series, (ids[0], ids[0] + 1)).tolist()
                yield columns.take(slice(low, high))
            else:
                yield columns.take(np.isin(columns.series, ids))


def _split(columns: Columns) -> Iterator[Columns]:
    count = len(columns.times)
    for start in range(0, count, PART_POINTS):
        yield columns.take(slice(start, start + PART_POINTS))
