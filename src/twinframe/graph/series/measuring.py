"""Points of a series as they are answered, and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from twinframe.storage.points import PointValue

Point = tuple[int, PointValue | None]
"""A time, or when a value began to hold, in microseconds, and the value; None where a property was
removed.
"""

_BYTES: Final = 64
"""About the bytes of a point in an answer, beside its text."""


def measure_point(point: Point) -> int:
    """Return the size of a point."""
    return _BYTES + (len(point[1]) if isinstance(point[1], str) else 0)


class PointColumns(NamedTuple):
    """Points as columns, which take less time where there are many."""

    times: Sequence[int]
    values: Sequence[PointValue | None]


NO_POINTS: Final = PointColumns((), ())


def build_columns(points: Sequence[Point]) -> PointColumns:
    """Build the columns of points."""
    return PointColumns([time for time, _ in points], [value for _, value in points])


def measure_columns(points: PointColumns, least: int = _BYTES) -> int:
    """Return the size of points, each of which has `least` bytes beside its text."""
    size = least * len(points.times)
    if str in set(map(type, points.values)):
        size += sum(len(value) for value in points.values if isinstance(value, str))
    return size
