"""What a resource costs in a month, line by line: pure arithmetic on integers. It reads nothing.

The rule: a line multiplies exact quantities by its price, divides once, and rounds half up to the
minor unit. A statement is the sum of its lines; nothing else is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twinframe.control.billing.months import Interval, Month
from twinframe.control.billing.prices import LEVELS, PriceBook
from twinframe.control.billing.spans import Span
from twinframe.control.billing.usage import Measured
from twinframe.resourcetypes.prices import Meter, Price, Sku


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
    """The parts of a month in which a sku is paid for: `past` of them lie before now."""

    whole: Sequence[Interval]
    past: Sequence[Interval]

    @property
    def seconds(self) -> int:
        return sum(each.seconds for each in self.past)

    def measure(self, interval: Interval) -> int:
        return sum(each.cut(interval).seconds for each in self.past)

    def holds(self, moment: int) -> bool:
        return any(each.holds(moment) for each in self.past)


def build_lines(
    span: Span,
    paid: Sequence[Interval],
    measured: Sequence[Measured],
    book: PriceBook,
    month: Month,
    until: int,
) -> list[Line]:
    """The lines of a resource for the account that pays for the seconds in `paid`.

    Only what lies before the second `until` is charged. What a sku includes of a sum is its share
    of the month as if the resource stayed as it is until the month ends.
    """
    lines = []
    prices = book.find(span.type)
    for sku in dict.fromkeys(sku for sku, _ in span.list_skus()):
        share = _build_share(span, sku, paid, month, until)
        if not share.seconds:
            continue
        lines += [
            _build_line(span, price, share, measured, month) for price in prices if price.sku is sku
        ]
    return lines


def round_half_up(numerator: int, denominator: int) -> int:
    """The nearest integer to a fraction that is not negative; a half goes up."""
    return (2 * numerator + denominator) // (2 * denominator)


def _build_share(
    span: Span, sku: Sku, paid: Sequence[Interval], month: Month, until: int
) -> _Share:
    held = [interval for each, interval in span.list_skus() if each is sku]
    whole = [one.cut(two).cut(month.interval) for one in held for two in paid]
    past = Interval(0, max(until, 0))
    return _Share(whole, [each.cut(past) for each in whole])


def _build_line(
    span: Span, price: Price, share: _Share, measured: Sequence[Measured], month: Month
) -> Line:
    quantity = sum(_read_quantity(price.meter, each, share) for each in measured)
    if price.meter is Meter.MONTH:
        quantity = share.seconds
    if price.meter in LEVELS:
        included, scale = price.included * share.seconds, month.interval.seconds
    else:
        promised = sum(each.seconds for each in share.whole)
        # NOTE: rounded up: a share of what is included is never less than its due.
        included, scale = -(-price.included * promised // month.interval.seconds), 1
    billable = max(0, quantity - included)
    covered = sum(share.measure(each.interval) for each in measured)
    return Line(
        span,
        price,
        share.seconds,
        None if price.meter is Meter.MONTH else covered,
        quantity,
        included,
        billable,
        round_half_up(price.amount * billable, price.per * scale),
    )


def _read_quantity(meter: Meter, measured: Measured, share: _Share) -> int:
    match meter:
        case Meter.TWINS:
            return measured.twins * share.measure(measured.interval)
        case Meter.STORAGE_BYTES:
            return measured.storage_bytes * share.measure(measured.interval)
        case Meter.OPERATIONS:
            return measured.operations if share.holds(measured.at) else 0
        case Meter.QUERY_CHARGE:
            return measured.query_charge if share.holds(measured.at) else 0
        case Meter.MONTH:
            return 0
