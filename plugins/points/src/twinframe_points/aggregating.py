"""Aggregates of points by bucket, for all series of a question at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from twinframe.storage.points import Buckets, PointValue, Window, build_room_error
from twinframe_points.columns import NUMBER, Columns, Floats, Integers, build_values

_EXACT: Final = 2**53

Cells = list[PointValue | None]


class BucketTable:
    """The buckets of some series, to which points are added piece by piece, by time.

    A bucket may go on in the next piece.
    """

    def __init__(
        self,
        ids: Sequence[int],
        window: Window,
        aggregates: Sequence[str],
        room: int | None = None,
    ) -> None:
        """`ids` are in order. `LimitExceeded` is raised for texts of more than `room` bytes."""
        self._ids = np.array(ids, np.int64)
        self._window = window
        self._aggregates = aggregates
        size = len(ids) * window.count
        self._counts = np.zeros(size, np.int64)
        names = set(aggregates)
        asked = names & _OF_NUMBERS.keys()
        self._sums = _Numbers(size, asked) if asked else None
        self._ends = {name: _Picked(size, room) for name in ("first", "last") if name in names}

    def add(self, columns: Columns) -> None:
        """Add points, by series and time."""
        if not len(columns.times):
            return
        window = self._window
        cuts = np.searchsorted(columns.series, self._ids)
        counts = np.diff(np.append(cuts, len(columns.series)))
        offsets = np.arange(len(self._ids)) * window.count
        since = columns.times - window.start
        if window.end - window.start < _EXACT:
            # PERF: floats divide in a fifth of the time, and are exact for 285 years.
            buckets = (since / window.every).astype(np.int64)
        else:
            buckets = since // window.every
        buckets += np.repeat(offsets, counts)
        starts = _find_starts(buckets)
        touched = buckets[starts]
        ends = np.append(starts[1:], len(buckets)) - 1
        self._counts[touched] += ends - starts + 1
        if self._sums is not None:
            self._sums.add(columns, buckets, starts, touched)
        if (first := self._ends.get("first")) is not None:
            first.put(touched, starts, columns, is_first=True)
        if (last := self._ends.get("last")) is not None:
            last.put(touched, ends, columns, is_first=False)

    def build(self) -> list[Buckets]:
        """Return the buckets of each series."""
        filled = np.flatnonzero(self._counts)
        count, window = self._window.count, self._window
        starts = (window.start + filled % count * window.every).tolist()
        columns = [self._render(name, filled) for name in self._aggregates]
        cuts = np.searchsorted(filled, np.arange(len(self._ids) + 1) * count).tolist()
        return [
            Buckets(starts[low:high], [column[low:high] for column in columns])
            for low, high in pairwise(cuts)
        ]

    def _render(self, name: str, filled: Integers) -> Cells:
        if name == "count":
            found: Cells = self._counts[filled].tolist()
            return found
        if name in self._ends:
            return self._ends[name].render(filled)
        assert self._sums is not None  # noqa: S101  # one of its aggregates
        return self._sums.render(name, filled)


class _Numbers:
    """Count, sum, least and greatest of the numbers of each bucket."""

    def __init__(self, size: int, asked: AbstractSet[str]) -> None:
        self._asked = asked
        self.counts = np.zeros(size, np.int64)
        self.sums = np.zeros(size)
        self.least = np.full(size, np.inf)
        self.greatest = np.full(size, -np.inf)

    def add(self, columns: Columns, buckets: Integers, starts: Integers, touched: Integers) -> None:
        numbers = columns.numbers
        if columns.kinds.any():
            rows = columns.kinds == NUMBER
            numbers, buckets = numbers[rows], buckets[rows]
            if not len(numbers):
                return
            starts = _find_starts(buckets)
            touched = buckets[starts]
        self.counts[touched] += np.diff(np.append(starts, len(buckets)))
        if not self._asked.isdisjoint(("avg", "sum")):
            with np.errstate(over="ignore", invalid="ignore"):
                self.sums[touched] += np.add.reduceat(numbers, starts)
        if "min" in self._asked:
            found = np.minimum.reduceat(numbers, starts)
            self.least[touched] = np.minimum(self.least[touched], found)
        if "max" in self._asked:
            found = np.maximum.reduceat(numbers, starts)
            self.greatest[touched] = np.maximum(self.greatest[touched], found)

    def render(self, name: str, filled: Integers) -> Cells:
        counts = self.counts[filled]
        values = _OF_NUMBERS[name](self, filled)
        found: Cells = values.tolist()
        is_none = ~np.isfinite(values)
        if name != "sum":
            is_none |= counts == 0
        for row in np.flatnonzero(is_none).tolist():
            found[row] = None
        return found


def _average(numbers: _Numbers, filled: Integers) -> Floats:
    return numbers.sums[filled] / np.maximum(numbers.counts[filled], 1)


_OF_NUMBERS: Final[Mapping[str, Callable[[_Numbers, Integers], Floats]]] = {
    "avg": _average,
    "sum": lambda numbers, filled: numbers.sums[filled],
    "min": lambda numbers, filled: numbers.least[filled],
    "max": lambda numbers, filled: numbers.greatest[filled],
}


class _Picked:
    """One point of each bucket: its value."""

    def __init__(self, size: int, room: int | None) -> None:
        self._is_there = np.zeros(size, np.bool_)
        self._kinds = np.zeros(size, np.uint8)
        self._numbers = np.zeros(size)
        self._texts: dict[str, int] = {}
        self._room = room

    def put(self, touched: Integers, rows: Integers, columns: Columns, *, is_first: bool) -> None:
        if is_first:  # an earlier piece had it
            is_new = ~self._is_there[touched]
            touched, rows = touched[is_new], rows[is_new]
        picked = columns.take(rows)
        self._is_there[touched] = True
        self._kinds[touched] = picked.kinds
        self._numbers[touched] = self._renumber(picked)
        if picked.texts and self._room is not None and self._measure() > self._room:
            raise build_room_error(self._room)

    def _measure(self) -> int:
        """Return the bytes of the texts of all buckets; others are forgotten."""
        is_text = self._kinds == _TEXT
        texts = list(self._texts)
        used, codes, counts = np.unique(
            self._numbers[is_text].astype(np.int64), return_inverse=True, return_counts=True
        )
        self._numbers[is_text] = codes
        self._texts = {texts[code]: at for at, code in enumerate(used.tolist())}
        sizes = [len(text) for text in self._texts]
        return sum(size * count for size, count in zip(sizes, counts.tolist(), strict=True))

    def render(self, filled: Integers) -> Cells:
        return build_values(self._kinds[filled], self._numbers[filled], tuple(self._texts))

    def _renumber(self, picked: Columns) -> npt.NDArray[np.float64]:
        if not picked.texts:
            return picked.numbers
        texts = self._texts
        codes: Iterable[float] = (
            texts.setdefault(picked.texts[int(number)], len(texts)) if kind == _TEXT else number
            for kind, number in zip(picked.kinds.tolist(), picked.numbers.tolist(), strict=True)
        )
        return np.fromiter(codes, np.float64)


_TEXT: Final = 2


def _find_starts(buckets: Integers) -> Integers:
    """Return where runs of equal values start."""
    changes = np.flatnonzero(np.diff(buckets)) + 1
    return np.concatenate(([0], changes))
