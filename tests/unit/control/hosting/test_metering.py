"""Meters of hosted graphs, and the last look at them before they go."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.control.billing.billing_world import HOUR, BillingWorld
from tests.unit.control.tenants.access_world import ANN, SECOND, run
from twinframe.control.billing.months import Month
from twinframe.control.billing.rounds import StatementDelivery, UsageSampler
from twinframe.control.billing.usage import Usage
from twinframe.control.hosting.metering import BillingRounds, MeteredHost
from twinframe.errors import StorageBusy
from twinframe.hooks.resource_types.hosting import GraphHost, HostedGraph, ResourceName
from twinframe.settings import Settings

BOAT = ResourceName("boat", "one")
FEBRUARY = Month(2024, 2)


class Host(GraphHost):
    """A host of one graph that notes its calls."""

    def __init__(self, usage: Usage | None) -> None:
        self.usage = usage
        self.broken = False
        self.calls: list[str] = []
        self.measured = asyncio.Event()

    async def sample(self, name: ResourceName) -> Usage | None:
        self.calls.append("measure")
        self.measured.set()
        if self.broken:
            raise StorageBusy("not now")
        return self.usage if name == BOAT else None

    async def create(self, graph: HostedGraph) -> None:
        self.calls.append("create")

    async def publish(self, graph: HostedGraph) -> str:
        self.calls.append("publish")
        return "http://boat.test"

    async def unpublish(self, name: ResourceName, fence: int) -> None:
        self.calls.append(f"unpublish {fence}")
        self.usage = None

    async def remove(self, name: ResourceName, fence: int) -> None:
        self.calls.append(f"remove {fence}")

    async def check(self, graph: HostedGraph) -> str | None:
        self.calls.append("check")
        return "amiss"

    async def list_names(self) -> list[ResourceName]:
        self.calls.append("list")
        return [BOAT]


@pytest.fixture
def host() -> Host:
    return Host(Usage(7, 120, 234, 4_096, "one"))


@pytest.fixture
def world() -> BillingWorld:
    found = BillingWorld()
    found.bring_up("boat")
    return found


def _sampler(world: BillingWorld, host: Host) -> UsageSampler:
    return UsageSampler(world.runner_, host, HOUR, lambda: world.now)


def _operations(world: BillingWorld) -> list[int]:
    found = run(world.billing.read_usage(ANN, "campus", "boat", FEBRUARY))
    return [each.operations for each in found]


def test_a_graph_is_measured_before_it_goes_and_not_after(world: BillingWorld, host: Host) -> None:
    metered = MeteredHost(host, _sampler(world, host))
    world.now += 5 * SECOND
    run(metered.unpublish(BOAT, 3))
    assert host.calls == ["measure", "unpublish 3"]
    run(metered.unpublish(BOAT, 4))  # an attempt that died is made again
    assert _operations(world) == [120]


def test_a_meter_that_cannot_be_read_holds_up_no_deletion(world: BillingWorld, host: Host) -> None:
    host.broken = True
    run(MeteredHost(host, _sampler(world, host)).unpublish(BOAT, 3))
    assert host.calls == ["measure", "unpublish 3"]
    assert _operations(world) == []


def test_all_else_is_the_hosts(world: BillingWorld, host: Host) -> None:
    metered = MeteredHost(host, _sampler(world, host))
    graph = HostedGraph(BOAT, "campus", 1, "boat", 10, 0, False, False)

    async def call() -> tuple[object, ...]:
        await metered.create(graph)
        await metered.remove(BOAT, 9)
        return (
            await metered.publish(graph),
            await metered.check(graph),
            await metered.list_names(),
        )

    assert asyncio.run(call()) == ("http://boat.test", "amiss", [BOAT])
    assert host.calls == ["create", "remove 9", "publish", "check", "list"]


def test_the_rounds_go_on_when_the_store_fails(
    world: BillingWorld, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.control.hosting.metering._PAUSE", 0.0)
    rounds = BillingRounds(world.runner_, Settings(), host)
    read, failures = world.runner.read, [StorageBusy("full"), StorageBusy("full")]

    async def fail_twice(work: object) -> object:
        if failures:
            raise failures.pop()
        return await read(work)  # type: ignore[arg-type]

    monkeypatch.setattr(world.runner, "read", fail_twice)

    async def go() -> None:
        task = asyncio.ensure_future(rounds.run())
        await host.measured.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(asyncio.wait_for(go(), 120))
    assert failures == []


def test_what_a_provider_takes_its_time_for_is_measured_meanwhile(
    world: BillingWorld, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.control.hosting.metering._PAUSE", 0.0)
    rounds = BillingRounds(world.runner_, Settings(), host)
    begun = asyncio.Event()
    host.broken = True

    async def hang(_delivery: StatementDelivery) -> int:
        begun.set()
        await asyncio.sleep(60)
        return 0

    monkeypatch.setattr(StatementDelivery, "deliver_due", hang)

    async def go() -> None:
        task = asyncio.ensure_future(rounds.run())
        await begun.wait()
        host.measured.clear()
        await host.measured.wait()  # the meter that cannot be read is tried again
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(asyncio.wait_for(go(), 120))
