"""The prices of resources by sku and meter, in integer minor units."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Sku(enum.StrEnum):
    """The tiers in which each type is offered."""

    FREE = "free"
    PRO = "pro"
    ENTERPRISE = "enterprise"


class Meter(enum.StrEnum):
    """What is charged: a month of the resource itself, or its measured usage in that month.

    `TWINS` and `STORAGE_BYTES` are means over the month, `OPERATIONS` and `QUERY_CHARGE` are sums.
    """

    MONTH = "month"
    TWINS = "twins"
    OPERATIONS = "operations"
    QUERY_CHARGE = "query_charge"
    STORAGE_BYTES = "storage_bytes"


QUERY_CHARGE_SCALE: Final = 100
"""The units of `QUERY_CHARGE` in one query unit, as the header `query-charge` counts them."""


@dataclass(frozen=True, slots=True)
class Price:
    """`amount` minor units (cents) for each `per` units of the meter beyond the `included` ones.

    A meter without a price is free. Raises `ValueError` for invalid numbers.
    """

    sku: Sku
    meter: Meter
    amount: int
    per: int = 1
    included: int = 0

    def __post_init__(self) -> None:
        """Refuse prices that could not be charged."""
        if self.amount < 0 or self.per < 1 or self.included < 0:
            raise ValueError(f"No price: {self.amount} for {self.per} beyond {self.included}.")
