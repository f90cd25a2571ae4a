"""The routes of billing, a part of the table in `routes`."""

from __future__ import annotations

from typing import Any, Final

from twinframe.control.http import billing, schemas
from twinframe.control.http.route_parts import (
    CHANGE,
    CREATE,
    INVALID,
    KEY,
    LOCATION_HEADER,
    MISSING,
    ORGANIZATION,
    PAGE,
    PREFIX,
    PROJECT,
    READ,
    RESOURCE,
)
from twinframe.http.operations import SIGNED_IN, Answer, Body, Parameter, Route

_TAG: Final = "Billing"
_ACCOUNT: Final = PREFIX + "/billing-accounts/{account_id}"
_STATEMENTS: Final = _ACCOUNT + "/statements"
_MONTH: Final = Parameter("month", "query", "Such as 2024-02; this month unless told.")
_ONE: Final = Answer(200, "The account.", schemas.Account)


def _build_account_routes(name: str, path: str, place: str) -> tuple[Route, ...]:
    return (
        Route(
            f"GET {path}/billing-accounts",
            f"BillingAccounts_ListOf{name}",
            f"List the billing accounts that {place} itself has or had",
            "billing/read",
            billing.list_accounts,
            Answer(200, "A page.", schemas.AccountList),
            _TAG,
            PAGE,
            errors=READ,
        ),
        Route(
            f"POST {path}/billing-accounts",
            f"BillingAccounts_OpenFor{name}",
            f"Have {place} paid for by an account from now on",
            "billing/write",
            billing.open_account,
            Answer(201, "The account.", schemas.Account, LOCATION_HEADER),
            _TAG,
            (KEY,),
            Body(schemas.AccountForm),
            CREATE,
        ),
    )


BILLING_ROUTES: tuple[Route, ...] = (
    Route(
        f"GET {PREFIX}/prices",
        "Prices_List",
        "Read the price list",
        SIGNED_IN,
        billing.list_prices,
        Answer(200, "The price list.", schemas.PriceList),
        _TAG,
        (_MONTH,),
        errors={400: INVALID},
    ),
    *_build_account_routes("Organization", ORGANIZATION, "an organization"),
    *_build_account_routes("Project", PROJECT, "a project"),
    Route(
        f"GET {PROJECT}/billing-account",
        "BillingAccounts_Payer",
        "Read who pays for a project, its organization's account included",
        "billing/read",
        billing.read_payer,
        Answer(200, "The account.", schemas.Payer),
        _TAG,
        errors=READ,
    ),
    Route(
        f"GET {_ACCOUNT}",
        "BillingAccounts_Get",
        "Read a billing account",
        "billing/read",
        billing.read_account,
        _ONE,
        _TAG,
        errors={404: MISSING},
    ),
    Route(
        f"PUT {_ACCOUNT}",
        "BillingAccounts_Update",
        "Replace what a billing account says",
        "billing/write",
        billing.update_account,
        _ONE,
        _TAG,
        body=Body(schemas.AccountForm),
        errors=CHANGE,
    ),
    Route(
        f"DELETE {_ACCOUNT}",
        "BillingAccounts_Close",
        "Close a billing account; it stays readable",
        "billing/write",
        billing.close_account,
        _ONE,
        _TAG,
        errors=CHANGE,
    ),
    Route(
        f"GET {_STATEMENTS}",
        "Statements_List",
        "List the final statements of an account",
        "billing/read",
        billing.list_statements,
        Answer(200, "A page.", schemas.StatementList),
        _TAG,
        PAGE,
        errors=READ,
    ),
    Route(
        f"GET {_STATEMENTS}/{{month}}",
        "Statements_Get",
        "Read the statement of a month, or its draft",
        "billing/read",
        billing.read_statement,
        Answer(200, "The statement.", dict[str, Any]),
        _TAG,
        errors=READ,
    ),
    Route(
        f"GET {_STATEMENTS}/{{month}}/delivery",
        "Statements_GetDelivery",
        "Read whether the billing provider has a statement",
        "billing/read",
        billing.read_delivery,
        Answer(200, "The delivery.", schemas.StatementDelivery),
        _TAG,
        errors=READ,
    ),
    Route(
        f"GET {RESOURCE}/usage",
        "Usage_List",
        "Read what was measured at a resource",
        "billing/read",
        billing.read_usage,
        Answer(200, "The usage.", schemas.Usage),
        _TAG,
        (_MONTH,),
        errors=READ,
    ),
    Route(
        f"GET {RESOURCE}/quotas",
        "Quotas_List",
        "Read what a resource may use and uses",
        "billing/read",
        billing.list_quotas,
        Answer(200, "The quotas.", schemas.Quotas),
        _TAG,
        errors=READ,
    ),
)
