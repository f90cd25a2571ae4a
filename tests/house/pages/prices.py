"""Generates the reference page of prices and limits, `docs/reference/prices.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from twinframe.control.billing.offers import Offers
from twinframe.control.billing.prices import LEVELS, UNITS
from twinframe.hooks.resource_types.prices import QUERY_CHARGE_SCALE, Meter, Price, Sku
from twinframe.hooks.resource_types.quotas import WINDOWS, Quota, QuotaLimit


def render_prices_page(offers: Offers, types: Sequence[str]) -> str:
    """Render the page for these types, by name."""
    lines = [_INTRODUCTION, "| meter | counted as | one unit is |", "| --- | --- | --- |"]
    lines += [
        f"| `{meter}` | {'how much, for how long' if meter in LEVELS else 'a sum'} | one {unit} |"
        for meter, unit in UNITS.items()
    ]
    lines += ["", "| quota | of | refused with |", "| --- | --- | --- |"]
    lines += [
        f"| `{quota}` | {_QUOTAS[quota]} | {429 if quota in WINDOWS else 403} |" for quota in Quota
    ]
    for name in types:
        lines += ["", f"## {name}", ""]
        prices = [each.price for each in offers.prices if each.type == name]
        lines += _render_prices(prices) if prices else ["It costs nothing."]
        lines += ["", *_render_limits(offers.find_limits(name))]
    return "\n".join([*lines, ""])


def _render_prices(prices: Sequence[Price]) -> Iterator[str]:
    yield from ("| sku | meter | minor units | for each | beyond |", "| --- " * 5 + "|")
    for price in prices:
        per = _render_quantity(price.meter, price.per)
        included = _render_quantity(price.meter, price.included) if price.included else "–"
        yield f"| `{price.sku}` | `{price.meter}` | {price.amount:,} | {per} | {included} |"
    named = {price.sku for price in prices}
    if free := [f"`{sku}`" for sku in Sku if sku not in named]:
        yield ""
        yield f"Without a price: {', '.join(free)}."


def _render_limits(limits: Sequence[QuotaLimit]) -> Iterator[str]:
    if not limits:
        yield "No sku is limited unless the operator's list says so."
        return
    yield from ("| sku | quota | at most |", "| --- | --- | --- |")
    for each in limits:
        shown = _render_quantity(each.quota, each.limit)
        yield f"| `{each.sku}` | `{each.quota}` | {shown} |"


def _render_quantity(of: Meter | Quota, number: int) -> str:
    """Render a number of units, in larger ones where it is a whole number of these."""
    for name, scale in _SCALES.get(of, ()):
        if number and number % scale == 0:
            return f"{number // scale:,} {name}"
    return f"{number:,}"


_QUOTAS: Final = {
    Quota.RESOURCES: "resources of one type and sku in a project",
    Quota.TWINS: "twins in a graph",
    Quota.STORAGE_BYTES: "bytes that a graph takes",
    Quota.OPERATIONS_PER_MINUTE: "operations in a minute (UTC)",
    Quota.OPERATIONS_PER_DAY: "operations in a day (UTC)",
}

_BYTES: Final = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))
_SCALES: Final[Mapping[str, Sequence[tuple[str, int]]]] = {
    Meter.STORAGE_BYTES: _BYTES,
    Quota.STORAGE_BYTES: _BYTES,
    Meter.QUERY_CHARGE: (("query units", QUERY_CHARGE_SCALE),),
}

_INTRODUCTION: Final = """# Prices and quotas

This page is generated from the resource types of this distribution; do not edit it.

These prices and quotas apply unless the operator sets others (`Billing__PriceList`). All amounts
are integers in minor units of `Billing__Currency`, such as cents, without tax. Price lists and
statements use the units of the first table; the tables of the types also use larger ones. [How
to bill](../how-to/bill.md) explains how a statement is calculated.
"""
