"""The port through which resource types have graphs hosted. It knows neither storage nor web."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from twinframe.resourcetypes.prices import Sku
from twinframe.resourcetypes.quotas import QuotaLimit


@dataclass(frozen=True, slots=True, order=True)
class ResourceName:
    """Which resource, and which of those that had its id one after the other.

    `incarnation` is never given twice. What a type keeps outside of the control store bears both,
    so that a late hand of a deleted resource cannot touch its successor.
    """

    resource_id: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class HostedGraph:
    """A graph as it shall be hosted. `fence` rises with each attempt at the resource.

    `database_name` is what the operator calls the data; it need not be unique.
    `backup_retention_days` 0 is no backups. `limits` are those of the sku; what none of them names
    is not limited.
    """

    name: ResourceName
    project_id: str
    fence: int
    database_name: str
    max_concurrent_connections: int
    backup_retention_days: int
    audit_logging: bool
    analytics: bool
    sku: Sku = Sku.FREE
    limits: tuple[QuotaLimit, ...] = ()


class GraphHost(Protocol):
    """Brings up graphs of their own in the configured storage and tells their servers of them.

    Every call may come again, after any part of it was done before, also from two processes at
    once: the caller's lease may have run out. A call with a lower fence than one that was seen for
    this name changes nothing and raises `LeaseLost`, as far as the host can still tell; what it
    cannot tell is found by `list_names` and removed as an orphan.
    """

    async def create(self, graph: HostedGraph) -> None:
        """Make the graph's store where there is none. Data that is there stays."""

    async def publish(self, graph: HostedGraph) -> str:
        """Have the graph served as told from now on, whether it was before; its address."""

    async def unpublish(self, name: ResourceName, fence: int) -> None:
        """Have it served no more; without effect when it is not."""

    async def remove(self, name: ResourceName, fence: int) -> None:
        """Remove its data and backups; without effect when there are none."""

    async def check(self, graph: HostedGraph) -> str | None:
        """What is amiss with a graph that should be served as told; None if nothing."""

    async def list_names(self) -> Sequence[ResourceName]:
        """All of which anything is there: data, backups or an address."""
