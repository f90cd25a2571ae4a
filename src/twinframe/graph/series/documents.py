"""Points and buckets of a series as objects of JSON, by time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from twinframe.graph.series.measuring import Point
from twinframe.model.moments import render_moment
from twinframe.storage.points import Buckets, PointValue

_WHOLE: Final = 2**53


def build_points(points: Sequence[Point]) -> Iterator[dict[str, Any]]:
    """Yield the `time` and `value` of each point."""
    for time, value in points:
        yield {"time": render_moment(time), "value": _shorten(value)}


def build_buckets(buckets: Buckets, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the `time` at which each bucket begins, and its aggregates by these names."""
    for start, *values in zip(buckets.starts, *buckets.columns, strict=True):
        shown = map(_shorten, values)
        yield {"time": render_moment(start), **dict(zip(names, shown, strict=True))}


def _shorten(value: PointValue | None) -> PointValue | None:
    """Return a whole number as an integer: points are doubles, and `21` was sent as 21."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _WHOLE:
        return int(value)
    return value
