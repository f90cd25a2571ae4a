"""The offered prices and quotas of all resource types, or the operator's own from a file.

`prices` stores the published price lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from twinframe.control.billing.prices import TypePrice
from twinframe.errors import ConfigurationError, ErrorDetail
from twinframe.hooks.resource_types.base import ResourceType
from twinframe.hooks.resource_types.prices import Meter, Price, Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit

Whole = Annotated[int, Field(ge=0, le=2**53)]


@dataclass(frozen=True, slots=True)
class TypeQuota:
    """A limit of one type of resource."""

    type: str
    limit: QuotaLimit


@dataclass(frozen=True, slots=True)
class Offers:
    """All prices and limits, in a fixed order."""

    prices: tuple[TypePrice, ...]
    quotas: tuple[TypeQuota, ...]

    def find_limits(self, type_: str) -> list[QuotaLimit]:
        """Return the limits of a type in all its skus; an empty list means no limits."""
        return [each.limit for each in self.quotas if each.type == type_]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    type: str
    sku: Annotated[Sku, Field(strict=False)]


class _PriceEntry(_Entry):
    meter: Annotated[Meter, Field(strict=False)]
    amount: Whole
    per: Annotated[Whole, Field(ge=1)] = 1
    included: Whole = 0


class _QuotaEntry(_Entry):
    quota: Annotated[Quota, Field(strict=False)]
    limit: Whole


class _PriceFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    prices: tuple[_PriceEntry, ...] | None = Field(default=None, strict=False)
    quotas: tuple[_QuotaEntry, ...] | None = Field(default=None, strict=False)


def build_offers(types: Iterable[ResourceType]) -> Offers:
    """Build the offers of the types themselves.

    Raises `ConfigurationError` for a duplicate price or limit.
    """
    known = list(types)
    return _build_sorted(
        [TypePrice(kind.name, price) for kind in known for price in kind.prices()],
        [TypeQuota(kind.name, limit) for kind in known for limit in kind.quotas()],
    )


def load_offers(types: Sequence[ResourceType], path: str) -> Offers:
    """Load the offers from the file at `path`, or those of the types if it is empty.

    The file is a JSON object of two lists, both optional: `prices` replaces all prices, `quotas`
    all limits. Raises `ConfigurationError` naming each wrong entry.
    """
    own = build_offers(types)
    if not path:
        return own
    try:
        file = _PriceFile.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"Billing__PriceList: {path} cannot be read: {error.strerror}."
        ) from error
    except ValidationError as error:
        raise _build_refusal(path, error) from error
    entries = (*(file.prices or ()), *(file.quotas or ()))
    _check_types(path, {each.type for each in entries}, {kind.name for kind in types})
    prices = [
        TypePrice(each.type, Price(each.sku, each.meter, each.amount, each.per, each.included))
        for each in file.prices or ()
    ]
    quotas = [
        TypeQuota(each.type, QuotaLimit(each.sku, each.quota, each.limit))
        for each in file.quotas or ()
    ]
    return _build_sorted(
        own.prices if file.prices is None else prices, own.quotas if file.quotas is None else quotas
    )


def _build_sorted(prices: Iterable[TypePrice], quotas: Iterable[TypeQuota]) -> Offers:
    priced: dict[tuple[str, int, int], TypePrice] = {}
    for price in prices:
        key = (price.type, _rank(price.price.sku), list(Meter).index(price.price.meter))
        _refuse_twice(key in priced, price.type, "price", price.price.meter, price.price.sku)
        priced[key] = price
    limited: dict[tuple[str, int, int], TypeQuota] = {}
    for quota in quotas:
        key = (quota.type, _rank(quota.limit.sku), list(Quota).index(quota.limit.quota))
        _refuse_twice(key in limited, quota.type, "limit", quota.limit.quota, quota.limit.sku)
        limited[key] = quota
    return Offers(
        tuple(priced[key] for key in sorted(priced)), tuple(limited[key] for key in sorted(limited))
    )


def _rank(sku: Sku) -> int:
    return list(Sku).index(sku)


def _refuse_twice(twice: bool, type_: str, noun: str, name: str, sku: Sku) -> None:
    if twice:
        raise ConfigurationError(
            f"{type_} has two entries for the {noun} of {name} in the sku {sku}; leave one."
        )


def _check_types(path: str, named: set[str], known: set[str]) -> None:
    if unknown := sorted(named - known):
        raise ConfigurationError(
            f"Billing__PriceList: {path} names {', '.join(unknown)}, which is no resource type. "
            f"Known are: {', '.join(sorted(known))}."
        )


def _build_refusal(path: str, error: ValidationError) -> ConfigurationError:
    details = tuple(
        ErrorDetail(
            "InvalidPriceList", f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}."
        )
        for each in error.errors(include_url=False)
    )
    shown = " ".join(each.message for each in details)
    return ConfigurationError(
        f"Billing__PriceList: {path} is no price list. {shown}", details=details
    )
