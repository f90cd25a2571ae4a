"""The use cases of billing: accounts, statements, usage, quotas, prices.

SEC: a caller that may not read the bill of a scope learns nothing of its accounts, not even that
they exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.control.billing.accounts import (
    ACCOUNTS,
    AccountDraft,
    AccountScope,
    BillingAccount,
    close_account,
    find_payer,
    list_accounts,
    open_account,
)
from twinframe.control.billing.closing import find_first_open
from twinframe.control.billing.months import Month, read_seconds
from twinframe.control.billing.offers import Offers
from twinframe.control.billing.prices import PriceBook, find_book, publish_prices
from twinframe.control.billing.providers import ProviderRegistry, load_providers
from twinframe.control.billing.quotas import list_quotas
from twinframe.control.billing.spans import build_span_id
from twinframe.control.billing.statements import (
    DELIVERIES,
    Delivery,
    Statement,
    build_statement,
    build_statement_id,
    find_statement,
    list_settled,
)
from twinframe.control.billing.usage import Measured, read_measured
from twinframe.control.records.actors import Actor
from twinframe.control.records.context import ControlContext
from twinframe.control.records.idempotency import RequestKey
from twinframe.control.records.listing import FIRST, Listed, Slice
from twinframe.control.records.names import build_id
from twinframe.control.records.scopes import PLATFORM, Scope, ScopePath, find_path
from twinframe.control.resources.documents import RESOURCES, Resource
from twinframe.control.tenants.access import require_permission
from twinframe.control.tenants.audit import AuditTrail, find_time
from twinframe.errors import ControlNotFound, PermissionMissing
from twinframe.hooks.resource_types.quotas import QuotaUse
from twinframe.storage.control import ControlSession, ControlTransaction

READ = "billing/read"
WRITE = "billing/write"


class Billing:
    """The operations that clients may call. `currency` is that of the offers' prices."""

    def __init__(
        self,
        context: ControlContext,
        offers: Offers,
        *,
        currency: str,
        providers: ProviderRegistry | None = None,
        provider: str = "manual",
    ) -> None:
        """`providers` None uses those installed.

        Raises `ConfigurationError` when the chosen one is missing.
        """
        self._context = context
        self.offers = offers
        self._currency = currency
        self._provider = (providers or load_providers()).find(provider).name

    async def start(self) -> PriceBook:
        """Publish the prices, if they have changed. Call it once, before all else."""
        now = self._context.clock()
        return await self._context.runner.write(
            lambda transaction: publish_prices(transaction, self.offers.prices, self._currency, now)
        )

    async def read_prices(self, month: Month) -> PriceBook:
        """Return the prices of a month. Every caller may read them."""
        return await self._context.runner.read(lambda session: find_book(session, month))

    async def open_account(
        self, actor: Actor, scope: Scope, draft: AccountDraft, request: RequestKey | None = None
    ) -> BillingAccount:
        """Open a new account that pays for an organization or project from now on.

        Needs `billing/write` there. Raises `ControlConflict` when it has an open account.
        """
        kind = _read_scope_type(scope)
        account_id = build_id("bill")

        def apply(transaction: ControlTransaction) -> BillingAccount:
            now = self._context.clock()
            path = require_permission(transaction, actor, scope, WRITE, now).path

            def create() -> BillingAccount:
                at = self._find_moment(transaction)
                account = BillingAccount(
                    account_id,
                    kind,
                    scope.id,
                    path.organization_id,
                    draft.name,
                    draft.email,
                    self._provider,
                    at,
                    at,
                    dict(draft.details),
                )
                open_account(transaction, account)
                self._note(transaction, actor, "open", path, None, account)
                return account

            return self._context.idempotency.run_once(
                transaction, actor, request, now, ACCOUNTS, create
            )

        return await self._context.runner.write(apply)

    async def update_account(
        self, actor: Actor, account_id: str, draft: AccountDraft
    ) -> BillingAccount:
        """Replace the contents of an account. Needs `billing/write` at its scope."""

        def apply(transaction: ControlTransaction) -> BillingAccount:
            before, path = self._admit(transaction, actor, account_id, WRITE)
            after = replace(
                before,
                name=draft.name,
                email=draft.email,
                details=dict(draft.details),
                updated_at=max(self._find_moment(transaction), before.updated_at),
            )
            ACCOUNTS.replace(transaction, after)
            self._note(transaction, actor, "update", path, before, after)
            return after

        return await self._context.runner.write(apply)

    async def close_account(self, actor: Actor, account_id: str) -> BillingAccount:
        """Close an account, which pays for nothing from now on but still owes. Repeating changes
        nothing.

        Needs `billing/write` at its scope.
        """

        def apply(transaction: ControlTransaction) -> BillingAccount:
            before, path = self._admit(transaction, actor, account_id, WRITE)
            after = close_account(transaction, account_id, self._find_moment(transaction))
            if after != before:
                self._note(transaction, actor, "close", path, before, after)
            return after

        return await self._context.runner.write(apply)

    async def read_account(self, actor: Actor, account_id: str) -> BillingAccount:
        """One account. Needs `billing/read` at its scope."""
        return await self._context.runner.read(
            lambda session: self._admit(session, actor, account_id, READ)[0]
        )

    async def list_accounts(self, actor: Actor, scope: Scope) -> Sequence[BillingAccount]:
        """List the accounts that a scope itself has or had. Needs `billing/read` there."""
        _read_scope_type(scope)
        now = self._context.clock()

        def read(session: ControlSession) -> Sequence[BillingAccount]:
            require_permission(session, actor, scope, READ, now)
            return list_accounts(session, scope)

        return await self._context.runner.read(read)

    async def find_payer(self, actor: Actor, project_id: str) -> BillingAccount | None:
        """Return the account that pays for a project now, even an inherited one. Needs
        `billing/read` there.

        SEC: of an inherited account that the actor may not read, only id and scope are returned.
        """
        now = self._context.clock()

        def read(session: ControlSession) -> BillingAccount | None:
            scope = Scope("project", project_id)
            path = require_permission(session, actor, scope, READ, now).path
            payer = find_payer(session, path.organization_id, project_id)
            if payer is None or payer.scope == scope:
                return payer
            if self._find_path(session, actor, payer, READ) is not None:
                return payer
            return replace(payer, name="", email="", details={}, reference="")

        return await self._context.runner.read(read)

    async def read_statement(self, actor: Actor, account_id: str, month: Month) -> Statement:
        """Return the final statement of a month, or a draft until the month is closed.

        Needs `billing/read` at the account's scope.
        """
        account = await self.read_account(actor, account_id)
        kept = await self._context.runner.read(
            lambda session: find_statement(session, account_id, month)
        )
        if kept is not None:
            return kept
        return await build_statement(self._context.runner, account, month, self._context.clock())

    async def list_statements(
        self, actor: Actor, account_id: str, wanted: Slice = FIRST
    ) -> Listed[bytes]:
        """List the final statements of an account as JSON texts, the latest first.

        Needs `billing/read` at the account's scope.
        """

        def read(session: ControlSession) -> Listed[bytes]:
            self._admit(session, actor, account_id, READ)
            found, total = list_settled(
                session, account_id, offset=wanted.offset, limit=wanted.limit
            )
            return Listed(tuple(found), total, wanted)

        return await self._context.runner.read(read)

    async def read_delivery(self, actor: Actor, account_id: str, month: Month) -> Delivery:
        """Return whether the provider has a final statement. Needs `billing/read` at the scope."""

        def read(session: ControlSession) -> Delivery:
            self._admit(session, actor, account_id, READ)
            statement_id = build_statement_id(account_id, month)
            found = DELIVERIES.read(session, statement_id)
            if found is None:
                raise ControlNotFound("final statement", statement_id)
            return found

        return await self._context.runner.read(read)

    async def read_usage(
        self, actor: Actor, project_id: str, resource_id: str, month: Month
    ) -> Sequence[Measured]:
        """List the measurements of a resource in a month, in order. Needs `billing/read` there."""

        def read(session: ControlSession) -> Sequence[Measured]:
            resource = self._read_resource(session, actor, project_id, resource_id)
            return read_measured(session, build_span_id(resource.resource_name), month)

        return await self._context.runner.read(read)

    async def list_quotas(
        self, actor: Actor, project_id: str, resource_id: str
    ) -> Sequence[QuotaUse]:
        """List the quotas of a resource with limit and use. Needs `billing/read` there."""
        now = read_seconds(self._context.clock())

        def read(session: ControlSession) -> Sequence[QuotaUse]:
            resource = self._read_resource(session, actor, project_id, resource_id)
            return list_quotas(session, self.offers, resource, now)

        return await self._context.runner.read(read)

    def _find_moment(self, transaction: ControlTransaction) -> int:
        """Return the time now, but never before the last change nor in a closed month."""
        now = find_time(transaction, self._context.clock())
        return max(now, find_first_open(transaction) * 1_000_000_000)

    def _read_resource(
        self, session: ControlSession, actor: Actor, project_id: str, resource_id: str
    ) -> Resource:
        now = self._context.clock()
        require_permission(session, actor, Scope("resource", resource_id), READ, now)
        found = RESOURCES.read(session, resource_id)
        if found is None or found.project_id != project_id:
            raise ControlNotFound("resource", resource_id)
        return found

    def _admit(
        self, session: ControlSession, actor: Actor, account_id: str, permission: str
    ) -> tuple[BillingAccount, ScopePath]:
        """Return the account and its path, if the actor holds the permission there.

        Raises `ControlNotFound` without `billing/read`, whether it exists or not.
        """
        account = ACCOUNTS.read(session, account_id)
        path = None if account is None else self._find_path(session, actor, account, READ)
        if account is None or path is None:
            raise ControlNotFound("billing account", account_id)
        if permission != READ and self._find_path(session, actor, account, permission) is None:
            raise PermissionMissing(permission)
        return account, path

    def _find_path(
        self, session: ControlSession, actor: Actor, account: BillingAccount, permission: str
    ) -> ScopePath | None:
        """Return the path of the account if the actor holds the permission there.

        The bills of a deleted scope belong to the scope that contained it.
        """
        now = self._context.clock()
        above = (Scope("organization", account.organization_id), PLATFORM)
        places = (each for each in (account.scope, *above) if find_path(session, each) is not None)
        scope = next(places, PLATFORM)
        try:
            return require_permission(session, actor, scope, permission, now).path
        except (ControlNotFound, PermissionMissing):
            return None

    def _note(
        self,
        transaction: ControlTransaction,
        actor: Actor,
        verb: str,
        path: ScopePath,
        before: BillingAccount | None,
        after: BillingAccount,
    ) -> None:
        trail = AuditTrail(transaction, actor, self._context.clock())
        target = f"billing-account:{after.id}"
        trail.add(f"billing-accounts/{verb}", target, path, before=before, after=after)


def _read_scope_type(scope: Scope) -> AccountScope:
    """Return the scope's type.

    Raises `ControlNotFound` for a scope that has no bills of its own.
    """
    if scope.type == "organization" or scope.type == "project":
        return scope.type
    raise ControlNotFound("billing account", scope.key)
