"""The price lists in force, published when they change and stored for good.

A month is charged by the list that was in force at its beginning, so no price changes for a running
resource; the first list also applies to all time before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from twinframe.control.billing.closing import find_first_open
from twinframe.control.billing.months import Month, read_seconds
from twinframe.control.records.documents import Table
from twinframe.errors import ConfigurationError
from twinframe.hooks.resource_types.prices import Meter, Price
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    Order,
)

UNITS: Final = {
    Meter.MONTH: "month",
    Meter.TWINS: "twin",
    Meter.STORAGE_BYTES: "byte",
    Meter.OPERATIONS: "operation",
    Meter.QUERY_CHARGE: "hundredth of a query unit",
}
"""The size of one unit of a meter."""

LEVELS: Final = frozenset({Meter.MONTH, Meter.TWINS, Meter.STORAGE_BYTES})
"""Meters of a level, which is charged by duration; the others are sums."""

_LATEST: Final = Order("id", descending=True)


@dataclass(frozen=True, slots=True)
class TypePrice:
    """A price of one type of resource."""

    type: str
    price: Price


@dataclass(frozen=True, slots=True)
class PriceBook:
    """All prices, in minor units of `currency` (ISO 4217), since the second `published`."""

    id: str
    published: int
    currency: str
    prices: tuple[TypePrice, ...]

    def find(self, type_: str) -> list[Price]:
        """Return the prices of a type; an empty list means that it is free."""
        return [each.price for each in self.prices if each.type == type_]


BOOKS: Final = Table("billing_prices", PriceBook, {"published": lambda value: value.published})
"""Every price list that was ever in force."""


def publish_prices(
    transaction: ControlTransaction, prices: tuple[TypePrice, ...], currency: str, now: int
) -> PriceBook:
    """Publish these prices unless they are in force already. `now` is in nanoseconds."""
    latest = BOOKS.find_first(transaction, order=_LATEST)
    if latest is not None and (latest.prices, latest.currency) == (prices, currency):
        return latest
    number = 1 if latest is None else int(latest.id) + 1
    earliest = 0 if latest is None else latest.published
    at = max(read_seconds(now), find_first_open(transaction), earliest)
    book = PriceBook(f"{number:08}", at, currency, prices)
    BOOKS.insert(transaction, book)
    return book


def find_book(session: ControlSession, month: Month) -> PriceBook:
    """Return the list in force when the month began.

    Raises `ConfigurationError` if there is none.
    """
    begun = Condition("published", Comparison.AT_MOST, month.interval.begin)
    found = BOOKS.find_first(session, begun, order=_LATEST) or BOOKS.find_first(session)
    if found is None:
        raise ConfigurationError("No price list was published; start the control plane once.")
    return found
