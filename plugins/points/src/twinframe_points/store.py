"""The point store of one graph: writes, reads and upkeep over its file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from twinframe.errors import StorageDamaged
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
from twinframe_points.aggregating import BucketTable
from twinframe_points.blocks import DAY
from twinframe_points.columns import build_columns, merge_columns
from twinframe_points.compaction import (
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
from twinframe_points.reading import find_ids, read_first, read_latest, read_pieces
from twinframe_points.retention import find_expired_day, find_first_day, remove_part
from twinframe_points.settings import PointsSettings
from twinframe_points.transactions import Overtaken, Writes
from twinframe_points.verifying import find_faults
from twinframe_points.walking import walk_parts

_PATHS: Final = "SELECT path FROM series WHERE twin = ? ORDER BY path"
_FIGURES: Final = (
    "SELECT (SELECT count(*) FROM block), coalesce(sum(points), 0), min(made) FROM fresh"
)
_MANY: Final = 50_000
"""Points of a part of the upkeep that is done elsewhere: some 0.3 s."""
_LOOK_SECONDS: Final = 60.0
"""How often upkeep is due where nothing was written here: for what others wrote, and for age."""


class FilePointStore(PointStore):
    """Points in `<directory>/points.db`, shared by any number of processes."""

    def __init__(
        self,
        directory: Path,
        settings: PointsSettings,
        clock: Callable[[], float] = time.time,
        keeper: Keeper | None = None,
    ) -> None:
        """`keeper` does the upkeep of many points elsewhere."""
        self._keeper = keeper
        self._settings = self._own_settings = settings
        self._clock = clock
        self._file = PointsFile(directory, settings)
        self._ids = SeriesIds()
        self._writing, self._keeping, self._pooling = (threading.Lock() for _ in range(3))
        self._writes: Writes | None = None
        self._upkeep: Writes | None = None
        self._readers: list[apsw.Connection] = []
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
            if self._writes is None:
                self._writes = Writes(self._file)
            try:
                with self._writes.transaction() as connection:
                    keys = list(zip(points.twins, points.paths, strict=True))
                    series = self._ids.find(connection, keys)
                    columns = merge_columns([build_columns(series, points.times, points.values)])
                    insert_fresh(connection, columns, int(self._clock()))
            except BaseException:
                self._ids.forget()
                raise
        self._is_due = True

    # --- reading --------------------------------------------------------------------------------

    def list_paths(self, twin: str) -> Sequence[str]:
        """Return the paths at which a twin has or had points."""
        with self._reading() as connection:
            return [path for (path,) in connection.execute(_PATHS, (twin,))]

    def read_points(
        self, key: SeriesKey, start: int, end: int, limit: int, room: int | None = None
    ) -> Sequence[tuple[int, PointValue]]:
        """Return the first `limit` points from `start`, included, to `end`, excluded, by time."""
        with self._reading() as connection:
            for series in find_ids(connection, [key]):
                return read_first(connection, series, start, end, limit, room)
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
        with self._reading() as connection:
            ids = find_ids(connection, keys)
            table = BucketTable(list(ids), window, aggregates, room)
            for piece in read_pieces(connection, list(ids), window.start, window.end):
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
        with self._reading() as connection:
            ids = find_ids(connection, keys)
            for series, point in read_latest(connection, list(ids), moment):
                for position in ids[series]:
                    found[position] = point
        return found

    def walk(self, most: int) -> Iterator[SeriesPart]:
        """Yield all points in one state of the file, by twin, path and time."""
        with self._reading() as connection:
            yield from walk_parts(connection, most)

    def read_figures(self) -> PointFigures:
        """Return how much there is. It counts all blocks."""
        if not self._file.path.exists():
            return PointFigures()
        with self._reading() as connection:
            blocks, waiting, made = connection.execute(_FIGURES).get
        lag = 0.0 if made is None else max(self._clock() - made, 0.0)
        return PointFigures(self._file.measure(), blocks, waiting, lag)

    def measure(self) -> int:
        """Return the bytes of the file and its log."""
        return self._file.measure()

    # --- backups --------------------------------------------------------------------------------

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
        if not self._file.path.exists():
            return ()
        try:
            with self._reading() as connection:
                return find_faults(connection)
        except StorageDamaged as error:
            return [error.message]

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
            if self._upkeep is None:
                if not self._file.path.exists():  # a graph without points has no file
                    return False
                # PERF: a lost transaction of upkeep is made again, so it need not be synced; a
                # later one of a writer is synced with all before it.
                self._upkeep = Writes(self._file, synchronous="NORMAL")
            self._is_due = self._keep_up(self._upkeep)
        return self._is_due

    def _keep_up(self, writes: Writes) -> bool:
        now = int(self._clock())
        with writes.reading() as connection:
            ranks = list_ranks(connection)
            drained = find_drained(connection, ranks, now)
            joined = find_joined(ranks)
            day = None if drained else find_expired_day(connection, self._settings, now)
        if self._keeper is not None and _count_points(drained or joined) >= _MANY:
            return self._keeper.run()
        if drained:
            drain_ranks(writes, drained)
        elif joined:
            join_ranks(writes, joined)
        elif day is not None:
            remove_part(writes, day)
        else:
            if self._keeper is not None:
                self._keeper.end()
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        if self._keeper is not None:
            self._keeper.end()
        for writes in (self._writes, self._upkeep):
            if writes is not None:
                writes.close()
        self._writes = self._upkeep = None
        while self._readers:
            self._readers.pop().close(force=True)
        self._ids.forget()
        self._file.release()

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        """One state of the file, on a connection that no other thread uses meanwhile."""
        with self._pooling:
            connection = self._readers.pop() if self._readers else None
        connection = connection or self._file.open()
        try:
            with self._file.reading(connection):
                yield connection
        except BaseException:
            connection.close(force=True)
            raise
        with self._pooling:
            self._readers.append(connection)


def _count_points(ranks: Sequence[Rank]) -> int:
    return sum(rank.points for rank in ranks)
