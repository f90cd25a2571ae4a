"""Aggregates of what a property held, by steps of time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul, sub
from typing import Any, Final

from twinframe.graph.series.held import SAME, Held, is_point
from twinframe.storage.points import Buckets, PointValue, Window, build_room_error

_NUMBERS: Final = frozenset((int, float))


class Room:
    """How many bytes the texts of some series may have; `LimitExceeded` is raised for more."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, size: int) -> None:
        """Take some of it, or give it back."""
        self._left -= size
        if self._left < 0:
            raise build_room_error(self._most)


@dataclass(slots=True)
class _Bucket:
    """What held in a step of time: `weighted` is the sum of numbers times the time they held."""

    first: PointValue | None = None
    last: PointValue | None = None
    least: float | None = None
    most: float | None = None
    weighted: float = 0.0
    held: int = 0
    count: int = 0
    sum: float = 0.0

    def change(self, values: Sequence[Any]) -> None:
        """Add changes to values."""
        values = [value for value in values if is_point(value)]
        self.count += len(values)
        for value in values:
            if type(value) in _NUMBERS:
                self.sum += float(value)

    def hold(self, value: PointValue, length: int) -> None:
        """Add a value that held for some microseconds."""
        if self.first is None:
            self.first = value
        self.last = value
        if type(value) in _NUMBERS:
            self._add([value], [length])

    def hold_many(self, values: Sequence[Any], lengths: Sequence[int]) -> None:
        """Add values that held for some microseconds each."""
        if 0 in lengths or not set(map(type, values)) <= _NUMBERS:
            for value, length in zip(values, lengths, strict=True):
                if length and is_point(value):
                    self.hold(value, length)
            return
        if self.first is None:
            self.first = values[0]
        self.last = values[-1]
        self._add(values, lengths)

    def _add(self, values: Sequence[Any], lengths: Sequence[int]) -> None:
        least, most = min(values), max(values)
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)
        self.weighted += sum(map(mul, values, lengths))
        self.held += sum(lengths)

    def compute(self, aggregate: str) -> PointValue | None:
        """Return an aggregate: `count` and `sum` of the changes in it, the others of what held."""
        match aggregate:
            case "avg":
                return self._compute_average()
            case "count":
                return self.count
            case "first":
                return self.first
            case "last":
                return self.last
            case "max":
                return self.most
            case "min":
                return self.least
        return self.sum

    def _compute_average(self) -> float | None:
        if self.least is None or self.most is None:
            return None
        # NOTE: rounding must not lead out of the values; one value alone is its own average.
        return min(max(self.weighted / self.held, self.least), self.most)


class HeldBuckets:
    """The buckets of one series, to which changes are added in their order."""

    def __init__(
        self, window: Window, aggregates: Sequence[str], beginning: Any, room: Room
    ) -> None:
        """`beginning` is what held at the beginning of the window."""
        self._window = window
        self._aggregates = aggregates
        self._texts = [name for name in ("first", "last") if name in aggregates]
        self._room = room
        self._value, self._since = beginning, window.start
        self._buckets: dict[int, _Bucket] = {}

    def add(self, held: Held) -> None:
        """Add changes. PERF: those of one bucket together, 0.4 us each."""
        moments, values = held.moments, held.values
        if SAME in values:
            is_kept = [value is not SAME for value in values]
            moments = [moment for moment, kept in zip(moments, is_kept, strict=True) if kept]
            values = [value for value in values if value is not SAME]
        low, window = 0, self._window
        while low < len(moments):
            self._hold_until(moments[low])
            at = (moments[low] - window.start) // window.every
            high = bisect_left(moments, window.start + (at + 1) * window.every, low)
            bucket = self._open(at)
            bucket.change(values[low:high])
            if high - low > 1:
                times = moments[low:high]
                former = self._measure(bucket)
                bucket.hold_many(values[low : high - 1], [*map(sub, times[1:], times)])
                self._room.take(self._measure(bucket) - former)
            self._value, self._since = values[high - 1], moments[high - 1]
            low = high

    def build(self, end: int) -> Buckets:
        """Return the buckets in which there was a value, up to a time."""
        self._hold_until(end)
        window, buckets = self._window, self._buckets
        numbers = sorted(at for at, bucket in buckets.items() if bucket.first is not None)
        columns = [[buckets[at].compute(name) for at in numbers] for name in self._aggregates]
        return Buckets([window.start + at * window.every for at in numbers], columns)

    def _hold_until(self, until: int) -> None:
        """Add the present value to the buckets until a time."""
        if not is_point(self._value):
            return
        window, value = self._window, self._value
        while self._since < until:
            at = (self._since - window.start) // window.every
            end = min(window.start + (at + 1) * window.every, until)
            bucket = self._buckets.get(at)
            if bucket is None and end - self._since == window.every:
                self._hold_whole(at, (until - window.start) // window.every)
                continue
            bucket = self._open(at)
            former = self._measure(bucket)
            bucket.hold(value, end - self._since)
            self._room.take(self._measure(bucket) - former)
            self._since = end

    def _hold_whole(self, low: int, high: int) -> None:
        """Add the present value to new buckets, in which nothing else is."""
        window = self._window
        bucket = _Bucket()
        bucket.hold(self._value, window.every)
        self._room.take(self._measure(bucket) * (high - low))
        # PERF: they are one object; changes come to later ones.
        self._buckets.update(dict.fromkeys(range(low, high), bucket))
        self._since = window.start + high * window.every

    def _measure(self, bucket: _Bucket) -> int:
        values = [getattr(bucket, name) for name in self._texts]
        return sum(len(value) for value in values if isinstance(value, str))

    def _open(self, at: int) -> _Bucket:
        bucket = self._buckets.get(at)
        if bucket is None:
            bucket = self._buckets[at] = _Bucket()
        return bucket
