"""The port of point stores, which keep values of twins over time beside a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from twinframe.errors import LimitExceeded

PointValue: TypeAlias = float | bool | str
"""A number (an IEEE double; integers are given and returned as such), a boolean or a text."""

SeriesKey: TypeAlias = tuple[str, str]
"""A twin's id, and a path: names joined by `/`, in which `~1` is `/` and `~0` is `~`."""

AGGREGATES: Final = ("avg", "count", "first", "last", "max", "min", "sum")
"""What can be asked of the points of a bucket.

`avg`, `max`, `min` and `sum` are of its numbers alone, and None where it has none; `sum` is then 0.
"""

BEGINNING: Final = -(2**62)
"""A time before that of any point."""

MICROSECONDS: Final = 1_000_000
"""Microseconds of a second."""


@dataclass(frozen=True, slots=True)
class Points:
    """Points as columns of equal length, in the order in which they were given.

    `times` are microseconds since 1970-01-01T00:00Z, by the clock of the source.
    """

    twins: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    values: list[PointValue] = field(default_factory=list)

    def add(self, twin: str, path: str, time: int, value: PointValue) -> None:
        """Append a point."""
        self.twins.append(twin)
        self.paths.append(path)
        self.times.append(time)
        self.values.append(value)

    def extend(self, points: Points) -> None:
        """Append points."""
        self.twins.extend(points.twins)
        self.paths.extend(points.paths)
        self.times.extend(points.times)
        self.values.extend(points.values)

    def cut(self, start: int, end: int) -> Points:
        """Return the points from one position up to, without, another."""
        if start == 0 and end >= len(self.times):
            return self
        cut = slice(start, end)
        return Points(self.twins[cut], self.paths[cut], self.times[cut], self.values[cut])


@dataclass(frozen=True, slots=True)
class Window:
    """The time from `start`, included, to `end`, excluded, in buckets of `every` microseconds.

    The last bucket may be shorter.
    """

    start: int
    end: int
    every: int

    @property
    def count(self) -> int:
        """The number of buckets."""
        return max(-(-(self.end - self.start) // self.every), 0)


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of one series that have points: when each starts, and a column an aggregate."""

    starts: Sequence[int]
    columns: Sequence[Sequence[PointValue | None]]


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """Some points of one series, by time."""

    twin: str
    path: str
    times: Sequence[int]
    values: Sequence[PointValue | None]


@dataclass(frozen=True, slots=True)
class PointFigures:
    """How much a store has: `bytes` on disk, `blocks`, and what waits for upkeep.

    `waiting` are points that upkeep has still to store for long, the oldest for `lag` seconds.
    """

    bytes: int = 0
    blocks: int = 0
    waiting: int = 0
    lag: float = 0.0


def build_room_error(room: int) -> LimitExceeded:
    """Build the error of series whose texts have more than `room` bytes."""
    return LimitExceeded(
        f"The values of the series have more than {room} bytes (Query__MaxBytes). Ask for a longer "
        "step of time, for less time, or for fewer twins."
    )


class PointStore(ABC):
    """The points of one graph. Calls may block, and may come from several threads.

    A point is kept once by twin, path and time: the value that was written last counts, and of one
    call the last one. It opens itself when it is first used, in the process that uses it.
    """

    @abstractmethod
    def find_first_kept(self) -> int:
        """Return the time before which points are removed by their age, so are not to be written.

        It is in microseconds, and before all points where no age is too old.
        """

    @abstractmethod
    def limit_bytes(self, most: int | None) -> None:
        """Keep at most so many bytes from now on, where the settings allow more; None: no limit."""

    @abstractmethod
    def write(self, points: Points) -> None:
        """Store all points or none; they are on stable storage when it returns.

        Raises `StorageError`.
        """

    @abstractmethod
    def list_paths(self, twin: str) -> Sequence[str]:
        """Return the paths at which a twin has or had points."""

    @abstractmethod
    def read_points(
        self, key: SeriesKey, start: int, end: int, limit: int, room: int | None = None
    ) -> Sequence[tuple[int, PointValue]]:
        """Return the first `limit` points from `start`, included, to `end`, excluded, by time.

        They end behind the one with which their texts have more than `room` bytes, two at least.
        """

    @abstractmethod
    def read_buckets(
        self,
        keys: Sequence[SeriesKey],
        window: Window,
        aggregates: Sequence[str],
        room: int | None = None,
    ) -> Sequence[Buckets]:
        """Return the aggregates of these series, in one state of the store, in the order of `keys`.

        `aggregates` are of `AGGREGATES`. Raises `LimitExceeded` when their texts have more than
        `room` bytes.
        """

    @abstractmethod
    def read_last(
        self, keys: Sequence[SeriesKey], moment: int
    ) -> Sequence[tuple[int, PointValue] | None]:
        """Return the last point of each series at or before a moment, None where there is none."""

    @abstractmethod
    def walk(self, most: int) -> Iterator[SeriesPart]:
        """Yield all points in one state of the store, by twin, path and time.

        Each part but the last of a series has `most` points: equal points are in equal parts.
        """

    @abstractmethod
    def read_figures(self) -> PointFigures:
        """Return how much there is. It may take as long as a read."""

    @abstractmethod
    def measure(self) -> int:
        """Return the bytes on disk. Fast, and without waiting."""

    @abstractmethod
    def back_up(self, target: Path) -> None:
        """Write the points as of one moment to the new file `target`, while writes go on.

        When the file has its name, it is sealed (`storage.backups`), complete and durable.
        """

    @abstractmethod
    def restore(self, source: Path, timeout: float) -> None:
        """Replace all points by those of a backup.

        Raises `StorageBusy` when the points are not closed everywhere within `timeout` seconds,
        and `StorageDamaged` for a backup that cannot be trusted, which changes nothing.
        Interrupted at any point, it leaves the old points or the new ones.
        """

    @abstractmethod
    def verify(self) -> Sequence[str]:
        """Check all that is stored; return what is wrong."""

    @abstractmethod
    def is_upkeep_due(self) -> bool:
        """Return whether `run_upkeep` has something to do. Cheap: it is asked each second."""

    @abstractmethod
    def run_upkeep(self) -> bool:
        """Do a bounded part of what keeps the points small and readable, and removes old ones.

        Return whether there is more. Readers see no difference, and writers go on beside it. It may
        be called in several processes, and be killed at any point.
        """

    @abstractmethod
    def close(self) -> None:
        """Release everything. No call is running."""
