"""The provisioners' work queue: leases on resources, as `runtime.leases` describes them.

All functions run inside one transaction of the control store. The fence number also rises with each
new goal. Times of `due_at` are of the wall clock; one that is further ahead than any pause means
that the clock was set back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from twinframe.control.resources.documents import RECONCILE_ITEMS, Goal, ReconcileItem
from twinframe.runtime.leases import LeaseLost
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    Order,
    equal,
)

SECOND: Final = 1_000_000_000


LifeSign = tuple[int, int]
"""Fence and beat of a held item."""


def set_goal(
    transaction: ControlTransaction,
    *,
    resource_id: str,
    incarnation: str,
    goal: Goal,
    operation_id: str,
    now: int,
) -> None:
    """Give a resource a new goal, which replaces its former one.

    Its holder keeps the lease until it has noticed, so that no two handlers run at once; its fence
    number is no longer valid for any effect.
    """
    stored = RECONCILE_ITEMS.read(transaction, resource_id)
    item = ReconcileItem(resource_id, incarnation, goal, operation_id, fence=1, due_at=now)
    if stored is None:
        RECONCILE_ITEMS.insert(transaction, item)
        return
    item = replace(
        item, fence=stored.fence + 1, holder=stored.holder, beat=stored.beat + bool(stored.holder)
    )
    RECONCILE_ITEMS.replace(transaction, item)


def list_life_signs(session: ControlSession) -> dict[str, LifeSign]:
    """Return fence and beat of all held work, by resource id."""
    held = RECONCILE_ITEMS.find(session, equal("held", 1))
    return {item.id: (item.fence, item.beat) for item in held}


def read_fences(session: ControlSession, resource_ids: Collection[str]) -> dict[str, int]:
    """Return the present fence number of the work at each of these resources, if there is any."""
    found = ((each, RECONCILE_ITEMS.read(session, each)) for each in resource_ids)
    return {resource_id: item.fence for resource_id, item in found if item is not None}


def find_claimable(
    session: ControlSession, *, now: int, longest_pause: float, limit: int
) -> Sequence[ReconcileItem]:
    """Return work that is due and not held, the longest due first."""
    free, order = equal("held", 0), Order("due")
    past = Condition("due", Comparison.AT_MOST, now)
    due = RECONCILE_ITEMS.find(session, free, past, order=order, limit=limit)
    # NOTE: `longest_pause` and a minute ahead of now: the clock was set back.
    horizon = now + int((longest_pause + 60) * SECOND)
    beyond = Condition("due", Comparison.ABOVE, horizon)
    odd = RECONCILE_ITEMS.find(session, free, beyond, order=order, limit=limit)
    return [*due, *odd][:limit]


def claim(
    transaction: ControlTransaction,
    *,
    holder: str,
    items: Collection[ReconcileItem],
    silent: Mapping[str, LifeSign],
) -> list[ReconcileItem]:
    """Claim those of `items` that are unchanged since they were read, or whose holder is `silent`.

    Each claim counts as an attempt, whatever its outcome: a resource that kills its provisioner
    must not do so for ever.
    """
    claimed = []
    for seen in items:
        item = RECONCILE_ITEMS.read(transaction, seen.id)
        if item is not None and item == seen:
            claimed.append(_take(transaction, item, holder))
    for resource_id, sign in silent.items():
        item = RECONCILE_ITEMS.read(transaction, resource_id)
        if item is not None and item.holder and (item.fence, item.beat) == sign:
            claimed.append(_take(transaction, item, holder))
    return claimed


def renew(transaction: ControlTransaction, held: Mapping[str, str]) -> dict[str, ReconcileItem]:
    """Give a sign of life for all work that `held` still holds; return those items by resource id.

    `held` is the holder name by resource id: each claim has a name of its own.
    """
    renewed = {}
    for resource_id, holder in held.items():
        item = RECONCILE_ITEMS.read(transaction, resource_id)
        if item is not None and item.holder == holder:
            item = item.renew()
            RECONCILE_ITEMS.replace(transaction, item)
            renewed[resource_id] = item
    return renewed


def check_claim(session: ControlSession, mine: ReconcileItem) -> ReconcileItem:
    """Return the present item, if its holder and number are unchanged. Raises `LeaseLost`."""
    item = RECONCILE_ITEMS.read(session, mine.id)
    if item is None or not item.is_held_by(mine.fence, mine.holder):
        raise LeaseLost(f"The lease on {mine.id!r} with number {mine.fence} is lost.")
    return item


def finish(transaction: ControlTransaction, mine: ReconcileItem) -> None:
    """Mark the work as done; the number is kept, so that the next is higher. Raises `LeaseLost`."""
    item = check_claim(transaction, mine)
    RECONCILE_ITEMS.replace(transaction, replace(item.release(), due_at=None, attempts=0))


def put_back(transaction: ControlTransaction, mine: ReconcileItem, due_at: int) -> None:
    """Queue the work to be retried at `due_at`. Raises `LeaseLost`."""
    item = check_claim(transaction, mine)
    RECONCILE_ITEMS.replace(transaction, replace(item.release(), due_at=due_at))


def let_go(transaction: ControlTransaction, mine: ReconcileItem, now: int) -> bool:
    """Release the lease without a result, as at a stop or for a new goal; return whether it was
    held.

    NOTE: it compares the holder alone: a new goal has another number and the same holder.
    """
    item = RECONCILE_ITEMS.read(transaction, mine.id)
    if item is None or item.holder != mine.holder:
        return False
    attempts = max(0, item.attempts - 1) if item.fence == mine.fence else item.attempts
    RECONCILE_ITEMS.replace(transaction, replace(item.release(), due_at=now, attempts=attempts))
    return True


def _take(transaction: ControlTransaction, item: ReconcileItem, holder: str) -> ReconcileItem:
    taken = replace(item.claim(f"{holder}/{item.fence + 1}"), attempts=item.attempts + 1)
    RECONCILE_ITEMS.replace(transaction, taken)
    return taken
