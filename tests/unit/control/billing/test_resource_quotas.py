"""Quotas in the control plane: how many resources of a sku, and what is used."""

from __future__ import annotations

import pytest

from tests.unit.control.billing.billing_world import HOUR, BillingWorld, moment
from tests.unit.control.tenants.access_world import ANN, EVE, SECOND, run
from twinframe.control.billing.usage import Usage
from twinframe.control.resources.documents import RESOURCES
from twinframe.errors import ControlNotFound, QuotaExceeded
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaUse


@pytest.fixture
def world() -> BillingWorld:
    return BillingWorld()


def test_one_resource_more_than_the_sku_allows_is_refused_with_the_figures(
    world: BillingWorld,
) -> None:
    world.bring_up("one", Sku.FREE)
    world.bring_up("two", Sku.FREE)
    with pytest.raises(QuotaExceeded, match="sku free allows 2 resources; 2 are used") as refused:
        world.bring_up("three", Sku.FREE)
    error = refused.value
    assert (error.quota, error.limit, error.used, error.retry_after) == ("resources", 2, 2, None)
    assert RESOURCES.read(world.store.session(), "three") is None


def test_the_quota_is_a_projects_and_a_skus(world: BillingWorld) -> None:
    run(world.projects.create(ANN, "acme", "Lab", project_id="lab"))
    world.bring_up("one", Sku.FREE)
    world.bring_up("two", Sku.FREE)
    world.bring_up("three", Sku.PRO)
    world.bring_up("four", Sku.FREE, project="lab")


def test_what_is_gone_takes_no_room(world: BillingWorld) -> None:
    world.bring_up("one", Sku.FREE)
    world.take_down(world.bring_up("two", Sku.FREE))
    world.bring_up("three", Sku.FREE)


def test_a_change_to_a_sku_that_is_used_up_is_refused_and_charges_nothing(
    world: BillingWorld,
) -> None:
    world.bring_up("one", Sku.FREE)
    two = world.bring_up("two", Sku.FREE)
    three = world.bring_up("three", Sku.PRO)
    with pytest.raises(QuotaExceeded):
        world.change_sku(three, Sku.FREE)
    world.change_sku(two, Sku.PRO)
    world.change_sku(three, Sku.FREE)


def test_a_full_project_may_change_what_it_has(world: BillingWorld) -> None:
    world.bring_up("one", Sku.FREE)
    world.change_sku(world.bring_up("two", Sku.FREE), Sku.FREE)


def test_quotas_are_shown_with_what_was_last_measured(world: BillingWorld) -> None:
    world.bring_up("boat", Sku.FREE)
    unknown = [
        QuotaUse(Quota.RESOURCES, 2, 1),
        QuotaUse(Quota.TWINS, 1_000, None),
        QuotaUse(Quota.OPERATIONS_PER_MINUTE, 60, None),
        QuotaUse(Quota.OPERATIONS_PER_DAY, 5_000, None),
    ]
    assert run(world.billing.list_quotas(ANN, "campus", "boat")) == unknown
    world.meters.shown["boat"] = Usage(10, 100, 0, 0)
    world.sample()
    world.now = moment(2024, 2, 2, 3)
    assert run(world.billing.list_quotas(ANN, "campus", "boat")) == unknown  # of today
    world.meters.shown["boat"] = Usage(20, 150, 0, 0)
    world.sample()
    world.now += HOUR * SECOND
    world.meters.shown["boat"] = Usage(30, 210, 0, 0)
    world.sample()
    uses = {each.quota: each.used for each in run(world.billing.list_quotas(ANN, "campus", "boat"))}
    assert uses[Quota.TWINS] == 30
    assert uses[Quota.OPERATIONS_PER_DAY] == 110


def test_quotas_of_others_are_not_shown(world: BillingWorld) -> None:
    world.bring_up("boat", Sku.FREE)
    with pytest.raises(ControlNotFound):
        run(world.billing.list_quotas(EVE, "campus", "boat"))
