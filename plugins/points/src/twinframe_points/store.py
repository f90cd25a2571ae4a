"""The point store of one graph: writes, reads and upkeep over its tables."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from twinframe.errors import StorageDamaged, Unsupported
from twinframe.storage.points import (
    Buckets,
    PointFigures,
    Points,
    PointStore,
    PointValue,
    SeriesKey,
    SeriesPart,
    Window,
)
from twinframe.storage.tables import Tables, TableSession
from twinframe_points.aggregating import BucketTable
from twinframe_points.blocks import DAY
from twinframe_points.columns import build_columns, merge_columns
from twinframe_points.compaction import (
    Overtaken,
    Rank,
    drain_ranks,
    find_drained,
    find_joined,
    join_ranks,
    list_ranks,
)
from twinframe_points.copies import replace_file, write_backup
from twinframe_points.file import PointsFile
from twinframe_points.fresh import insert_fresh
from twinframe_points.keeper import Keeper
from twinframe_points.names import SeriesIds
from twinframe_points.reading import find_positions, read_first, read_latest, read_pieces
from twinframe_points.retention import find_expired_day, find_first_day, remove_part
from twinframe_points.settings import PointsSettings
from twinframe_points.verifying import find_faults
from twinframe_points.walking import walk_parts

_PATHS: Final = "SELECT path FROM @series WHERE twin = ? ORDER BY path"
_FIGURES: Final = (
    "SELECT (SELECT count(*) FROM @block), "
    "CAST(coalesce(sum(points), 0) AS bigint), min(made) FROM @fresh"
)
_USED: Final = "SELECT value FROM @meta WHERE key = 'bytes'"
_BACKED_UP: Final = "The points are in the database of the graph: back that up, and restore it."
_MANY: Final = 50_000
"""Points of a part of the upkeep that is done elsewhere: some 0.3 s."""
_LOOK_SECONDS: Final = 60.0
"""How often upkeep is due where nothing was written here: for what others wrote, and for age."""


class BlockPointStore(PointStore):
    """Points in tables of a database, shared by any number of processes."""

    def __init__(
        self,
        tables: Tables,
        settings: PointsSettings,
        clock: Callable[[], float],
        keeper: Keeper | None = None,
    ) -> None:
        """`keeper` does the upkeep of many points elsewhere."""
        self._tables = tables
        self._keeper = keeper
        self._settings = self._own_settings = settings
        self._clock = clock
        self._ids = SeriesIds()
        self._writing, self._keeping = threading.Lock(), threading.Lock()
        self._is_due = True
        self._looked = 0.0

    def find_first_kept(self) -> int:
        """Return the beginning of the first day that is not too old."""
        return find_first_day(self._settings, int(self._clock())) * DAY

    def limit_bytes(self, most: int | None) -> None:
        """Let upkeep remove the oldest days beyond so many bytes."""
        limits = [one for one in (self._own_settings.keep_bytes,) if one]
        limits += [] if most is None else [max(most, 1)]
        self._settings = self._own_settings.model_copy(
            update={"keep_bytes": min(limits, default=0)}
        )

    # --- writing --------------------------------------------------------------------------------

    def write(self, points: Points) -> None:
        """Store all points or none; they are on stable storage when it returns."""
        if not points.times:
            return
        with self._writing:
            try:
                with self._tables.writing() as session:
                    keys = list(zip(points.twins, points.paths, strict=True))
                    series = self._ids.find(session, keys)
                    columns = merge_columns([build_columns(series, points.times, points.values)])
                    insert_fresh(session, columns, int(self._clock()))
            except BaseException:
                self._ids.forget()
                raise
        self._is_due = True

    # --- reading --------------------------------------------------------------------------------

    def list_paths(self, twin: str) -> Sequence[str]:
        """Return the paths at which a twin has or had points."""
        with self._tables.reading() as session:
            return [path for (path,) in session.read(_PATHS, (twin,))]

    def read_points(
        self, key: SeriesKey, start: int, end: int, limit: int, room: int | None = None
    ) -> Sequence[tuple[int, PointValue]]:
        """Return the first `limit` points from `start`, included, to `end`, excluded, by time."""
        with self._tables.reading() as session:
            for series in find_positions(session, [key]):
                return read_first(session, series, start, end, limit, room)
        return []

    def read_buckets(
        self,
        keys: Sequence[SeriesKey],
        window: Window,
        aggregates: Sequence[str],
        room: int | None = None,
    ) -> Sequence[Buckets]:
        """Return the aggregates of these series, in the order of `keys`."""
        found = [Buckets((), [() for _ in aggregates])] * len(keys)
        with self._tables.reading() as session:
            ids = find_positions(session, keys)
            table = BucketTable(list(ids), window, aggregates, room)
            for piece in read_pieces(session, list(ids), window.start, window.end):
                table.add(piece)
        for buckets, positions in zip(table.build(), ids.values(), strict=True):
            for position in positions:
                found[position] = buckets
        return found

    def read_last(
        self, keys: Sequence[SeriesKey], moment: int
    ) -> Sequence[tuple[int, PointValue] | None]:
        """Return the last point of each series at or before a moment, None where there is none."""
        found: list[tuple[int, PointValue] | None] = [None] * len(keys)
        with self._tables.reading() as session:
            ids = find_positions(session, keys)
            for series, point in read_latest(session, list(ids), moment).items():
                for position in ids[series]:
                    found[position] = point
        return found

    def walk(self, most: int) -> Iterator[SeriesPart]:
        """Yield all points in one state of the tables, by twin, path and time."""
        with self._tables.reading(long=True) as session:
            yield from walk_parts(session, most)

    def read_figures(self) -> PointFigures:
        """Return how much there is. It counts all blocks."""
        if not self._tables.exists():
            return PointFigures()
        with self._tables.reading() as session:
            ((blocks, waiting, made),) = session.read(_FIGURES)
        lag = 0.0 if made is None else max(self._clock() - made, 0.0)
        return PointFigures(self._tables.measure(), blocks, waiting, lag)

    def measure(self) -> int:
        """Return the bytes on disk."""
        return self._tables.measure()

    @abstractmethod
    def measure_used(self, session: TableSession) -> int:
        """Return the bytes that points take, without room that was freed."""

    # --- upkeep ---------------------------------------------------------------------------------

    def is_upkeep_due(self) -> bool:
        """Return whether something was written here, or some time has passed."""
        if time.monotonic() - self._looked >= _LOOK_SECONDS:
            self._is_due = True
        return self._is_due

    def run_upkeep(self) -> bool:
        """Join fresh rows, make blocks of them, or remove part of an old day."""
        with self._keeping, suppress(Overtaken):
            # NOTE: set before the look, so that a write meanwhile sets it again.
            self._is_due = False
            self._looked = time.monotonic()
            if not self._tables.exists():  # a graph without points
                return False
            self._is_due = self._keep_up()
        return self._is_due

    def _keep_up(self) -> bool:
        now = int(self._clock())
        with self._tables.reading() as session:
            ranks = list_ranks(session)
            drained = find_drained(session, ranks, now)
            joined = find_joined(ranks)
            day = (
                None
                if drained
                else find_expired_day(session, self._settings, now, self.measure_used)
            )
        if self._keeper is not None and _count_points(drained or joined) >= _MANY:
            return self._keeper.run()
        if drained:
            drain_ranks(self._tables, drained)
        elif joined:
            join_ranks(self._tables, joined)
        elif day is not None:
            remove_part(self._tables, day)
        else:
            if self._keeper is not None:
                self._keeper.end()
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        if self._keeper is not None:
            self._keeper.end()
        self._ids.forget()
        self._tables.close()


class FilePointStore(BlockPointStore):
    """Points in `<directory>/points.db`."""

    def __init__(
        self,
        directory: Path,
        settings: PointsSettings,
        clock: Callable[[], float] = time.time,
        keeper: Keeper | None = None,
    ) -> None:
        """`keeper` does the upkeep of many points elsewhere."""
        self._file = PointsFile(directory, settings)
        super().__init__(self._file, settings, clock, keeper)

    def measure_used(self, session: TableSession) -> int:
        """Return the bytes of the file's pages that are in use."""
        del session
        return self._file.measure_used()

    def back_up(self, target: Path) -> None:
        """Copy the file by SQLite in one step, without blocking others."""
        connection = self._file.open()
        try:
            write_backup(connection, target)
        finally:
            connection.close(force=True)

    def restore(self, source: Path, timeout: float) -> None:
        """Check a copy of the backup beside the file, then swap the two."""
        self.close()
        with self._file.alone(timeout):
            replace_file(self._file.path, source)

    def verify(self) -> Sequence[str]:
        """Check all pages, blocks and fresh rows."""
        if not self._file.exists():
            return ()
        try:
            return self._file.find_faults()
        except StorageDamaged as error:
            return [error.message]


class DatabasePointStore(BlockPointStore):
    """Points in tables beside those of the graph, in its database."""

    def measure_used(self, session: TableSession) -> int:
        """Return the bytes of blocks, as writers have counted them: deleted rows leave room."""
        ((size,),) = session.read(_USED)
        return int(size)

    def back_up(self, target: Path) -> None:
        """Refuse it: backups are those of the database."""
        raise Unsupported(_BACKED_UP)

    def restore(self, source: Path, timeout: float) -> None:
        """Refuse it, as `back_up`."""
        raise Unsupported(_BACKED_UP)

    def verify(self) -> Sequence[str]:
        """Check all blocks and fresh rows."""
        if not self._tables.exists():
            return ()
        with self._tables.reading() as session:
            return find_faults(session)


def _count_points(ranks: Sequence[Rank]) -> int:
    return sum(rank.points for rank in ranks)
