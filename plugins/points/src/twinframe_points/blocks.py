"""Blocks: the points of one series and one day, compressed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from twinframe.storage.points import MICROSECONDS
from twinframe.storage.tables import TableSession
from twinframe_points.columns import Columns, pack_columns, unpack_columns

DAY: Final = 86_400 * MICROSECONDS
"""Microseconds of a partition: a day in UTC."""
BLOCK_POINTS: Final = 1024
"""Points of a full block. PERF: of larger ones, a page has too few to be filled well."""

_ROW_BYTES: Final = 100
"""Of a block beside its points."""
_POINT_BYTES: Final = 26
"""Of a point as columns: texts count as so many more."""

_INSERT: Final = (
    "INSERT INTO @block (series, day, points, earliest, latest, body) VALUES (?, ?, ?, ?, ?, ?)"
)
_OF_DAY: Final = (
    "SELECT id, points, earliest, latest FROM @block WHERE series = ? AND day = ? ORDER BY id DESC"
)
_FIND: Final = (
    "SELECT points, body FROM @block WHERE series = ? AND day BETWEEN ? AND ? AND latest >= ? "
    "AND earliest < ? ORDER BY id"
)
_BODY: Final = "SELECT body FROM @block WHERE id = ?"
_DELETE: Final = "DELETE FROM @block WHERE id = ? RETURNING length(body)"
_NOTE_BYTES: Final = "UPDATE @meta SET value = value + ? WHERE key = 'bytes'"
_DAY_BEFORE: Final = "SELECT max(day) FROM @block WHERE series = ? AND day <= ? AND earliest <= ?"
_DAY_AFTER: Final = "SELECT min(day) FROM @block WHERE series = ? AND day >= ? AND latest >= ?"


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
    session: TableSession, ids: Sequence[int], start: int, end: int, most: int
) -> Iterator[Columns]:
    """Yield the blocks that may have points of these series between two times.

    They are by series, and older ones first. Raises `TooManyPoints` beyond `most` points.
    """
    bounds = start // DAY, (end - 1) // DAY, start, end
    found = session.read_each(_FIND, ((series, *bounds) for series in ids))
    for series, rows in zip(ids, found, strict=True):
        for points, body in rows:
            most -= points
            if most < 0:
                raise TooManyPoints
            columns = unpack_columns(body, series)
            most -= sum(map(len, columns.texts)) // _POINT_BYTES
            yield columns


def find_days_before(
    session: TableSession, ids: Sequence[int], moment: int
) -> Iterator[int | None]:
    """Yield the last day up to `moment` of which each series may have points until then."""
    many = ((series, moment // DAY, moment) for series in ids)
    return (found for ((found,),) in session.read_each(_DAY_BEFORE, many))


def find_day_after(session: TableSession, series: int, moment: int) -> int | None:
    """Return the first day from `moment` on of which the series has blocks."""
    ((found,),) = session.read(_DAY_AFTER, (series, moment // DAY, moment))
    return None if found is None else int(found)


def list_day_blocks(session: TableSession, series: int, day: int) -> list[BlockRow]:
    """Return the blocks of a series and day, newest first."""
    return [BlockRow(*row) for row in session.read(_OF_DAY, (series, day))]


def read_block(session: TableSession, block: int, series: int) -> Columns:
    """Return the points of a block."""
    ((body,),) = session.read(_BODY, (block,))
    return unpack_columns(body, series)


def insert_blocks(session: TableSession, rows: Sequence[NewBlock]) -> None:
    """Insert blocks, built by `build_blocks`."""
    session.run_each(_INSERT, rows)
    session.run(_NOTE_BYTES, (sum(len(row[-1]) + _ROW_BYTES for row in rows),))


def build_blocks(columns: Columns) -> Iterator[NewBlock]:
    """Yield the rows of points of one series and day, which are by time."""
    series, day = int(columns.series[0]), int(columns.times[0]) // DAY
    for start in range(0, len(columns.times), BLOCK_POINTS):
        part = columns.take(slice(start, start + BLOCK_POINTS))
        earliest, latest = int(part.times[0]), int(part.times[-1])
        yield series, day, len(part.times), earliest, latest, pack_columns(part)


def delete_blocks(session: TableSession, blocks: Sequence[int]) -> bool:
    """Delete blocks; False if one is gone."""
    sizes = [rows[0][0] for rows in session.read_each(_DELETE, ((one,) for one in blocks)) if rows]
    session.run(_NOTE_BYTES, (-sum(size + _ROW_BYTES for size in sizes),))
    return len(sizes) == len(blocks)
