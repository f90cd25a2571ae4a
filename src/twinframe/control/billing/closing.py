"""Closes months, after which the usage and accounts of their statements can no longer change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from twinframe.control.billing.months import Month, parse_month
from twinframe.control.records.documents import Table
from twinframe.storage.control import ControlSession, ControlTransaction

_ONLY: Final = "closing"


@dataclass(frozen=True, slots=True)
class _Closing:
    id: str
    through: str


CLOSINGS: Final = Table("billing_closing", _Closing)
"""One record: the last closed month."""


def find_closed(session: ControlSession) -> Month | None:
    """Return the last closed month; all before it are closed. None before the first."""
    found = CLOSINGS.read(session, _ONLY)
    return None if found is None else parse_month(found.through)


def find_first_open(session: ControlSession) -> int:
    """Return the first second that is in no closed month."""
    closed = find_closed(session)
    return 0 if closed is None else closed.interval.end


def close_month(transaction: ControlTransaction, month: Month) -> Month:
    """Close a month and all before it, for ever; return the last closed month."""
    closed = find_closed(transaction)
    if closed is not None and month <= closed:
        return closed
    CLOSINGS.put(transaction, _Closing(_ONLY, str(month)))
    return month
