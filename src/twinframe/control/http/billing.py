"""The responders of prices, billing accounts, statements, usage and quotas."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from falcon.asgi import Request, Response

from twinframe.control.billing.accounts import build_account_object, parse_account
from twinframe.control.billing.months import Month, find_month, parse_month, read_seconds
from twinframe.control.billing.prices import UNITS, PriceBook
from twinframe.control.billing.usage import Measured
from twinframe.control.http import views
from twinframe.control.http.api_context import ControlApiContext, read_actor
from twinframe.control.http.requests import parse_key, parse_slice, read_body
from twinframe.control.records.listing import Listed
from twinframe.control.records.names import render_moment
from twinframe.control.records.scopes import Scope, parse_scope
from twinframe.hooks.resource_types.quotas import QuotaUse
from twinframe.model.json import parse_json

_SECOND = 1_000_000_000


async def list_prices(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: the price list in force in a month, by default the present one."""
    book = await api.plane.billing.read_prices(_read_month(api, request))
    views.write_json(response, _build_book(book))


async def list_accounts(
    api: ControlApiContext, request: Request, response: Response, **names: str
) -> None:
    """GET: the accounts that an organization or project itself has or had."""
    scope = _find_scope(names)
    part = parse_slice(request, api.settings)
    found = tuple(await api.plane.billing.list_accounts(read_actor(request), scope))
    listed = Listed(found[part.offset : part.end], len(found), part)
    views.write_listed(response, "billing_accounts", listed, build_account_object)


async def open_account(
    api: ControlApiContext, request: Request, response: Response, **names: str
) -> None:
    """POST: open an account that pays for an organization or project from now on."""
    body = await read_body(request)
    draft = parse_account(parse_json(body, api.json_limits))
    found = await api.plane.billing.open_account(
        read_actor(request), _find_scope(names), draft, parse_key(request, body)
    )
    location = f"/api/v1/billing-accounts/{found.id}"
    views.write_created(response, build_account_object(found), location)


async def read_payer(
    api: ControlApiContext, request: Request, response: Response, project_id: str
) -> None:
    """GET: the account that pays for a project now; null if there is none."""
    found = await api.plane.billing.find_payer(read_actor(request), project_id)
    account = None if found is None else build_account_object(found)
    views.write_json(response, {"billing_account": account})


async def read_account(
    api: ControlApiContext, request: Request, response: Response, account_id: str
) -> None:
    """GET one."""
    found = await api.plane.billing.read_account(read_actor(request), account_id)
    views.write_json(response, build_account_object(found))


async def update_account(
    api: ControlApiContext, request: Request, response: Response, account_id: str
) -> None:
    """PUT: replace its contents."""
    draft = parse_account(parse_json(await read_body(request), api.json_limits))
    found = await api.plane.billing.update_account(read_actor(request), account_id, draft)
    views.write_json(response, build_account_object(found))


async def close_account(
    api: ControlApiContext, request: Request, response: Response, account_id: str
) -> None:
    """DELETE: close it; it stays readable."""
    found = await api.plane.billing.close_account(read_actor(request), account_id)
    views.write_json(response, build_account_object(found))


async def list_statements(
    api: ControlApiContext, request: Request, response: Response, account_id: str
) -> None:
    """GET: the final statements, the latest first."""
    part = parse_slice(request, api.settings)
    listed = await api.plane.billing.list_statements(read_actor(request), account_id, part)
    views.write_listed(response, "statements", listed, orjson.Fragment)


async def read_statement(
    api: ControlApiContext, request: Request, response: Response, account_id: str, month: str
) -> None:
    """GET: the final statement of a month, or a draft of it."""
    wanted = parse_month(month)
    found = await api.plane.billing.read_statement(read_actor(request), account_id, wanted)
    response.data = found.body


async def read_delivery(
    api: ControlApiContext, request: Request, response: Response, account_id: str, month: str
) -> None:
    """GET: whether the billing provider has a final statement."""
    wanted = parse_month(month)
    found = await api.plane.billing.read_delivery(read_actor(request), account_id, wanted)
    view = {
        "statement_id": found.id,
        "state": found.state,
        "attempts": found.attempts,
        "reference": found.reference or None,
        "error": found.error or None,
    }
    views.write_json(response, view)


async def read_usage(
    api: ControlApiContext, request: Request, response: Response, project_id: str, resource_id: str
) -> None:
    """GET: the measured usage of a resource in a month, by default the present one."""
    month = _read_month(api, request)
    found = await api.plane.billing.read_usage(read_actor(request), project_id, resource_id, month)
    views.write_json(response, {"month": str(month), "samples": [_build_sample(e) for e in found]})


async def list_quotas(
    api: ControlApiContext, request: Request, response: Response, project_id: str, resource_id: str
) -> None:
    """GET: the quotas of a resource's sku, and their use."""
    found: Sequence[QuotaUse] = await api.plane.billing.list_quotas(
        read_actor(request), project_id, resource_id
    )
    view = [{"quota": each.quota, "limit": each.limit, "used": each.used} for each in found]
    views.write_json(response, {"quotas": view})


def _read_month(api: ControlApiContext, request: Request) -> Month:
    text = request.get_param("month")
    if text is not None:
        return parse_month(text)
    return find_month(read_seconds(api.plane.context.clock()))


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
