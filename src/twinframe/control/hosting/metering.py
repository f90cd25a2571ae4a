"""Connects billing to hosted graphs: reads their meters, closes months and sends statements.

`control.billing` computes the amounts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from twinframe.control.billing.providers import load_providers
from twinframe.control.billing.rounds import (
    MeterUnreadable,
    Settlement,
    StatementDelivery,
    UsageSampler,
)
from twinframe.control.billing.usage import UsageMeter
from twinframe.control.records.runner import ControlRunner
from twinframe.errors import TwinframeError
from twinframe.hooks.resource_types.hosting import GraphHost, HostedGraph, ResourceName
from twinframe.settings import Settings

_LOG = logging.getLogger(__name__)
_PAUSE = 60.0


class MeteredHost:
    """A `GraphHost` that measures a graph a last time before it is removed."""

    def __init__(self, host: GraphHost, sampler: UsageSampler) -> None:
        self._host = host
        self._sampler = sampler

    async def create(self, graph: HostedGraph) -> None:
        """Call the host."""
        await self._host.create(graph)

    async def publish(self, graph: HostedGraph) -> str:
        """Call the host."""
        return await self._host.publish(graph)

    async def unpublish(self, name: ResourceName, fence: int) -> None:
        """Measure the graph while it is served, then call the host.

        NOTE: a deletion must not wait for a meter that cannot be read.
        """
        try:
            await self._sampler.sample_last(name)
        except MeterUnreadable as error:
            _LOG.warning("%s", error.message)
        await self._host.unpublish(name, fence)

    async def remove(self, name: ResourceName, fence: int) -> None:
        """Call the host."""
        await self._host.remove(name, fence)

    async def check(self, graph: HostedGraph) -> str | None:
        """Call the host."""
        return await self._host.check(graph)

    async def list_names(self) -> Sequence[ResourceName]:
        """Call the host."""
        return await self._host.list_names()


class BillingRounds:
    """Measures, closes months and sends statements, periodically; several processes may do so."""

    def __init__(self, runner: ControlRunner, settings: Settings, meter: UsageMeter) -> None:
        self.sampler = UsageSampler(runner, meter, settings.billing.sampling_seconds)
        self._settlement = Settlement(runner, settings.billing.settling_seconds)
        self._delivery = StatementDelivery(runner, load_providers())

    async def run(self) -> None:
        """Repeat for ever. Errors of the control store are logged and retried."""
        # NOTE: separate, as usage that is not measured in its period is lost, and providers may be
        # slow.
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
