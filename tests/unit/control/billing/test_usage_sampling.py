"""Usage is measured once a period, whoever does it and however often."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.control.billing.billing_world import HOUR, BillingWorld, moment
from tests.unit.control.tenants.access_world import ANN, BOB, EVE, SECOND, run
from twinframe.control.billing.months import Month
from twinframe.control.billing.rounds import MeterUnreadable, UsageSampler
from twinframe.control.billing.spans import SPANS
from twinframe.control.billing.usage import USAGE, Measured, Sample, Usage, record_sample
from twinframe.control.records.runner import ControlRunner
from twinframe.errors import ControlNotFound
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.model.clock import Clock
from twinframe.storage.control_memory import MemoryControlStore

FEBRUARY = Month(2024, 2)


@pytest.fixture
def world() -> BillingWorld:
    found = BillingWorld()
    found.bring_up("boat")
    found.meters.shown["boat"] = Usage(10, 100, 5, 2_000)
    return found


def _measured(world: BillingWorld, resource_id: str = "boat") -> list[Measured]:
    return list(run(world.billing.read_usage(ANN, "campus", resource_id, FEBRUARY)))


def test_a_period_that_was_measured_is_not_measured_again(world: BillingWorld) -> None:
    assert world.sample() == (1, 0)
    world.now += 59 * 60 * SECOND
    world.meters.shown["boat"] = Usage(99, 900, 9, 9_000)
    assert world.sample() == (0, 0)
    assert world.meters.calls == 1
    world.now += 60 * SECOND
    assert world.sample() == (1, 0)
    assert [(each.twins, each.operations) for each in _measured(world)] == [(10, 100), (99, 800)]


def test_two_provisioners_that_measure_at_the_same_time_count_once(world: BillingWorld) -> None:
    class Slow:
        """Lets the other one come between reading the meter and keeping the sample."""

        def __init__(self) -> None:
            self.waiting = 0
            self.go = asyncio.Event()

        async def sample(self, name: ResourceName) -> Usage | None:
            self.waiting += 1
            if self.waiting == 2:
                self.go.set()
            await self.go.wait()
            return Usage(10, 100, 5, 2_000)

    async def race() -> list[int]:
        meter = Slow()
        clock: Clock = lambda: world.now  # noqa: E731  (a clock)
        samplers = [UsageSampler(world.runner_, meter, HOUR, clock) for _ in range(2)]
        found = await asyncio.gather(*(each.sample_due() for each in samplers))
        return [each.counted for each in found]

    assert sorted(asyncio.run(race())) == [0, 1]
    assert [each.operations for each in _measured(world)] == [100]


def test_a_meter_that_cannot_be_read_is_tried_again_and_stops_no_other(
    world: BillingWorld,
) -> None:
    world.bring_up("canoe")
    world.meters.shown = {"boat": "out of order", "canoe": Usage(1, 1, 1, 1)}
    assert world.sample() == (1, 1)
    world.meters.shown["boat"] = Usage(10, 100, 5, 2_000)
    assert world.sample() == (1, 0)


def test_more_resources_than_are_read_at_once_are_all_measured(world: BillingWorld) -> None:
    for number in range(205):
        world.bring_up(f"canoe-{number}")
        world.meters.shown[f"canoe-{number}"] = Usage(1, 1, 1, 1)
    found = [asyncio.run(world.build_sampler().sample_due()).counted for _ in range(2)]
    assert found == [206, 0]


def test_a_resource_without_meters_is_not_measured(world: BillingWorld) -> None:
    world.meters.shown["boat"] = None
    assert world.sample() == (0, 0)
    assert _measured(world) == []


def test_what_was_done_in_a_gap_counts_when_it_is_seen_and_levels_in_it_never(
    world: BillingWorld,
) -> None:
    world.sample()
    world.now += 5 * HOUR * SECOND
    world.meters.shown["boat"] = Usage(20, 700, 50, 3_000)
    world.sample()
    first, second = _measured(world)
    assert (first.operations, second.operations) == (100, 600)
    assert first.interval.seconds + second.interval.seconds == 2 * HOUR


def test_another_length_of_periods_counts_no_second_twice(world: BillingWorld) -> None:
    world.sample()
    world.now += 20 * 60 * SECOND
    assert run(world.build_sampler(600).sample_due()).counted == 0
    world.now += 40 * 60 * SECOND
    assert run(world.build_sampler(600).sample_due()).counted == 1
    assert run(world.build_sampler(3600).sample_due()).counted == 0


def test_a_period_is_the_one_in_which_the_meter_was_read(world: BillingWorld) -> None:
    class Late:
        async def sample(self, name: ResourceName) -> Usage | None:
            world.now += HOUR * SECOND
            return Usage(1, 1, 1, 1)

    world.now += 30 * 60 * SECOND
    run(UsageSampler(world.runner_, Late(), HOUR, lambda: world.now).sample_due())
    (found,) = _measured(world)
    assert found.interval.begin * SECOND == moment(2024, 2, 1, 1)


def test_the_last_sample_counts_once_and_within_the_time_that_is_paid_for(
    world: BillingWorld,
) -> None:
    resource = world.bring_up("canoe")
    world.meters.shown["canoe"] = Usage(1, 5, 0, 0)
    world.now += 30 * 60 * SECOND
    world.sample()
    world.meters.shown["canoe"] = Usage(1, 12, 0, 0)
    world.now += 10 * 60 * SECOND
    world.take_down(resource)
    world.now += 90 * SECOND
    sampler = world.build_sampler()
    assert run(sampler.sample_last(resource.resource_name))
    world.meters.shown["canoe"] = Usage(1, 13, 0, 0)
    assert not run(sampler.sample_last(resource.resource_name))
    span = SPANS.read(world.store.session(), "canoe.one")
    assert span is not None
    first, last = _measured(world, "canoe")
    assert (first.operations, last.operations) == (5, 7)
    assert span.interval.holds(last.at)
    assert last.interval.seconds == 0


@pytest.mark.parametrize("back", [0, 1, HOUR, 365 * 24 * HOUR])
def test_a_clock_set_back_has_nothing_counted_twice(world: BillingWorld, back: int) -> None:
    resource = world.bring_up("canoe")
    world.now += 5 * HOUR * SECOND
    world.meters.shown["canoe"] = Usage(1, 100, 0, 0)
    assert world.sample()[0] == 2
    world.now -= back * SECOND
    world.meters.shown["canoe"] = Usage(1, 150, 0, 0)
    assert world.sample() == (0, 0)  # the period was measured, whatever the clock says
    world.take_down(resource)
    assert run(world.build_sampler().sample_last(resource.resource_name))
    found = _measured(world, "canoe")
    assert [each.operations for each in found] == [100, 50]
    span = SPANS.read(world.store.session(), "canoe.one")
    assert span is not None
    assert all(span.interval.holds(each.at) for each in found)


def test_a_last_sample_that_cannot_be_read_says_so(world: BillingWorld) -> None:
    resource = world.bring_up("canoe")
    world.meters.shown["canoe"] = "gone"
    with pytest.raises(MeterUnreadable, match=r"canoe.*gone"):
        run(world.build_sampler().sample_last(resource.resource_name))


def test_what_is_gone_is_not_measured_and_its_successor_begins_at_zero(
    world: BillingWorld,
) -> None:
    resource = world.bring_up("canoe")
    world.meters.shown["canoe"] = Usage(1, 50, 0, 0)
    world.sample()
    world.take_down(resource)
    world.now += HOUR * SECOND
    assert world.sample() == (1, 0)  # the boat alone

    run(world.runner.write(lambda work: work.delete("resource", "canoe")))
    world.bring_up("canoe", incarnation="two")
    world.meters.shown["canoe"] = Usage(1, 60, 0, 0)
    assert world.sample() == (1, 0)
    assert [each.operations for each in _measured(world, "canoe")] == [60]


def test_nobody_without_the_permission_reads_usage(world: BillingWorld) -> None:
    for actor in (BOB, EVE):
        with pytest.raises(ControlNotFound, match="There is no resource 'boat'"):
            run(world.billing.read_usage(actor, "campus", "boat", FEBRUARY))
    with pytest.raises(ControlNotFound):
        run(world.billing.read_usage(ANN, "other", "boat", FEBRUARY))


@st.composite
def _samples(draw: st.DrawFn) -> list[Sample]:
    hours = sorted(draw(st.sets(st.integers(0, 60), min_size=1, max_size=12)))
    start = moment(2024, 2, 1) // SECOND
    readings = draw(
        st.lists(st.tuples(*[st.integers(0, 1_000)] * 4), min_size=len(hours), max_size=len(hours))
    )
    return [
        Sample(start + hour * HOUR, HOUR, start + hour * HOUR + 5, Usage(*figures))
        for hour, figures in zip(hours, readings, strict=True)
    ]


@settings(max_examples=30)
@given(_samples(), st.data())
def test_neither_order_nor_replays_change_what_is_kept(
    samples: list[Sample], data: st.DataObject
) -> None:
    replays = data.draw(st.lists(st.sampled_from(samples), max_size=10))
    mixed = data.draw(st.permutations([*samples, *replays]))
    plain, other = BillingWorld(), BillingWorld()
    for world, given_ in ((plain, samples), (other, mixed)):
        world.bring_up("boat")
        kept = [
            run(world.runner.write(lambda work, each=each: record_sample(work, "boat.one", each)))
            for each in given_
        ]
        assert sum(kept) == len(samples)
    assert _measured(plain) == _measured(other)
    assert _read_days(plain) == _read_days(other)


def _read_days(world: BillingWorld) -> list[bytes]:
    return [record.body for record in world.store.session().find(USAGE.kind)]


def test_samples_pass_through_a_real_runner_and_its_writing_thread() -> None:
    world = BillingWorld()
    world.bring_up("boat")
    world.meters.shown["boat"] = Usage(3, 4, 5, 6)

    async def measure() -> int:
        runner = ControlRunner(cast("MemoryControlStore", world.store))
        try:
            sampler = UsageSampler(runner, world.meters, HOUR, lambda: world.now)
            return (await sampler.sample_due()).counted + (await sampler.sample_due()).counted
        finally:
            await runner.close()

    assert asyncio.run(measure()) == 1
