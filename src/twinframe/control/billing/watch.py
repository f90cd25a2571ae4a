"""Follows resources for their bill and holds their quotas, in the transaction of each change."""

from __future__ import annotations

from twinframe.control.billing.offers import Offers
from twinframe.control.billing.quotas import check_resource_quota
from twinframe.control.billing.spans import follow_resource
from twinframe.control.resource_documents import Resource
from twinframe.model.clock import Clock, read_clock
from twinframe.storage.control import ControlTransaction


class BillingWatch:
    """A `ResourceWatch`. Hand `on_running` and `on_gone` to the provisioner."""

    def __init__(self, offers: Offers, clock: Clock = read_clock) -> None:
        self._offers = offers
        self._clock = clock

    def on_create(self, transaction: ControlTransaction, resource: Resource) -> None:
        """Refuse one more than its project may have. Raises `QuotaExceeded`."""
        self._check(transaction, resource)

    def on_update(self, transaction: ControlTransaction, before: Resource, after: Resource) -> None:
        """Refuse another sku of which the project has no more; else it counts from now on."""
        if after.sku is not before.sku:
            self._check(transaction, after)
        self._follow(transaction, after)

    def on_delete(self, transaction: ControlTransaction, resource: Resource) -> None:
        """What is being deleted costs nothing any more."""
        self._follow(transaction, resource)

    def on_running(self, transaction: ControlTransaction, resource: Resource) -> None:
        """What runs is paid for."""
        self._follow(transaction, resource)

    def on_gone(self, transaction: ControlTransaction, resource: Resource) -> None:
        """What is gone costs nothing, however it went."""
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
        follow_resource(transaction, resource, self._clock())
