"""Computes what a resource costs in a month, line by line, in exact integer arithmetic.

A line multiplies exact quantities by its price, divides once, and rounds half up to the minor unit.
A statement is the sum of its lines; nothing else is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from twinframe.control.billing.months import Interval, Month
from twinframe.control.billing.prices import LEVELS, PriceBook
from twinframe.control.billing.spans import Span
from twinframe.control.billing.usage import Measured
from twinframe.hooks.resource_types.prices import Meter, Price, Sku


@dataclass(frozen=True, slots=True)
class Line:
    """One meter of one resource in one sku.

    `seconds` is how long the sku was paid for in the month and `measured` for how much of that
    there are samples, None where nothing is measured. `quantity`, `included` and `billable` are in
    units of the meter times seconds for levels, in units for sums. `amount` is in minor units.
    """

    span: Span
    price: Price
    seconds: int
    measured: int | None
    quantity: int
    included: int
    billable: int
    amount: int


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of a month that is paid for in one sku.

    `seconds` are those before now, `promised` those until the month ends. `found` are the
    measurements, each with the seconds of its period that are paid for and whether its counters
    are.
    """

    seconds: int
    promised: int
    found: Sequence[tuple[Measured, int, bool]]


def build_lines(
    span: Span,
    paid: Sequence[Interval],
    measured: Sequence[Measured],
    book: PriceBook,
    month: Month,
    until: int,
) -> list[Line]:
    """Build the lines of a resource for the account that pays for the seconds in `paid`.

    Only time before the second `until` is charged. The included amount of a sum is the sku's share
    of the month as if the resource stayed unchanged until the month ends.
    """
    lines = []
    prices = book.find(span.type)
    for sku in dict.fromkeys(sku for sku, _ in span.list_skus()):
        share = _build_share(span, sku, paid, measured, month, until)
        if share.seconds:
            lines += [_build_line(span, each, share, month) for each in prices if each.sku is sku]
    return lines


def round_half_up(numerator: int, denominator: int) -> int:
    """Return the nearest integer to a non-negative fraction; a half is rounded up."""
    return (2 * numerator + denominator) // (2 * denominator)


def _build_share(
    span: Span,
    sku: Sku,
    paid: Sequence[Interval],
    measured: Sequence[Measured],
    month: Month,
    until: int,
) -> _Share:
    """PERF: each sample is intersected with the intervals once, whatever the number of prices."""
    held = [interval for each, interval in span.list_skus() if each is sku]
    whole = [one.cut(two).cut(month.interval) for one in held for two in paid]
    past = [each.cut(Interval(0, max(until, 0))) for each in whole]
    found = []
    for each in measured:
        seconds = sum(part.cut(each.interval).seconds for part in past)
        counts = any(part.holds(each.at) for part in past)
        if seconds or counts:
            found.append((each, seconds, counts))
    return _Share(sum(each.seconds for each in past), sum(each.seconds for each in whole), found)


def _build_line(span: Span, price: Price, share: _Share, month: Month) -> Line:
    quantity = _read_quantity(price.meter, share)
    if price.meter in LEVELS:
        included, scale = price.included * share.seconds, month.interval.seconds
    else:
        # NOTE: rounded up, so that the included share is never less than what is due.
        included = -(-price.included * share.promised // month.interval.seconds)
        scale = 1
    billable = max(0, quantity - included)
    measured = sum(seconds for _, seconds, _ in share.found)
    return Line(
        span,
        price,
        share.seconds,
        None if price.meter is Meter.MONTH else measured,
        quantity,
        included,
        billable,
        round_half_up(price.amount * billable, price.per * scale),
    )


def _read_quantity(meter: Meter, share: _Share) -> int:
    match meter:
        case Meter.MONTH:
            return share.seconds
        case Meter.TWINS:
            return sum(each.twins * seconds for each, seconds, _ in share.found)
        case Meter.STORAGE_BYTES:
            return sum(each.storage_bytes * seconds for each, seconds, _ in share.found)
        case Meter.OPERATIONS:
            return sum(each.operations for each, _, counts in share.found if counts)
        case Meter.QUERY_CHARGE:
            return sum(each.query_charge for each, _, counts in share.found if counts)
        case _:
            assert_never(meter)
