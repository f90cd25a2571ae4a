"""The facade of the control plane: one object for each group of use cases over one store."""

from __future__ import annotations

from collections.abc import Callable

from twinframe.control.billing.accounts import ACCOUNTS
from twinframe.control.billing.billing import Billing
from twinframe.control.billing.closing import CLOSINGS
from twinframe.control.billing.offers import Offers
from twinframe.control.billing.prices import BOOKS
from twinframe.control.billing.spans import SPANS
from twinframe.control.billing.statements import DELIVERIES, STATEMENT_KIND
from twinframe.control.billing.usage import USAGE
from twinframe.control.billing.watch import BillingWatch
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import (
    ASSIGNMENTS,
    AUDIT,
    KEPT_ANSWERS,
    ORGANIZATIONS,
    PROJECTS,
    RETIRED,
    ROLES,
    USERS,
)
from twinframe.control.records.idempotency import Idempotency
from twinframe.control.records.runner import ControlRunner
from twinframe.control.resources.documents import (
    OPERATIONS,
    RECONCILE_ITEMS,
    RESOURCES,
    ROUNDS,
)
from twinframe.control.resources.guarded import GuardedResources
from twinframe.control.resources.requests import RequestReader
from twinframe.control.resources.resources import Resources
from twinframe.control.tenants.access import Access
from twinframe.control.tenants.assignments import Assignments
from twinframe.control.tenants.audit import AuditLog
from twinframe.control.tenants.organizations import Organizations
from twinframe.control.tenants.projects import Projects
from twinframe.control.tenants.roles import Roles
from twinframe.control.tenants.users import Users
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.model.json import JsonLimits
from twinframe.settings import BillingSettings, ControlSettings

_SECOND = 1_000_000_000
_TABLES = (
    ORGANIZATIONS,
    PROJECTS,
    RESOURCES,
    OPERATIONS,
    RECONCILE_ITEMS,
    ROUNDS,
    USERS,
    ROLES,
    ASSIGNMENTS,
    AUDIT,
    KEPT_ANSWERS,
    RETIRED,
    ACCOUNTS,
    SPANS,
    USAGE,
    CLOSINGS,
    BOOKS,
    DELIVERIES,
)
RECORD_KINDS = (*(table.declaration for table in _TABLES), STATEMENT_KIND)
"""All kinds of record of the control plane: its store is opened with them."""


class ControlPlane:
    """The use cases that HTTP calls. Each of them checks its caller's permissions itself.

    `types` are those that resources may have; `wake` is called when there is new work for a
    provisioner. `offers` are the prices and limits of the types. Call `start` once the store is
    open.
    """

    def __init__(
        self,
        runner: ControlRunner,
        types: ResourceTypeRegistry,
        settings: ControlSettings,
        offers: Offers,
        *,
        billing: BillingSettings | None = None,
        json_limits: JsonLimits | None = None,
        wake: Callable[[], None] | None = None,
    ) -> None:
        kept = Idempotency(int(settings.idempotency_lifetime * _SECOND))
        self.runner = runner
        self.context = ControlContext(runner, idempotency=kept)
        reader = RequestReader(types, json_limits or JsonLimits(), settings.max_settings_bytes)
        self.organizations = Organizations(self.context)
        self.projects = Projects(self.context)
        self.users = Users(self.context)
        self.roles = Roles(self.context)
        self.assignments = Assignments(self.context)
        self.access = Access(self.context)
        self.audit = AuditLog(self.context)
        self.watch = BillingWatch(offers)
        self.resources = GuardedResources(
            self.context, Resources(types), reader, (self.watch,), wake
        )
        charging = billing or BillingSettings()
        self.billing = Billing(
            self.context, offers, currency=charging.currency, provider=charging.provider
        )

    async def start(self) -> None:
        """Publish the prices, if they have changed."""
        await self.billing.start()

    async def is_ready(self) -> bool:
        """Return whether the control store answers. Raises `StorageError` if it does not."""
        await self.runner.read(lambda session: session.read("organization", "-"))
        return True
