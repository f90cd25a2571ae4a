"""Quotas in the control plane: limits on the resources of a project, and the use of each quota.

The server of a graph enforces the quotas of its content and rate, with
`hooks.resource_types.quotas`.
"""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.control.billing.months import DAY, find_month
from twinframe.control.billing.offers import Offers
from twinframe.control.billing.spans import build_span_id
from twinframe.control.billing.usage import Measured, read_measured
from twinframe.control.resources.documents import RESOURCES, Resource
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaUse, check_quota, find_limit
from twinframe.storage.control import ControlSession, equal


def count_resources(
    session: ControlSession, project_id: str, type_: str, sku: Sku, *, without: str = ""
) -> int:
    """Count the resources of a type and sku in a project that are not terminated, except one."""
    found = RESOURCES.find(session, equal("present", project_id), equal("type", type_))
    return sum(each.sku is sku and each.id != without for each in found)


def check_resource_quota(
    session: ControlSession,
    offers: Offers,
    project_id: str,
    type_: str,
    sku: Sku,
    *,
    resource_id: str = "",
) -> None:
    """Check that the project may have one more resource of this type and sku.

    `resource_id` is the one that gets the sku, if it exists already. Call it in the transaction
    that creates or changes the resource. Raises `QuotaExceeded`.
    """
    limits = offers.find_limits(type_)
    if find_limit(limits, sku, Quota.RESOURCES) is None:
        return
    used = count_resources(session, project_id, type_, sku, without=resource_id)
    check_quota(limits, sku, Quota.RESOURCES, used=used)


def list_quotas(
    session: ControlSession, offers: Offers, resource: Resource, now: int
) -> list[QuotaUse]:
    """List the quotas of a resource and their use, as last measured; `now` in seconds.

    `used` is None if it was not measured today, and for the minute, which only the server of the
    resource knows.
    """
    limits = offers.find_limits(resource.type)
    span_id = build_span_id(resource.resource_name)
    today = [
        each
        for each in read_measured(session, span_id, find_month(now))
        if now - now % DAY <= each.at <= now
    ]
    uses = []
    for quota in Quota:
        limit = find_limit(limits, resource.sku, quota)
        if limit is None:
            continue
        if quota is Quota.RESOURCES:
            used: int | None = count_resources(
                session, resource.project_id, resource.type, resource.sku
            )
        else:
            used = _read_used(quota, today)
        uses.append(QuotaUse(quota, limit, used))
    return uses


def _read_used(quota: Quota, today: Sequence[Measured]) -> int | None:
    if not today or quota is Quota.OPERATIONS_PER_MINUTE:
        return None
    if quota is Quota.OPERATIONS_PER_DAY:
        return sum(each.operations for each in today)
    return today[-1].twins if quota is Quota.TWINS else today[-1].storage_bytes
