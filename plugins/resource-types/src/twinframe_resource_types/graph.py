"""The resource type `Platform.Graph`: a digital-twin graph that this service hosts at an address of
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from twinframe import hookimpl
from twinframe.errors import ErrorDetail, ValidationFailed
from twinframe.hooks.resource_types.base import (
    IsAlive,
    ProvisionContext,
    Provisioned,
    ResourceSettings,
    ResourceType,
)
from twinframe.hooks.resource_types.hosting import GraphHost, HostedGraph, ResourceName
from twinframe.hooks.resource_types.prices import QUERY_CHARGE_SCALE, Meter, Price, Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit

_MIB: Final = 1024**2
_GIB: Final = 1024**3
_MILLION_UNITS: Final = 1_000_000 * QUERY_CHARGE_SCALE


class GraphSettings(ResourceSettings):
    """Settings of a graph. An empty `database_name` takes the resource's id."""

    database_name: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,62})?$")] = ""
    max_concurrent_connections: Annotated[int, Field(ge=1, le=10_000)] = 100
    backup_retention_days: Annotated[int, Field(ge=0, le=3650)] = 7
    enable_audit_logging: bool = False
    enable_analytics: bool = False


class GraphType(ResourceType):
    """A digital-twin graph in the configured storage, at an address of its own."""

    name = "Platform.Graph"
    settings_model = GraphSettings

    async def provision(self, context: ProvisionContext) -> Provisioned:
        """Create the data if there are none, then serve the graph with these settings.

        The address is returned last, so that a graph is behind every address a client sees.
        """
        host, graph = context.hosts_graphs, self._build_graph(context)
        await context.step("begun")
        await host.create(graph)
        await context.step("created")
        address = await host.publish(graph)
        await context.step("published")
        return Provisioned(address)

    async def deprovision(self, context: ProvisionContext) -> None:
        """Withdraw the address, then remove the data."""
        host = context.hosts_graphs
        await context.step("begun")
        await host.unpublish(context.name, context.fence)
        await context.step("unpublished")
        await host.remove(context.name, context.fence)
        await context.step("removed")

    async def health(self, context: ProvisionContext) -> str | None:
        """Report whether the graph is served with these settings."""
        return await context.hosts_graphs.check(self._build_graph(context))

    async def remove_orphans(
        self, graphs: GraphHost | None, is_alive: IsAlive
    ) -> Sequence[ResourceName]:
        """Remove addresses and data of graphs that no longer exist.

        A provisioner that stopped and woke after its resource was terminated may have left them.
        """
        if graphs is None:
            return ()
        removed = []
        for name in await graphs.list_names():
            if not await is_alive(name):
                await graphs.unpublish(name, _ABOVE_ALL)
                await graphs.remove(name, _ABOVE_ALL)
                removed.append(name)
        return removed

    def check_change(self, before: ResourceSettings, after: ResourceSettings) -> None:
        """Refuse a change of the data's name; settings without a name keep the one at creation."""
        if (
            isinstance(before, GraphSettings)
            and isinstance(after, GraphSettings)
            and after.database_name not in ("", before.database_name)
        ):
            shown = before.database_name or "the one it was created with"
            raise ValidationFailed(
                "The settings cannot become these.",
                details=(
                    ErrorDetail(
                        "InvalidSetting",
                        f"database_name: it is {shown} and cannot be changed. Create another "
                        "graph and import the data there.",
                    ),
                ),
            )

    def prices(self) -> Sequence[Price]:
        """A base fee, then fees for storage and queries beyond what is included."""
        return _PRICES

    def quotas(self) -> Sequence[QuotaLimit]:
        """The limits on what a graph may hold and do; an enterprise graph has none."""
        return _QUOTAS

    def _build_graph(self, context: ProvisionContext) -> HostedGraph:
        settings = self.parse_settings(context.settings)
        if not isinstance(settings, GraphSettings):
            raise TypeError(settings)
        return HostedGraph(
            name=context.name,
            project_id=context.project_id,
            fence=context.fence,
            database_name=settings.database_name or context.name.resource_id,
            max_concurrent_connections=settings.max_concurrent_connections,
            backup_retention_days=settings.backup_retention_days,
            audit_logging=settings.enable_audit_logging,
            analytics=settings.enable_analytics,
            sku=context.sku,
            limits=tuple(limit for limit in context.limits if limit.quota is not Quota.RESOURCES),
        )


_ABOVE_ALL: Final = 2**63 - 1
"""The fence under which orphans are removed."""

_PRICES: Final = (
    Price(Sku.PRO, Meter.MONTH, 4_900),
    Price(Sku.PRO, Meter.TWINS, 100, per=1_000, included=10_000),
    Price(Sku.PRO, Meter.OPERATIONS, 50, per=1_000_000, included=1_000_000),
    Price(Sku.PRO, Meter.QUERY_CHARGE, 50, per=_MILLION_UNITS, included=_MILLION_UNITS),
    Price(Sku.PRO, Meter.STORAGE_BYTES, 50, per=_GIB, included=_GIB),
    Price(Sku.ENTERPRISE, Meter.MONTH, 49_900),
    Price(Sku.ENTERPRISE, Meter.TWINS, 50, per=1_000, included=1_000_000),
    Price(Sku.ENTERPRISE, Meter.OPERATIONS, 20, per=1_000_000, included=100_000_000),
    Price(
        Sku.ENTERPRISE, Meter.QUERY_CHARGE, 20, per=_MILLION_UNITS, included=100 * _MILLION_UNITS
    ),
    Price(Sku.ENTERPRISE, Meter.STORAGE_BYTES, 25, per=_GIB, included=100 * _GIB),
)

_QUOTAS: Final = (
    QuotaLimit(Sku.FREE, Quota.RESOURCES, 10),
    QuotaLimit(Sku.FREE, Quota.TWINS, 10_000),
    QuotaLimit(Sku.FREE, Quota.STORAGE_BYTES, 256 * _MIB),
    QuotaLimit(Sku.FREE, Quota.OPERATIONS_PER_MINUTE, 1_000),
    QuotaLimit(Sku.FREE, Quota.OPERATIONS_PER_DAY, 100_000),
    QuotaLimit(Sku.PRO, Quota.TWINS, 1_000_000),
    QuotaLimit(Sku.PRO, Quota.STORAGE_BYTES, 50 * _GIB),
    QuotaLimit(Sku.PRO, Quota.OPERATIONS_PER_MINUTE, 60_000),
    QuotaLimit(Sku.PRO, Quota.OPERATIONS_PER_DAY, 20_000_000),
)


@hookimpl
def twinframe_resource_types() -> Sequence[ResourceType]:
    """This type."""
    return (GraphType(),)
