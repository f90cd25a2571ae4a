"""What a resource costs: prices by sku and meter, in integer minor units. It sends no bill."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Sku(enum.StrEnum):
    """The offers in which each type is to be had."""

    FREE = "free"
    PRO = "pro"
    ENTERPRISE = "enterprise"


class Meter(enum.StrEnum):
    """What is paid for: a month of the resource itself, or what was measured in that month.

    `TWINS` and `STORAGE_BYTES` are means over the month, `OPERATIONS` and `QUERY_CHARGE` are sums.
    """

    MONTH = "month"
    TWINS = "twins"
    OPERATIONS = "operations"
    QUERY_CHARGE = "query_charge"
    STORAGE_BYTES = "storage_bytes"


QUERY_CHARGE_SCALE: Final = 100
"""A query unit, as the header `query-charge` counts them, is so many units of `QUERY_CHARGE`."""


@dataclass(frozen=True, slots=True)
class Price:
    """`amount` minor units (cents) for each `per` units of the meter beyond the `included` ones.

    A meter without a price costs nothing. `ValueError` for figures that make no price.
    """

    sku: Sku
    meter: Meter
    amount: int
    per: int = 1
    included: int = 0

    def __post_init__(self) -> None:
        """Refuse what could not be charged."""
        if self.amount < 0 or self.per < 1 or self.included < 0:
            raise ValueError(f"No price: {self.amount} for {self.per} beyond {self.included}.")
