"""A control plane with billing over a store, a clock that is moved, and meters that are set."""

from __future__ import annotations

import asyncio
import calendar
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from tests.unit.control.tenants.access_world import ANN, SECOND, World, run
from twinframe.control.billing.accounts import AccountDraft, BillingAccount
from twinframe.control.billing.billing import Billing
from twinframe.control.billing.months import Month
from twinframe.control.billing.offers import build_offers
from twinframe.control.billing.providers import ProviderRegistry
from twinframe.control.billing.rounds import Settlement, StatementDelivery, UsageSampler
from twinframe.control.billing.statements import Statement
from twinframe.control.billing.usage import Usage
from twinframe.control.billing.watch import BillingWatch
from twinframe.control.records.documents import PROJECTS
from twinframe.control.records.runner import ControlRunner
from twinframe.control.records.scopes import Scope
from twinframe.control.records.states import ResourceState
from twinframe.control.resources.documents import RESOURCES, Resource
from twinframe.errors import StorageBusy
from twinframe.hooks.resource_types.base import ResourceType
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.hooks.resource_types.prices import Meter, Price, Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit
from twinframe.storage.control import ControlStore, ControlTransaction

HOUR = 3600
DRAFT = AccountDraft("Acme Ltd", "bills@acme.example", {"tax_number": "X 1"})


def moment(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    """Nanoseconds since the epoch, UTC."""
    return calendar.timegm((year, month, day, hour, minute, second)) * SECOND


class Boat(ResourceType):
    """A type with a price for each meter."""

    name = "Test.Boat"

    def prices(self) -> Sequence[Price]:
        return (
            Price(Sku.PRO, Meter.MONTH, 31_00),
            Price(Sku.PRO, Meter.TWINS, 100, per=1_000, included=500),
            Price(Sku.PRO, Meter.OPERATIONS, 7, per=1_000, included=10_000),
            Price(Sku.PRO, Meter.QUERY_CHARGE, 3, per=100),
            Price(Sku.PRO, Meter.STORAGE_BYTES, 50, per=1024**3),
            Price(Sku.ENTERPRISE, Meter.MONTH, 310_00),
        )

    def quotas(self) -> Sequence[QuotaLimit]:
        return (
            QuotaLimit(Sku.FREE, Quota.RESOURCES, 2),
            QuotaLimit(Sku.FREE, Quota.TWINS, 1_000),
            QuotaLimit(Sku.FREE, Quota.OPERATIONS_PER_MINUTE, 60),
            QuotaLimit(Sku.FREE, Quota.OPERATIONS_PER_DAY, 5_000),
        )


class Meters:
    """Meters that show what they are told; None is none, a text a failure."""

    def __init__(self) -> None:
        self.shown: dict[str, Usage | str | None] = {}
        self.calls = 0

    async def sample(self, name: ResourceName) -> Usage | None:
        self.calls += 1
        found = self.shown.get(name.resource_id)
        if isinstance(found, str):
            raise StorageBusy(found)
        return found


class BillingWorld(World):
    """Billing on top of the world of access: acme with the project campus, owned by ann."""

    def __init__(
        self, types: Sequence[ResourceType] = (Boat(),), store: ControlStore | None = None
    ) -> None:
        super().__init__(store)
        self.now = moment(2024, 2, 1)
        self.runner_ = cast("ControlRunner", self.runner)
        self.meters = Meters()
        self.offers = build_offers(types)
        self.providers = ProviderRegistry()
        self.billing = Billing(self.context, self.offers, currency="EUR", providers=self.providers)
        self.watch = BillingWatch(self.offers, lambda: self.now)
        self.start()
        run(self.billing.start())

    def build_sampler(self, seconds: int = HOUR) -> UsageSampler:
        """One of perhaps many provisioners that measure."""
        return UsageSampler(self.runner_, self.meters, seconds, lambda: self.now)

    def sample(self) -> tuple[int, int]:
        """A round of one of them: counted and failed."""
        report = run(self.build_sampler().sample_due())
        return report.counted, report.failed

    def settle(self, wait: int = HOUR) -> int:
        """A round of settlement by a new process."""
        return asyncio.run(Settlement(self.runner_, wait, lambda: self.now).settle_due())

    def deliver(self) -> int:
        """A round of deliveries."""
        return asyncio.run(StatementDelivery(self.runner_, self.providers).deliver_due())

    def open(self, scope: Scope) -> BillingAccount:
        """An account of ann's."""
        return run(self.billing.open_account(ANN, scope, DRAFT))

    def statement(self, account: BillingAccount, month: Month) -> Statement:
        """What ann reads."""
        return asyncio.run(self.billing.read_statement(ANN, account.id, month))

    def bring_up(
        self,
        resource_id: str,
        sku: Sku = Sku.PRO,
        *,
        project: str = "campus",
        incarnation: str = "one",
    ) -> Resource:
        """A resource that runs from now on."""
        found = PROJECTS.read(self.store.session(), project)
        assert found is not None
        resource = Resource(
            resource_id,
            incarnation,
            found.organization_id,
            project,
            "A boat",
            "Test.Boat",
            sku,
            ResourceState.CREATING,
            "{}",
            self.now,
            self.now,
        )

        def apply(transaction: ControlTransaction) -> Resource:
            RESOURCES.insert(transaction, resource)
            self.watch.on_create(transaction, resource)
            running = replace(resource, status=ResourceState.RUNNING)
            RESOURCES.replace(transaction, running)
            self.watch.on_running(transaction, running)
            return running

        return run(self.runner.write(apply))

    def change_sku(self, resource: Resource, sku: Sku) -> Resource:
        """It gets another sku now."""
        after = replace(resource, sku=sku, status=ResourceState.UPDATING)

        def apply(transaction: ControlTransaction) -> Resource:
            RESOURCES.replace(transaction, after)
            self.watch.on_update(transaction, resource, after)
            running = replace(after, status=ResourceState.RUNNING)
            RESOURCES.replace(transaction, running)
            self.watch.on_running(transaction, running)
            return running

        return run(self.runner.write(apply))

    def take_down(self, resource: Resource) -> None:
        """Its deletion is asked for now, and done."""

        def apply(transaction: ControlTransaction) -> None:
            going = replace(resource, status=ResourceState.DELETING)
            RESOURCES.replace(transaction, going)
            self.watch.on_delete(transaction, going)
            gone = replace(going, status=ResourceState.TERMINATED, ended_at=self.now)
            self.watch.on_gone(transaction, gone)
            RESOURCES.replace(transaction, gone)

        run(self.runner.write(apply))
