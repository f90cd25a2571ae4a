"""Records each resource's paid time and enforces quotas, in the transaction of each change."""

from __future__ import annotations

from twinframe.control.billing.offers import Offers
from twinframe.control.billing.quotas import check_resource_quota
from twinframe.control.billing.spans import build_span_id, follow_resource
from twinframe.control.billing.usage import find_second
from twinframe.control.resources.documents import Resource
from twinframe.model.clock import Clock, read_clock
from twinframe.storage.control import ControlTransaction


class BillingWatch:
    """A `ResourceWatch`. Pass `on_running` and `on_gone` to the provisioner."""

    def __init__(self, offers: Offers, clock: Clock = read_clock) -> None:
        self._offers = offers
        self._clock = clock

    def on_create(self, transaction: ControlTransaction, resource: Resource) -> None:
        """Refuse a resource beyond the project's quota. Raises `QuotaExceeded`."""
        self._check(transaction, resource)

    def on_update(self, transaction: ControlTransaction, before: Resource, after: Resource) -> None:
        """Refuse a sku beyond the project's quota; otherwise it is charged from now on."""
        if after.sku is not before.sku:
            self._check(transaction, after)
        self._follow(transaction, after)

    def on_delete(self, transaction: ControlTransaction, resource: Resource) -> None:
        """End the paid time of a resource that is being deleted."""
        self._follow(transaction, resource)

    def on_running(self, transaction: ControlTransaction, resource: Resource) -> None:
        """Begin the paid time of a running resource."""
        self._follow(transaction, resource)

    def on_gone(self, transaction: ControlTransaction, resource: Resource) -> None:
        """End the paid time of a resource that is gone, for any reason."""
        self._follow(transaction, resource)

    def _check(self, transaction: ControlTransaction, resource: Resource) -> None:
        check_resource_quota(
            transaction,
            self._offers,
            resource.project_id,
            resource.type,
            resource.sku,
            resource_id=resource.id,
        )

    def _follow(self, transaction: ControlTransaction, resource: Resource) -> None:
        # NOTE: a span holds all of its samples, and reserves one second for its last one.
        span_id = build_span_id(resource.resource_name)
        at = find_second(transaction, span_id, self._clock(), gap=1)
        follow_resource(transaction, resource, at)
