"""Billing over hosted graphs: their meters are read here, months closed, statements handed over.

What is owed for what was measured is told in `control.billing`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from twinframe.app.hosting import GraphUsage
from twinframe.control.billing.providers import load_providers
from twinframe.control.billing.rounds import (
    MeterUnreadable,
    Settlement,
    StatementDelivery,
    UsageSampler,
)
from twinframe.control.billing.usage import Usage, UsageMeter
from twinframe.errors import TwinframeError
from twinframe.resourcetypes.hosting import GraphHost, HostedGraph, ResourceName
from twinframe.resourcetypes.prices import QUERY_CHARGE_SCALE
from twinframe.settings import Settings
from twinframe.storage.control_runner import ControlRunner

_LOG = logging.getLogger(__name__)
_PAUSE = 60.0


class ReadsUsage(Protocol):
    """Whoever hosts graphs that are metered."""

    async def read_usage(self, name: ResourceName) -> GraphUsage | None:
        """What is to be billed; None where there is no such graph."""


class HostMeter:
    """Reads the meters of hosted graphs; other resources have none."""

    def __init__(self, host: ReadsUsage) -> None:
        self._host = host

    async def sample(self, name: ResourceName) -> Usage | None:
        """The meters of this graph; None when it is not served, or another under its id."""
        found = await self._host.read_usage(name)
        if found is None:
            return None
        charge = round(found.query_charge * QUERY_CHARGE_SCALE)
        return Usage(found.twins, found.operations, charge, found.storage_bytes, name.incarnation)


class MeteredHost:
    """A `GraphHost` that has graphs measured a last time before they go."""

    def __init__(self, host: GraphHost, sampler: UsageSampler) -> None:
        self._host = host
        self._sampler = sampler

    async def create(self, graph: HostedGraph) -> None:
        """As the host does."""
        await self._host.create(graph)

    async def publish(self, graph: HostedGraph) -> str:
        """As the host does."""
        return await self._host.publish(graph)

    async def unpublish(self, name: ResourceName, fence: int) -> None:
        """Measure it while it is served, then as the host does.

        NOTE: a deletion must not wait for a meter that cannot be read.
        """
        try:
            await self._sampler.sample_last(name)
        except MeterUnreadable as error:
            _LOG.warning("%s", error.message)
        await self._host.unpublish(name, fence)

    async def remove(self, name: ResourceName, fence: int) -> None:
        """As the host does."""
        await self._host.remove(name, fence)

    async def check(self, graph: HostedGraph) -> str | None:
        """As the host does."""
        return await self._host.check(graph)

    async def list_names(self) -> Sequence[ResourceName]:
        """As the host does."""
        return await self._host.list_names()


class BillingRounds:
    """Measures, closes months, hands statements over, again and again; several processes may."""

    def __init__(self, runner: ControlRunner, settings: Settings, meter: UsageMeter) -> None:
        self.sampler = UsageSampler(runner, meter, settings.billing.sampling_seconds)
        self._settlement = Settlement(runner, settings.billing.settling_seconds)
        self._delivery = StatementDelivery(runner, load_providers())

    async def run(self) -> None:
        """Go round for ever. Errors of the control store are logged and tried again."""
        # NOTE: apart, as what is not measured in its period is lost, and providers may take long.
        async with asyncio.TaskGroup() as rounds:
            rounds.create_task(self._repeat(self._measure))
            rounds.create_task(self._repeat(self._delivery.deliver_due))

    async def _measure(self) -> None:
        await self.sampler.sample_due()
        await self._settlement.settle_due()

    async def _repeat(self, work: Callable[[], Awaitable[object]]) -> None:
        while True:
            try:
                await work()
            except TwinframeError as error:
                _LOG.warning("Billing goes on after: %s", error.message)
            await asyncio.sleep(_PAUSE)
