"""Blocks: the points of one series and one day, compressed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import apsw

from twinframe.storage.points import MICROSECONDS
from twinframe_points.columns import Columns, pack_columns, unpack_columns

DAY: Final = 86_400 * MICROSECONDS
"""Microseconds of a partition: a day in UTC."""
BLOCK_POINTS: Final = 1024
"""Points of a full block. PERF: of larger ones, a page has too few to be filled well."""

_POINT_BYTES: Final = 26
"""Of a point as columns: texts count as so many more."""

_INSERT: Final = (
    "INSERT INTO block (series, day, points, earliest, latest, body) VALUES (?, ?, ?, ?, ?, ?)"
)
_OF_DAY: Final = (
    "SELECT id, points, earliest, latest FROM block WHERE series = ? AND day = ? ORDER BY id DESC"
)
_FIND: Final = (
    "SELECT points, body FROM block WHERE series = ? AND day BETWEEN ? AND ? AND latest >= ? "
    "AND earliest < ? ORDER BY id"
)
_BODY: Final = "SELECT body FROM block WHERE id = ?"
_DELETE: Final = "DELETE FROM block WHERE id = ?"
_DAY_BEFORE: Final = "SELECT max(day) FROM block WHERE series = ? AND day <= ? AND earliest <= ?"
_DAY_AFTER: Final = "SELECT min(day) FROM block WHERE series = ? AND day >= ? AND latest >= ?"


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A block without its points."""

    id: int
    points: int
    earliest: int
    latest: int


NewBlock = tuple[int, int, int, int, int, bytes]
"""A block to be inserted: series, day, points, earliest and latest time, and its points."""


class TooManyPoints(Exception):
    """More points at once than may be in memory."""


def find_blocks(
    connection: apsw.Connection, ids: Sequence[int], start: int, end: int, most: int
) -> Iterator[Columns]:
    """Yield the blocks that may have points of these series between two times.

    They are by series, and older ones first. Raises `TooManyPoints` beyond `most` points.
    """
    bounds = start // DAY, (end - 1) // DAY, start, end
    for series in ids:
        for points, body in connection.execute(_FIND, (series, *bounds)):
            most -= points
            if most < 0:
                raise TooManyPoints
            columns = unpack_columns(body, series)
            most -= sum(map(len, columns.texts)) // _POINT_BYTES
            yield columns


def find_day_before(connection: apsw.Connection, series: int, moment: int) -> int | None:
    """Return the last day up to `moment` of which the series may have points until then."""
    found: int | None = connection.execute(_DAY_BEFORE, (series, moment // DAY, moment)).get
    return found


def find_day_after(connection: apsw.Connection, series: int, moment: int) -> int | None:
    """Return the first day from `moment` on of which the series has blocks."""
    found: int | None = connection.execute(_DAY_AFTER, (series, moment // DAY, moment)).get
    return found


def list_day_blocks(connection: apsw.Connection, series: int, day: int) -> list[BlockRow]:
    """Return the blocks of a series and day, newest first."""
    return [BlockRow(*row) for row in connection.execute(_OF_DAY, (series, day))]


def read_block(connection: apsw.Connection, block: int, series: int) -> Columns:
    """Return the points of a block."""
    return unpack_columns(connection.execute(_BODY, (block,)).get, series)


def insert_blocks(connection: apsw.Connection, rows: Sequence[NewBlock]) -> None:
    """Insert blocks, built by `build_blocks`."""
    connection.executemany(_INSERT, rows).fetchall()


def build_blocks(columns: Columns) -> Iterator[NewBlock]:
    """Yield the rows of points of one series and day, which are by time."""
    series, day = int(columns.series[0]), int(columns.times[0]) // DAY
    for start in range(0, len(columns.times), BLOCK_POINTS):
        part = columns.take(slice(start, start + BLOCK_POINTS))
        earliest, latest = int(part.times[0]), int(part.times[-1])
        yield series, day, len(part.times), earliest, latest, pack_columns(part)


def delete_block(connection: apsw.Connection, block: int) -> bool:
    """Delete a block; False if it is gone."""
    connection.execute(_DELETE, (block,)).fetchall()
    return connection.changes() == 1
