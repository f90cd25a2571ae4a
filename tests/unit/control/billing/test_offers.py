"""Prices and quotas of the types, and the operator's file in their place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.control.billing.billing_world import Boat
from twinframe.control.billing.offers import build_offers, load_offers
from twinframe.errors import ConfigurationError
from twinframe.hooks.resource_types.base import ResourceType
from twinframe.hooks.resource_types.prices import Meter, Price, Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit


class Doubled(Boat):
    def prices(self) -> Sequence[Price]:
        return (Price(Sku.PRO, Meter.TWINS, 1), Price(Sku.PRO, Meter.TWINS, 2))


class DoublyLimited(Boat):
    def quotas(self) -> Sequence[QuotaLimit]:
        return (QuotaLimit(Sku.PRO, Quota.TWINS, 1), QuotaLimit(Sku.PRO, Quota.TWINS, 2))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "prices.json"


def _load(file: Path, document: object) -> object:
    file.write_text(json.dumps(document), encoding="utf-8")
    return load_offers([Boat()], str(file))


def test_offers_are_in_a_fixed_order_whatever_that_of_the_types() -> None:
    class Ship(Boat):
        name = "Test.Ship"

    assert build_offers([Boat(), Ship()]) == build_offers([Ship(), Boat()])


@pytest.mark.parametrize("kind", [Doubled(), DoublyLimited()])
def test_two_prices_or_limits_of_one_thing_are_refused(kind: ResourceType) -> None:
    with pytest.raises(ConfigurationError, match=r"Test\.Boat has two entries .* twins .* pro"):
        build_offers([kind])


def test_without_a_file_the_types_say_what_they_cost() -> None:
    assert load_offers([Boat()], "") == build_offers([Boat()])


def test_a_file_replaces_what_it_lists_and_nothing_else(file: Path) -> None:
    price = {"type": "Test.Boat", "sku": "pro", "meter": "month", "amount": 5}
    file.write_text(json.dumps({"prices": [price]}), encoding="utf-8")
    found = load_offers([Boat()], str(file))
    assert [each.price for each in found.prices] == [Price(Sku.PRO, Meter.MONTH, 5)]
    assert found.quotas == build_offers([Boat()]).quotas
    limit = {"type": "Test.Boat", "sku": "free", "quota": "twins", "limit": 7}
    file.write_text(json.dumps({"quotas": [limit]}), encoding="utf-8")
    found = load_offers([Boat()], str(file))
    assert found.find_limits("Test.Boat") == [QuotaLimit(Sku.FREE, Quota.TWINS, 7)]
    assert found.prices == build_offers([Boat()]).prices


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"amount": 4.9}, r"prices\.0\.amount"),
        ({"amount": -1}, r"prices\.0\.amount"),
        ({"amount": "5"}, r"prices\.0\.amount"),
        ({"amount": True}, r"prices\.0\.amount"),
        ({"per": 0}, r"prices\.0\.per"),
        ({"meter": "moth"}, r"prices\.0\.meter"),
        ({"sku": "gold"}, r"prices\.0\.sku"),
        ({"currency": "EUR"}, r"prices\.0\.currency"),
        ({"type": "Test.Bot"}, r"names Test\.Bot, which is no resource type"),
    ],
)
def test_a_wrong_entry_stops_the_start_and_is_named(
    file: Path, entry: dict[str, object], message: str
) -> None:
    price = {"type": "Test.Boat", "sku": "pro", "meter": "month", "amount": 5} | entry
    with pytest.raises(ConfigurationError, match=message):
        _load(file, {"prices": [price]})


def test_a_file_that_is_not_there_stops_the_start(file: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load_offers([Boat()], str(file))
