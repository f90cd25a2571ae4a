"""The port by which resource types create and serve hosted graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import QuotaLimit


@dataclass(frozen=True, slots=True, order=True)
class ResourceName:
    """The name of a resource, distinguished from others that had its id before.

    `incarnation` never recurs. Everything a type keeps outside of the control store has both, so
    that a late attempt at a deleted resource cannot touch its successor.
    """

    resource_id: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class HostedGraph:
    """A graph in its wanted state. `fence` rises with each attempt at the resource.

    `database_name` is the operator's name for the data; it need not be unique.
    `backup_retention_days` 0 is no backups. `limits` are those of the sku; a quota without one is
    not limited.
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
    """Creates graphs in the configured storage and has their servers serve them.

    Every call may be repeated, after any part of it was done before, also from two processes at
    once: the caller's lease may have run out. A call with a lower fence than one that was seen for
    this name changes nothing and raises `LeaseLost`, as far as the host still knows; the rest is
    found by `list_names` and removed as an orphan.
    """

    async def create(self, graph: HostedGraph) -> None:
        """Create the graph's store if there is none. Existing data are kept."""

    async def publish(self, graph: HostedGraph) -> str:
        """Serve the graph with these settings from now on; return its address."""

    async def unpublish(self, name: ResourceName, fence: int) -> None:
        """Stop serving it; without effect when it is not served."""

    async def remove(self, name: ResourceName, fence: int) -> None:
        """Remove its data and backups; without effect when there are none."""

    async def check(self, graph: HostedGraph) -> str | None:
        """Return the fault of a graph that should be served so; None if there is none."""

    async def list_names(self) -> Sequence[ResourceName]:
        """List all names for which anything exists: data, backups or an address."""


P = ParamSpec("P")
T = TypeVar("T")


async def run_blocking(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `call` in a thread; when cancelled, end only after it has ended.

    Otherwise the next handler could begin while the thread is still running.
    """
    running = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # read, so that asyncio does not warn about it
        raise cancelled
    return running.result()
