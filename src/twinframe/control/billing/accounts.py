"""Billing accounts: who pays for an organization or a project, and since when.

A project without an account of its own is paid for by its organization's. A closed account stays
readable: it owes for the time while it was open. Bodies of requests become an `AccountDraft`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from twinframe.control.billing.months import Interval, read_seconds, subtract
from twinframe.control.records.actors import parse_email
from twinframe.control.records.documents import Table
from twinframe.control.records.names import parse_name, render_moment
from twinframe.control.records.scopes import Scope
from twinframe.errors import ControlConflict, InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.model.values import JsonValue
from twinframe.storage.control import ControlSession, ControlTransaction, equal

_MEMBERS: Final = ("name", "email", "details")
_MOST_DETAILS: Final = 20
_LONGEST_KEY: Final = 64
_LONGEST_VALUE: Final = 500


@dataclass(frozen=True, slots=True)
class AccountDraft:
    """The requested contents of an account.

    `details` are required on a bill: address, tax number.
    """

    name: str
    email: str
    details: Mapping[str, str]


def parse_account(body: JsonValue) -> AccountDraft:
    """Parse a whole account: `name`, `email`, and optional `details`. Raises `InvalidArgument`."""
    if not isinstance(body, dict):
        raise InvalidArgument("The body must be a JSON object with name and email.")
    for member in body:
        if member not in _MEMBERS:
            hint = render_hint(member, _MEMBERS, "It has")
            raise InvalidArgument(f"A billing account has no member {member[:100]!a}. {hint}")
    return AccountDraft(
        parse_name("a billing account", _read_text(body, "name")),
        parse_email(_read_text(body, "email")),
        _parse_details(body.get("details", {})),
    )


def _read_text(body: Mapping[str, JsonValue], member: str) -> str:
    value = body.get(member)
    if isinstance(value, str):
        return value
    raise InvalidArgument(f"A billing account needs the text {member}.")


def _parse_details(value: JsonValue) -> Mapping[str, str]:
    refusal = (
        f"details is an object of at most {_MOST_DETAILS} texts: names of 1 to {_LONGEST_KEY} "
        f"characters, values of at most {_LONGEST_VALUE}."
    )
    if not isinstance(value, dict) or len(value) > _MOST_DETAILS:
        raise InvalidArgument(refusal)
    found = {}
    for name, text in value.items():
        if not isinstance(text, str) or len(text) > _LONGEST_VALUE:
            raise InvalidArgument(refusal)
        if not 1 <= len(name) <= _LONGEST_KEY:
            raise InvalidArgument(refusal)
        found[name] = text
    return found


AccountScope: TypeAlias = Literal["organization", "project"]

_FOREVER: Final = 2**62  # seconds; beyond every clock


@dataclass(frozen=True, slots=True)
class BillingAccount:
    """The payer of a scope. `details` are required on a bill: address, tax number, reference.

    `reference` is the account's id at the `provider`, empty until the provider gave one.
    `closed_at` is None while it is open.
    """

    id: str
    scope_type: AccountScope
    scope_id: str
    organization_id: str
    name: str
    email: str
    provider: str
    opened_at: int
    updated_at: int
    details: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    closed_at: int | None = None

    @property
    def scope(self) -> Scope:
        """The scope it pays for."""
        return Scope(self.scope_type, self.scope_id)

    @property
    def interval(self) -> Interval:
        """The seconds in which it is open."""
        closed = _FOREVER if self.closed_at is None else read_seconds(self.closed_at)
        opened = read_seconds(self.opened_at)
        return Interval(opened, max(opened, closed))


ACCOUNTS: Final = Table(
    "billing_account",
    BillingAccount,
    {
        "scope": lambda value: value.scope.key,
        "organization": lambda value: value.organization_id,
        "holder": lambda value: value.scope.key if value.closed_at is None else None,
    },
    unique=(("holder",),),
    indexes=(("scope", "id"), ("organization", "id")),
)
"""`holder` is the scope while the account is open: a scope has one open account at most."""


def open_account(transaction: ControlTransaction, account: BillingAccount) -> None:
    """Store a new account. Raises `ControlConflict` when its scope has an open one."""
    present = find_own(transaction, account.scope)
    if present is not None:
        raise ControlConflict(
            f"The {account.scope_type} {account.scope_id!r} has the billing account "
            f"{present.id!r} already; change or close that one."
        )
    ACCOUNTS.insert(transaction, account)


def close_account(transaction: ControlTransaction, account_id: str, now: int) -> BillingAccount:
    """Close an account, which pays for nothing from now on; closing it again changes nothing."""
    account = read_account(transaction, account_id)
    if account.closed_at is not None:
        return account
    closed = replace(
        account, closed_at=max(now, account.opened_at), updated_at=max(now, account.updated_at)
    )
    ACCOUNTS.replace(transaction, closed)
    return closed


def read_account(session: ControlSession, account_id: str) -> BillingAccount:
    """Return the account. Raises `ControlNotFound`."""
    return ACCOUNTS.require(session, account_id)


def find_own(session: ControlSession, scope: Scope) -> BillingAccount | None:
    """Return the open account of this scope itself."""
    return ACCOUNTS.find_first(session, equal("holder", scope.key))


def find_payer(
    session: ControlSession, organization_id: str, project_id: str
) -> BillingAccount | None:
    """Return the account that pays for a project now: its own, else its organization's, else
    none.
    """
    own = find_own(session, Scope("project", project_id))
    return own or find_own(session, Scope("organization", organization_id))


def list_accounts(session: ControlSession, scope: Scope) -> tuple[BillingAccount, ...]:
    """List all accounts that the scope itself has or had, by id."""
    return ACCOUNTS.find(session, equal("scope", scope.key))


def find_paid(
    account: BillingAccount, own: Sequence[BillingAccount], within: Interval
) -> list[Interval]:
    """Return the parts of `within` in which the account pays for a project of its scope.

    `own` are all accounts that the project itself has or had. No second is paid for twice: the
    organization pays while the project has no open account.
    """
    open_ = account.interval.cut(within)
    if account.scope_type == "project":
        return [open_] if open_.seconds else []
    return subtract(open_, (each.interval for each in own))


def build_account_object(account: BillingAccount) -> dict[str, object]:
    """Build the account object of the API."""
    shown: dict[str, object] = {
        "account_id": account.id,
        "scope_type": account.scope_type,
        "scope_id": account.scope_id,
        "name": account.name,
        "email": account.email,
        "details": dict(account.details),
        "provider": account.provider,
        "status": "open" if account.closed_at is None else "closed",
        "created_at": render_moment(account.opened_at),
        "updated_at": render_moment(account.updated_at),
    }
    if account.closed_at is not None:
        shown["closed_at"] = render_moment(account.closed_at)
    return shown
