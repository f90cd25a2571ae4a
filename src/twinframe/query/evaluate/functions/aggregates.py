"""Aggregate functions, as one accumulator per group.

SPEC: openCypher 9, «Aggregating functions». Nulls are left out; over nothing `count`, `sum`,
`stDev` and `stDevP` are 0, `collect` is the empty list and all others are null.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from twinframe.model.comparison import build_order_key
from twinframe.model.temporal.durations import Duration, add_durations, scale_duration
from twinframe.model.values import Value
from twinframe.query.algebra import AggregateKind
from twinframe.query.evaluate.arithmetic import check_integer
from twinframe.query.evaluate.failures import build_argument_type_error, build_range_error
from twinframe.query.evaluate.functions.statistics import Deviation, compute_percentile
from twinframe.query.evaluate.limits import Holding
from twinframe.query.evaluate.run import Run


class Accumulator(ABC):
    """Takes the non-null values of a group one by one, then returns the aggregate."""

    __slots__ = ()

    @abstractmethod
    def add(self, value: Value, run: Run) -> None:
        """Take one value; `run` accounts for the values that are kept."""

    @abstractmethod
    def result(self) -> Value:
        """Return the aggregate of the values taken."""


class Count(Accumulator):
    """`count(x)` and `count(*)`."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def add(self, value: Value, run: Run) -> None:
        self._count += 1

    def result(self) -> Value:
        return self._count


class Sum(Accumulator):
    """`sum(x)`: exact over integers; floats are added with Neumaier's compensation.

    The integer total may pass 64 bits on the way; only the result must fit. Durations are added
    among themselves, never to numbers.
    """

    __slots__ = ("_compensation", "_durations", "_has_float", "_has_number", "_integers", "_total")

    def __init__(self) -> None:
        self._durations: Duration | None = None
        self._has_number = False
        self._integers = 0
        self._total = 0.0
        self._compensation = 0.0
        self._has_float = False

    def add(self, value: Value, run: Run) -> None:
        if type(value) is int and self._durations is None:
            self._has_number = True
            self._integers += value
        elif isinstance(value, float) and self._durations is None:
            self._has_number = self._has_float = True
            self._add_float(value)
        elif isinstance(value, Duration) and not self._has_number:
            self._durations = add_durations(self._durations or Duration(0, 0, 0, 0), value)
        else:
            raise build_argument_type_error("sum", value, "either Numbers or Durations")

    def _add_float(self, value: float) -> None:
        total = self._total + value
        if math.isfinite(total):
            if abs(self._total) >= abs(value):
                self._compensation += (self._total - total) + value
            else:
                self._compensation += (value - total) + self._total
        self._total = total

    def result(self) -> Value:
        if self._durations is not None:
            return self._durations
        if not self._has_float:
            return check_integer(self._integers)
        return self.as_float()

    def result_of_durations(self) -> Duration | None:
        """The total of durations; None when there were none."""
        return self._durations

    def as_float(self) -> float:
        """The total as a float, whatever the parts were."""
        if not math.isfinite(self._total):
            return self._total
        return float(self._integers) + (self._total + self._compensation)


class Average(Accumulator):
    """`avg(x)`: of numbers always a float, of durations a duration."""

    __slots__ = ("_count", "_sum")

    def __init__(self) -> None:
        self._sum = Sum()
        self._count = 0

    def add(self, value: Value, run: Run) -> None:
        if type(value) is not int and not isinstance(value, float | Duration):
            raise build_argument_type_error("avg", value, "Numbers or Durations")
        self._sum.add(value, run)
        self._count += 1

    def result(self) -> Value:
        if not self._count:
            return None
        total = self._sum.result_of_durations()
        if total is not None:
            return scale_duration(total, Fraction(1, self._count))
        return self._sum.as_float() / self._count


class Extreme(Accumulator):
    """`min(x)` and `max(x)` in the total order across types."""

    __slots__ = ("_best", "_key", "_wants_greater")

    def __init__(self, *, wants_greater: bool) -> None:
        self._wants_greater = wants_greater
        self._best: Value = None
        self._key: tuple[Any, ...] | None = None

    def add(self, value: Value, run: Run) -> None:
        key = build_order_key(value)
        if self._key is None or (key > self._key if self._wants_greater else key < self._key):
            self._best, self._key = value, key

    def result(self) -> Value:
        return self._best


class Collect(Accumulator):
    """`collect(x)`: the list of the values in the order of the rows."""

    __slots__ = ("_items", "_kept")

    def __init__(self, kept: Holding) -> None:
        self._items: list[Value] = []
        self._kept = kept

    def add(self, value: Value, run: Run) -> None:
        self._kept.add_again(value)
        self._items.append(value)

    def result(self) -> Value:
        return self._items


class Spread(Accumulator):
    """`stDev(x)` (of a sample) and `stDevP(x)` (of a population)."""

    __slots__ = ("_deviation", "_name")

    def __init__(self, *, is_sample: bool) -> None:
        self._name = "stDev" if is_sample else "stDevP"
        self._deviation = Deviation(is_sample=is_sample)

    def add(self, value: Value, run: Run) -> None:
        if type(value) is not int and not isinstance(value, float):
            raise build_argument_type_error(self._name, value, "Numbers")
        self._deviation.add(value)

    def result(self) -> Value:
        return self._deviation.read()


class Percentile(Accumulator):
    """`percentileDisc(x, p)` (nearest value) and `percentileCont(x, p)` (interpolated).

    Takes pairs of a value and the percentile, the same for every row of the group.
    """

    __slots__ = ("_is_continuous", "_kept", "_name", "_numbers", "_wanted")

    def __init__(self, kept: Holding, *, is_continuous: bool) -> None:
        self._kept = kept
        self._is_continuous = is_continuous
        self._name = "percentileCont" if is_continuous else "percentileDisc"
        self._numbers: list[int | float] = []
        self._wanted = 0.0

    def add_pair(self, value: Value, percentile: Value, run: Run) -> None:
        """Take one value and check its percentile."""
        if type(percentile) is not int and not isinstance(percentile, float):
            raise build_argument_type_error(self._name, percentile, "a Number as percentile")
        if not 0.0 <= percentile <= 1.0:
            raise build_range_error(
                f"{self._name}() takes a percentile of 0 to 1, not {percentile}."
            )
        self._wanted = float(percentile)
        self.add(value, run)

    def add(self, value: Value, run: Run) -> None:
        if type(value) is not int and not isinstance(value, float):
            raise build_argument_type_error(self._name, value, "Numbers")
        self._kept.add(value)
        self._numbers.append(value)

    def result(self) -> Value:
        return compute_percentile(self._numbers, self._wanted, is_continuous=self._is_continuous)


def build_accumulator(kind: AggregateKind, kept: Holding) -> Accumulator:
    """An empty accumulator of the kind; `kept` accounts for the values that it keeps."""
    match kind:
        case AggregateKind.COUNT | AggregateKind.COUNT_ROWS:
            return Count()
        case AggregateKind.SUM:
            return Sum()
        case AggregateKind.AVG:
            return Average()
        case AggregateKind.MIN | AggregateKind.MAX:
            return Extreme(wants_greater=kind is AggregateKind.MAX)
        case AggregateKind.COLLECT:
            return Collect(kept)
        case AggregateKind.STDEV | AggregateKind.STDEVP:
            return Spread(is_sample=kind is AggregateKind.STDEV)
        case AggregateKind.PERCENTILE_CONT | AggregateKind.PERCENTILE_DISC:
            return Percentile(kept, is_continuous=kind is AggregateKind.PERCENTILE_CONT)
