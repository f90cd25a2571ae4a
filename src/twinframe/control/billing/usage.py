"""Measured usage of resources, stored once for each period.

A sample holds the readings of counters, never differences, so their sum does not depend on samples
that come late, twice, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from twinframe.control.billing.closing import find_first_open
from twinframe.control.billing.months import DAY, Interval, Month, read_seconds
from twinframe.control.billing.spans import SPANS, Span
from twinframe.control.records.documents import Table
from twinframe.control.tenants.audit import find_time
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    Order,
    equal,
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The state of a resource's meters now. All are integers; raises `ValueError` for anything
    else.

    `twins` and `storage_bytes` are levels. `operations` and `query_charge` (hundredths of a query
    unit) are counters since the resource was started, which may restart at 0. `epoch`, if given,
    changes each time they do.
    """

    twins: int
    operations: int
    query_charge: int
    storage_bytes: int
    epoch: str = ""

    def __post_init__(self) -> None:
        """Refuse values that no meter shows."""
        for figure in (self.twins, self.operations, self.query_charge, self.storage_bytes):
            if type(figure) is not int or figure < 0:
                raise ValueError(f"A meter shows an integer of at least 0, not {figure!r}.")


class UsageMeter(Protocol):
    """Reads the meters of resources: the port to their servers."""

    async def sample(self, name: ResourceName) -> Usage | None:
        """Return the meters now; None for a resource without meters, or whose id was reused.

        Any `TwinframeError` or `OSError`: they cannot be read now.
        """


@dataclass(frozen=True, slots=True)
class Sample:
    """The meters of a resource at second `at`, for the period of `seconds` from `start` on.

    A last sample, taken when the resource is removed, has no period: `seconds` is 0.
    """

    start: int
    seconds: int
    at: int
    usage: Usage

    @property
    def interval(self) -> Interval:
        """The period it is for."""
        return Interval(self.start, self.start + self.seconds)


@dataclass(frozen=True, slots=True)
class UsageDay:
    """The samples of one span whose periods begin on one day, in order of time."""

    id: str
    span: str
    day: int
    samples: tuple[Sample, ...]


USAGE: Final = Table(
    "billing_usage",
    UsageDay,
    {"span": lambda value: value.span, "day": lambda value: value.day},
    indexes=(("span", "day"),),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The usage that one sample stands for: levels for its period, and counts until `at`."""

    at: int
    interval: Interval
    twins: int
    storage_bytes: int
    operations: int
    query_charge: int


def find_period(now: int, seconds: int) -> int:
    """Return the start of the period of this length that contains `now`; periods start with the
    day.
    """
    return now - now % seconds


def is_counted(session: ControlSession, span_id: str, period: Interval) -> bool:
    """Return whether the period, or a part of it, was sampled."""
    stored = USAGE.read(session, _build_id(span_id, period.begin))
    return stored is not None and any(_clash(each, period) for each in stored.samples)


def record_sample(transaction: ControlTransaction, span_id: str, sample: Sample) -> bool:
    """Store a sample; return whether it counts.

    It does not count if its period, or a part of it, was sampled before, if its month is closed or
    if nothing was paid for. Its counter readings are included in the next sample's.
    """
    span = SPANS.read(transaction, span_id)
    if span is None or sample.at < find_first_open(transaction):
        return False
    if not span.interval.holds(sample.at):
        return False
    day_id = _build_id(span_id, sample.start)
    stored = USAGE.read(transaction, day_id)
    if stored is None:
        USAGE.insert(transaction, UsageDay(day_id, span_id, sample.start // DAY, (sample,)))
        return True
    if any(_clash(each, sample.interval) for each in stored.samples):
        return False
    samples = sorted((*stored.samples, sample), key=_rank)
    USAGE.replace(transaction, replace(stored, samples=tuple(samples)))
    return True


def find_second(session: ControlSession, span_id: str, now: int, *, gap: int = 0) -> int:
    """Return the second at which a span is measured or changed now.

    Whatever the clock says, it is neither before the last change of the control plane nor less than
    `gap` seconds after the last measurement. `now` is in nanoseconds.

    NOTE: a reading recorded before an earlier one would look like counters that were reset in
    between, and their counts would be charged twice.
    """
    last = USAGE.find_first(session, equal("span", span_id), order=Order("day", descending=True))
    known = () if last is None else last.samples
    return max([read_seconds(find_time(session, now)), *(each.at + gap for each in known)])


def build_last(span: Span, usage: Usage, now: int) -> Sample:
    """Build the last sample of a resource, which counts up to the end of its span at most."""
    at = max(span.interval.begin, min(now, span.ended - 1))
    return Sample(at, 0, at, usage)


def read_measured(session: ControlSession, span_id: str, month: Month) -> list[Measured]:
    """Return the measured usage of a span in the month, in order of time."""
    first, end = month.interval.begin // DAY, month.interval.end // DAY
    of_span = equal("span", span_id)
    since = Condition("day", Comparison.AT_LEAST, first)
    until = Condition("day", Comparison.BELOW, end)
    found = USAGE.find(session, of_span, since, until, order=Order("day"))
    earlier = Condition("day", Comparison.BELOW, first)
    before = USAGE.find_first(session, of_span, earlier, order=Order("day", descending=True))
    samples = (sample for day in found for sample in day.samples)
    return build_measured(samples, before.samples[-1] if before else None)


def build_measured(samples: Iterable[Sample], before: Sample | None = None) -> list[Measured]:
    """Build the usage of samples, given the one before them; None: the counters began at 0.

    A counter that is lower than before, or of another epoch, restarted in between: its counts after
    the previous sample are unknown, and not charged. After a gap the counters include the
    operations in it, which count with the sample after; the number of twins in the gap is unknown,
    and not charged.
    """
    found = []
    for sample in sorted(samples, key=_rank):
        found.append(_build_one(sample, before))
        before = sample
    return found


def _build_one(sample: Sample, before: Sample | None) -> Measured:
    now = sample.usage
    old = None if before is None or _began_anew(before.usage, now) else before.usage
    return Measured(
        sample.at,
        sample.interval,
        now.twins,
        now.storage_bytes,
        now.operations - (0 if old is None else old.operations),
        now.query_charge - (0 if old is None else old.query_charge),
    )


def _began_anew(before: Usage, now: Usage) -> bool:
    if before.epoch and now.epoch and before.epoch != now.epoch:
        return True
    return now.operations < before.operations or now.query_charge < before.query_charge


def _clash(stored: Sample, period: Interval) -> bool:
    """Return whether both are for the same time; two last samples always are."""
    if not stored.seconds or not period.seconds:
        return stored.seconds == period.seconds
    return stored.interval.cut(period).seconds > 0


def _rank(sample: Sample) -> tuple[int, int]:
    return sample.at, sample.start


def _build_id(span_id: str, start: int) -> str:
    return f"{span_id}.{start // DAY}"
