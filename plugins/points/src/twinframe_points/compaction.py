"""Compaction: fresh rows are joined, and their points become blocks, in short transactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

import numpy as np

from twinframe.storage.tables import Tables, TableSession
from twinframe_points.blocks import (
    BLOCK_POINTS,
    DAY,
    NewBlock,
    build_blocks,
    delete_blocks,
    insert_blocks,
    list_day_blocks,
    read_block,
)
from twinframe_points.columns import Columns, merge_columns
from twinframe_points.fresh import (
    FreshRow,
    delete_fresh,
    has_fresh,
    insert_fresh,
    list_fresh,
    read_fresh,
)

DRAIN_POINTS: Final = 500_000
"""Fresh points that are made blocks, and about the most that are in memory for it."""
_DRAIN_PER_SERIES: Final = 64
"""Fresh points a series that are enough, where there are few series."""
_DRAIN_SECONDS: Final = 600
"""Age at which fresh points are made blocks, however few they are."""
_JOINED: Final = 16
"""Ranks that are joined to one."""
_MOST_RANKS: Final = 4096
_GROUP_SERIES: Final = 128
"""Series whose blocks are written in one transaction: a megabyte, some milliseconds."""
_MERGED: Final = 16
"""Most blocks that are written anew for what is new of one series and day."""

_COUNT_SERIES: Final = "SELECT count(*) FROM @series"


class Overtaken(Exception):
    """Another process changed what this one was about to replace; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Rank:
    """What was written together, or joined."""

    rank: int
    made: int
    points: int
    rows: tuple[FreshRow, ...]


def list_ranks(session: TableSession) -> list[Rank]:
    """Return all ranks, older ones first."""
    return [
        _build_rank(rank, tuple(rows))
        for rank, rows in groupby(list_fresh(session), lambda row: row.rank)
    ]


def _build_rank(rank: int, rows: tuple[FreshRow, ...]) -> Rank:
    made, points = min(row.made for row in rows), sum(row.points for row in rows)
    return Rank(rank, made, points, rows)


def find_drained(session: TableSession, ranks: Sequence[Rank], now: int) -> Sequence[Rank]:
    """Return the oldest ranks, if their points are to become blocks; else none."""
    points = sum(rank.points for rank in ranks)
    is_due = points >= DRAIN_POINTS or any(now - rank.made >= _DRAIN_SECONDS for rank in ranks)
    if not is_due and points >= _DRAIN_PER_SERIES:
        ((series,),) = session.read(_COUNT_SERIES)
        is_due = points >= _DRAIN_PER_SERIES * series
    if not is_due:
        return ()
    found: list[Rank] = []
    points = 0
    for rank in ranks:
        if found and (points + rank.points > DRAIN_POINTS or len(found) == _MOST_RANKS):
            break
        found.append(rank)
        points += rank.points
    return found


def find_joined(ranks: Sequence[Rank]) -> Sequence[Rank]:
    """Return the newest ranks, as many as are to become one; else none.

    Each is at most twice as large as all newer ones together, so that a point is rewritten a
    few times only.
    """
    found: list[Rank] = []
    points = 0
    for rank in reversed(ranks):
        if len(found) >= _JOINED and rank.points > 2 * points:
            break
        if points + rank.points > DRAIN_POINTS or len(found) == _MOST_RANKS:
            break
        found.append(rank)
        points += rank.points
    if len(found) < _JOINED or points == found[-1].points:
        return ()
    return found[::-1]


def join_ranks(tables: Tables, ranks: Sequence[Rank]) -> None:
    """Make one rank of several that follow each other. Raises `Overtaken`."""
    rows = _list_rows(ranks)
    with tables.reading() as session:
        merged = merge_columns(read_fresh(session, rows[0], rows[-1]))
    with tables.writing(durable=False) as session:
        _check_there(session, rows)
        delete_fresh(session, rows)
        insert_fresh(session, merged, min(rank.made for rank in ranks), ranks[-1].rank)


def drain_ranks(tables: Tables, ranks: Sequence[Rank]) -> None:
    """Make blocks of the points of the oldest ranks, then delete these. Raises `Overtaken`.

    Meanwhile points may be there twice: as what is fresh overrides blocks, readers see no
    difference. Killed or overtaken, it leaves such a state, from which the next one goes on.
    """
    rows = _list_rows(ranks)
    with tables.reading() as session:
        drained = merge_columns(read_fresh(session, rows[0], rows[-1]))
    if not len(drained.times):  # another process has drained them since they were listed
        raise Overtaken
    for group in _split_groups(drained):
        _write_group(tables, rows, group)
    with tables.writing(durable=False) as session:
        _check_there(session, rows)
        delete_fresh(session, rows)


def _list_rows(ranks: Sequence[Rank]) -> list[FreshRow]:
    return [row for rank in ranks for row in rank.rows]


def _write_group(tables: Tables, sources: Sequence[FreshRow], group: Sequence[Columns]) -> None:
    replaced: list[int] = []
    rows: list[NewBlock] = []
    with tables.reading() as session:
        for part in group:
            merged = [part]
            for block in _find_merged(session, part):
                replaced.append(block)
                merged.insert(0, read_block(session, block, int(part.series[0])))
            rows += build_blocks(merge_columns(merged))
    with tables.writing(durable=False) as session:
        _check_there(session, sources)
        if not delete_blocks(session, replaced):
            raise Overtaken
        insert_blocks(session, rows)


def _find_merged(session: TableSession, part: Columns) -> Iterator[int]:
    """Yield the blocks that are written anew with these points, newest first.

    They are the one that is not full, and those with points of the same time. NOTE: only one after
    another: an older block may not become newer than one that overrides it.
    """
    earliest, latest = int(part.times[0]), int(part.times[-1])
    blocks = list_day_blocks(session, int(part.series[0]), earliest // DAY)
    for block in blocks[:_MERGED]:
        is_apart = block.latest < earliest or block.earliest > latest
        if block.points >= BLOCK_POINTS and is_apart:
            return
        yield block.id


def _check_there(session: TableSession, rows: Sequence[FreshRow]) -> None:
    if not has_fresh(session, rows):
        raise Overtaken


def _split_groups(columns: Columns) -> Iterator[list[Columns]]:
    """Yield the points of each series and day, in groups that are written together."""
    days = columns.times // DAY
    changes = np.flatnonzero((np.diff(columns.series) != 0) | (np.diff(days) != 0)) + 1
    bounds = [0, *changes.tolist(), len(days)]
    parts = [columns.take(slice(low, high)) for low, high in pairwise(bounds)]
    for start in range(0, len(parts), _GROUP_SERIES):
        yield parts[start : start + _GROUP_SERIES]
