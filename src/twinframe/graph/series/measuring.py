"""Points of a series as they are answered, and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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


def measure_points(points: Sequence[Point], least: int = _BYTES) -> int:
    """Return the size of points, each of which has `least` bytes beside its text."""
    texts = [value for _, value in points if isinstance(value, str)]
    return least * len(points) + sum(map(len, texts))
