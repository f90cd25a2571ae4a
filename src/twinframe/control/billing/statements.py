"""Monthly statements: line items and their sum, as text that never changes once it is final.

A statement is a draft until its month is closed.
"""

from __future__ import annotations

import asyncio
import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from twinframe.control.billing.accounts import ACCOUNTS, BillingAccount, find_paid, list_accounts
from twinframe.control.billing.charges import Line, build_lines
from twinframe.control.billing.closing import find_closed
from twinframe.control.billing.months import Interval, Month, parse_month, read_seconds
from twinframe.control.billing.prices import LEVELS, UNITS, PriceBook, find_book
from twinframe.control.billing.spans import Span, find_spans
from twinframe.control.billing.usage import read_measured
from twinframe.control.records.documents import Table
from twinframe.control.records.names import render_moment
from twinframe.control.records.runner import ControlRunner
from twinframe.control.records.scopes import Scope
from twinframe.control.tenants.audit import find_time
from twinframe.hooks.resource_types.prices import Meter
from twinframe.storage.control import (
    ControlSession,
    ControlTransaction,
    Order,
    Record,
    RecordKind,
    equal,
)


class DeliveryState(enum.StrEnum):
    """Whether the billing provider has a statement."""

    PENDING = "pending"
    DELIVERED = "delivered"


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of one final statement, with the same id, to the provider."""

    id: str
    account_id: str
    state: DeliveryState
    attempts: int = 0
    reference: str = ""
    error: str = ""


DELIVERIES: Final = Table(
    "billing_delivery",
    Delivery,
    {"state": lambda value: value.state.value},
    indexes=(("state", "id"),),
)
STATEMENT_KIND: Final = RecordKind(
    "billing_statement",
    keys=("account", "month"),
    unique=(("account", "month"),),
    indexes=(("account", "month"),),
)
"""Final statements; the body is the statement itself and never changes."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What an account owes for a month. `body` is its JSON text, the statement itself."""

    id: str
    account_id: str
    month: Month
    final: bool
    body: bytes

    def read(self) -> dict[str, Any]:
        """Return the statement as a JSON object. NOTE: its integers may have more than 64 bits."""
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass(frozen=True, slots=True)
class _Basis:
    """The input of a statement, except the measurements."""

    account: BillingAccount
    month: Month
    until: int
    final: bool
    book: PriceBook
    spans: Sequence[tuple[Span, Sequence[Interval]]]


async def build_statement(
    runner: ControlRunner, account: BillingAccount, month: Month, now: int
) -> Statement:
    """Build the statement of a month from the records at `now` (nanoseconds).

    For a closed month that is always the same text. PERF: each resource is read by itself, and the
    event loop continues between two of them.
    """
    basis = await runner.read(lambda session: _read_basis(session, account, month, now))
    lines: list[Line] = []
    for span, paid in basis.spans:

        def read(session: ControlSession, span: Span = span) -> Any:
            return read_measured(session, span.id, month)

        measured = await runner.read(read)
        lines += build_lines(span, paid, measured, basis.book, month, basis.until)
        await asyncio.sleep(0)
    return render_statement(basis.account, month, basis.book, lines, basis.until, basis.final)


def build_statement_id(account_id: str, month: Month) -> str:
    """Build the id of the statement of an account and month.

    NOTE: an account's id contains no dot.
    """
    return f"{account_id}.{month}"


def render_statement(
    account: BillingAccount,
    month: Month,
    book: PriceBook,
    lines: Sequence[Line],
    until: int,
    final: bool,
) -> Statement:
    """Render the text of a statement, which depends only on its arguments."""
    statement_id = build_statement_id(account.id, month)
    document = {
        "statement_id": statement_id,
        "account_id": account.id,
        "scope_type": account.scope_type,
        "scope_id": account.scope_id,
        "month": str(month),
        "status": "final" if final else "draft",
        "until": render_moment(until * 1_000_000_000),
        "month_seconds": month.interval.seconds,
        "currency": book.currency,
        "line_items": [_build_item(line) for line in lines],
        "total": sum(line.amount for line in lines),
    }
    body = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    return Statement(statement_id, account.id, month, final, body)


def find_statement(session: ControlSession, account_id: str, month: Month) -> Statement | None:
    """Return the final statement, if the month is settled."""
    record = session.read(STATEMENT_KIND.name, build_statement_id(account_id, month))
    return None if record is None else _parse(record, month)


def keep_statement(transaction: ControlTransaction, statement: Statement) -> bool:
    """Store a final statement for good, to be delivered; return whether it is new."""
    if find_statement(transaction, statement.account_id, statement.month) is not None:
        return False
    keys = {"account": statement.account_id, "month": str(statement.month)}
    record = Record(STATEMENT_KIND.name, statement.id, statement.body, keys)
    transaction.insert(record)
    pending = Delivery(statement.id, statement.account_id, DeliveryState.PENDING)
    DELIVERIES.insert(transaction, pending)
    return True


def list_settled(
    session: ControlSession, account_id: str, *, offset: int = 0, limit: int | None = None
) -> tuple[list[bytes], int]:
    """List the final statements of an account as texts, the latest month first, and their
    number.
    """
    conditions = [equal("account", account_id)]
    kind = STATEMENT_KIND.name
    order = Order("month", descending=True)
    found = session.find(kind, conditions, order=order, offset=offset, limit=limit)
    return [record.body for record in found], session.count(kind, conditions)


def list_settled_months(session: ControlSession, account_id: str, limit: int) -> list[Month]:
    """List the months for which an account has final statements, the latest first."""
    of_account = [equal("account", account_id)]
    order = Order("month", descending=True)
    found = session.find(STATEMENT_KIND.name, of_account, order=order, limit=limit)
    return [parse_month(str(record.keys["month"])) for record in found]


def _read_basis(session: ControlSession, account: BillingAccount, month: Month, now: int) -> _Basis:
    closed = find_closed(session)
    book = find_book(session, month)
    spans = []
    owners: dict[str, Sequence[BillingAccount]] = {}
    # The account as it is stored: it may have been closed since it was read.
    account = ACCOUNTS.read(session, account.id) or account
    for span in find_spans(session, account.scope_type, account.scope_id, month.interval):
        project = span.project_id
        if project not in owners:
            owners[project] = list_accounts(session, Scope("project", project))
        if paid := find_paid(account, owners[project], month.interval):
            spans.append((span, paid))
    now = read_seconds(find_time(session, now))
    until = min(max(now, month.interval.begin), month.interval.end)
    final = closed is not None and month <= closed
    return _Basis(account, month, month.interval.end if final else until, final, book, spans)


def _build_item(line: Line) -> dict[str, object]:
    unit = UNITS[line.price.meter]
    if line.price.meter in LEVELS and line.price.meter is not Meter.MONTH:
        unit = f"{unit} second"
    item: dict[str, object] = {
        "project_id": line.span.project_id,
        "resource_id": line.span.resource_id,
        "resource_since": render_moment(line.span.interval.begin * 1_000_000_000),
        "type": line.span.type,
        "sku": line.price.sku.value,
        "meter": line.price.meter.value,
        "seconds": line.seconds,
    }
    if line.measured is not None:
        item["measured_seconds"] = line.measured
    return item | {
        "unit": "second" if line.price.meter is Meter.MONTH else unit,
        "quantity": line.quantity,
        "included": line.included,
        "billable": line.billable,
        "price": {"amount": line.price.amount, "per": line.price.per},
        "amount": line.amount,
    }


def _parse(record: Record, month: Month) -> Statement:
    return Statement(record.id, str(record.keys["account"]), month, True, record.body)
