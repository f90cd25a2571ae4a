"""The responders of prices, billing accounts, statements, usage and quotas."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from twinframe.control.billing.accounts import build_account_object, parse_account
from twinframe.control.billing.months import Month, find_month, parse_month, read_seconds
from twinframe.control.billing.prices import UNITS, PriceBook
from twinframe.control.billing.usage import Measured
from twinframe.control.http import views
from twinframe.control.http.requests import Call
from twinframe.control.records.listing import Listed
from twinframe.control.records.names import render_moment
from twinframe.control.records.scopes import Scope, parse_scope
from twinframe.hooks.resource_types.quotas import QuotaUse

_SECOND = 1_000_000_000


async def list_prices(call: Call) -> None:
    """GET: the price list in force in a month, by default the present one."""
    book = await call.plane.billing.read_prices(_read_month(call))
    call.write(_build_book(book))


async def list_accounts(call: Call, **names: str) -> None:
    """GET: the accounts that an organization or project itself has or had."""
    scope = _find_scope(names)
    part = call.part
    found = tuple(await call.plane.billing.list_accounts(call.actor, scope))
    listed = Listed(found[part.offset : part.end], len(found), part)
    call.write_page("billing_accounts", listed, build_account_object)


async def open_account(call: Call, **names: str) -> None:
    """POST: open an account that pays for an organization or project from now on."""
    draft = parse_account(await call.read_document())
    found = await call.plane.billing.open_account(call.actor, _find_scope(names), draft, call.key)
    location = f"/api/v1/billing-accounts/{found.id}"
    call.write_created(build_account_object(found), location)


async def read_payer(call: Call, project_id: str) -> None:
    """GET: the account that pays for a project now; null if there is none."""
    found = await call.plane.billing.find_payer(call.actor, project_id)
    account = None if found is None else build_account_object(found)
    call.write({"billing_account": account})


async def read_account(call: Call, account_id: str) -> None:
    """GET one."""
    found = await call.plane.billing.read_account(call.actor, account_id)
    call.write(build_account_object(found))


async def update_account(call: Call, account_id: str) -> None:
    """PUT: replace its contents."""
    draft = parse_account(await call.read_document())
    found = await call.plane.billing.update_account(call.actor, account_id, draft)
    call.write(build_account_object(found))


async def close_account(call: Call, account_id: str) -> None:
    """DELETE: close it; it stays readable."""
    found = await call.plane.billing.close_account(call.actor, account_id)
    call.write(build_account_object(found))


async def list_statements(call: Call, account_id: str) -> None:
    """GET: the final statements, the latest first."""
    listed = await call.plane.billing.list_statements(call.actor, account_id, call.part)
    call.write_page("statements", listed, orjson.Fragment)


async def read_statement(call: Call, account_id: str, month: str) -> None:
    """GET: the final statement of a month, or a draft of it."""
    wanted = parse_month(month)
    found = await call.plane.billing.read_statement(call.actor, account_id, wanted)
    call.response.data = found.body


async def read_delivery(call: Call, account_id: str, month: str) -> None:
    """GET: whether the billing provider has a final statement."""
    wanted = parse_month(month)
    found = await call.plane.billing.read_delivery(call.actor, account_id, wanted)
    view = {
        "statement_id": found.id,
        "state": found.state,
        "attempts": found.attempts,
        "reference": found.reference or None,
        "error": found.error or None,
    }
    call.write(view)


async def read_usage(call: Call, project_id: str, resource_id: str) -> None:
    """GET: the measured usage of a resource in a month, by default the present one."""
    month = _read_month(call)
    found = await call.plane.billing.read_usage(call.actor, project_id, resource_id, month)
    call.write({"month": str(month), "samples": [_build_sample(e) for e in found]})


async def list_quotas(call: Call, project_id: str, resource_id: str) -> None:
    """GET: the quotas of a resource's sku, and their use."""
    found: Sequence[QuotaUse] = await call.plane.billing.list_quotas(
        call.actor, project_id, resource_id
    )
    view = [{"quota": each.quota, "limit": each.limit, "used": each.used} for each in found]
    call.write({"quotas": view})


def _read_month(call: Call) -> Month:
    text = call.read_text("month")
    if text is not None:
        return parse_month(text)
    return find_month(read_seconds(call.plane.context.clock()))


def _find_scope(names: dict[str, str]) -> Scope:
    type_ = "project" if "project_id" in names else "organization"
    return parse_scope(type_, names[f"{type_}_id"])


def _build_book(book: PriceBook) -> views.View:
    return {
        "currency": book.currency,
        "published_at": render_moment(book.published * _SECOND),
        "prices": [
            {
                "type": each.type,
                "sku": each.price.sku,
                "meter": each.price.meter,
                "unit": UNITS[each.price.meter],
                "amount": each.price.amount,
                "per": each.price.per,
                "included": each.price.included,
            }
            for each in book.prices
        ],
    }


def _build_sample(sample: Measured) -> views.View:
    return {
        "at": render_moment(sample.at * _SECOND),
        "from": render_moment(sample.interval.begin * _SECOND),
        "to": render_moment(sample.interval.end * _SECOND),
        "twins": sample.twins,
        "storage_bytes": sample.storage_bytes,
        "operations": sample.operations,
        "query_charge": sample.query_charge,
    }
