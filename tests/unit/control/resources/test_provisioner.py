"""The reconciler: attempts, failures, deaths at each point, dead hands, rounds."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.control.resources.fault_points import FaultPoints, PowerCut
from tests.unit.control.resources.resource_world import (
    FAILURE,
    FINAL,
    LEASE,
    NO_PAUSE,
    OPTIONS,
    World,
    until,
    with_rules,
)
from tests.unit.control.tenants.access_world import SECOND
from tests.unit.quick_loop import QuickLoop
from twinframe.control.resources.documents import Goal
from twinframe.control.resources.provisioner import build_options
from twinframe.errors import StorageBusy
from twinframe.hooks.resource_types.base import LeaseLost, ProvisionContext, ResourceTypeRegistry
from twinframe.hooks.resource_types.hosting import HostedGraph, ResourceName, run_blocking
from twinframe.settings import ControlSettings

CREATE = ("claimed", "begun", "created", "published", "handled", "stored")
DELETE = ("claimed", "begun", "unpublished", "removed", "handled", "stored")
POINTS = [
    *[("create", point) for point in ("claim:found", "claim:stored")],
    *[("create", f"create:{point}") for point in CREATE],
    *[("update", point) for point in ("claim:found", "claim:stored")],
    *[("update", f"update:{point}") for point in CREATE],
    *[("delete", point) for point in ("claim:found", "claim:stored")],
    *[("delete", f"delete:{point}") for point in DELETE],
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_graph_is_created_changed_and_removed(world: World) -> None:
    world.create(settings_json={"max_concurrent_connections": 5})
    assert world.provision() == 1
    assert world.read().status == "running"
    assert world.list_files() == world.list_wanted_files()
    assert world.read_published()["max_concurrent_connections"] == 5
    world.update(settings_json={"max_concurrent_connections": 6, "enable_analytics": True})
    assert world.provision() == 1
    assert world.read_published()["max_concurrent_connections"] == 6
    assert world.read_published()["analytics"] is True
    world.delete()
    assert world.provision() == 1
    assert (world.read().status, world.list_files()) == ("terminated", set())
    assert world.provision() == 0


def test_the_points_are_those_that_are_passed(world: World) -> None:
    faults = FaultPoints()
    world.create()
    world.provision(world.build_provisioner(faults))
    world.update()
    world.provision(world.build_provisioner(faults))
    world.delete()
    world.provision(world.build_provisioner(faults))
    assert [point for _, point in POINTS] == faults.passed


def _ask(world: World, goal: str) -> None:
    world.create()
    if goal != "create":
        world.settle()
    if goal == "update":
        world.update(settings_json={"max_concurrent_connections": 7})
    if goal == "delete":
        world.delete()


@pytest.mark.parametrize(("goal", "point"), POINTS)
def test_a_death_at_any_point_is_made_good_by_the_next_one(
    world: World, goal: str, point: str
) -> None:
    _ask(world, goal)
    assert world.cut(point)
    world.settle()
    assert world.read().status == ("terminated" if goal == "delete" else "running")
    assert world.list_files() == world.list_wanted_files()
    assert all(operation.status == "succeeded" for operation in world.history())
    if goal == "update":
        assert world.read_published()["max_concurrent_connections"] == 7


@pytest.mark.parametrize(("goal", "point"), POINTS)
def test_a_death_and_then_a_deletion_leave_nothing(world: World, goal: str, point: str) -> None:
    _ask(world, goal)
    world.cut(point)
    if world.read().status != "terminated":
        world.delete()
    world.settle()
    assert (world.read().status, world.list_files()) == ("terminated", set())


@pytest.mark.parametrize(("goal", "point"), POINTS)
def test_nobody_is_at_it_twice_before_the_lease_is_over(
    world: World, goal: str, point: str
) -> None:
    _ask(world, goal)
    world.cut(point)
    item, worker = world.work(), world.build_provisioner()
    if point == "claim:found":
        assert (item.holder, world.provision(worker)) == ("", 1)
    elif point == f"{goal}:stored":
        assert (item.due_at, world.provision(worker)) == (None, 0)
    else:
        assert world.provision(worker) == 0
        world.pass_time(LEASE - 1)
        assert world.provision(worker) == 0
        world.pass_time(1)
        assert world.provision(worker) == 1


def test_a_lease_does_not_end_with_a_clock_that_jumps(world: World) -> None:
    world.create()
    world.cut("create:created")
    worker = world.build_provisioner()
    world.provision(worker)
    for hours in (1, -2, 24 * 3650):
        world.now += hours * 3600 * SECOND
        assert world.provision(worker) == 0
    world.monotonic += LEASE
    assert world.provision(worker) == 1
    assert world.read().status == "running"


def test_a_failure_is_tried_again_with_growing_pauses(world: World) -> None:
    world.moody.moods = [FAILURE, FAILURE, OSError("secret path"), FAILURE]
    world.create(type="Test.Moody")
    worker = world.build_provisioner()
    pauses = []
    for _ in range(4):
        assert world.provision(worker) == 1
        assert world.read().status == "creating"
        assert world.provision(worker) == 0
        pause = (world.work().due_at or 0) - world.now
        pauses.append(pause / SECOND)
        world.now += pause
    assert [0.5 * 2**n <= pause <= 2**n for n, pause in enumerate(pauses)] == [True] * 4
    assert world.provision(worker) == 1
    assert world.read().status == "running"
    (operation,) = world.history()
    outcomes = [attempt.outcome for attempt in operation.attempts]
    assert outcomes[2] == "The resource type failed unexpectedly; see the log."
    assert outcomes[4] == "succeeded"
    assert {context.operation_id for _, context in world.moody.calls} == {operation.id}
    fences = [context.fence for _, context in world.moody.calls]
    assert fences == sorted(set(fences))


def test_after_the_last_attempt_it_is_in_error_and_says_why(world: World) -> None:
    world.moody.moods = [FAILURE] * 8
    world.create(type="Test.Moody")
    world.settle()
    resource = world.read()
    assert (resource.status, resource.error_message) == ("error", "not today")
    assert len(world.moody.calls) == 8
    world.update()
    world.settle()
    assert world.read().status == "running"


def test_a_final_failure_is_not_tried_again(world: World) -> None:
    world.moody.moods = [FINAL]
    world.create(type="Test.Moody")
    world.settle()
    assert (world.read().status, len(world.moody.calls)) == ("error", 1)
    (operation,) = world.history()
    assert (operation.status, operation.transitions[-1].reason) == ("failed", "never")


def test_a_resource_that_kills_its_provisioner_is_given_up(world: World) -> None:
    world.moody.moods = [PowerCut() for _ in range(20)]
    world.create(type="Test.Moody")
    deaths = 0
    for _ in range(20):
        worker = world.build_provisioner()
        world.pass_time(LEASE)
        try:
            world.provision(worker)
            world.pass_time(LEASE)
            world.provision(worker)
        except PowerCut:
            deaths += 1
    assert (deaths, world.read().status) == (8, "error")
    assert "None of 8 attempts" in world.read().error_message


def test_a_deletion_is_tried_until_it_succeeds(world: World) -> None:
    world.create(type="Test.Moody")
    world.settle()
    world.moody.moods = [FAILURE] * 30 + [FINAL]
    world.delete()
    worker = world.build_provisioner()
    for _ in range(31):
        assert world.provision(worker) == 1
        assert world.read().status == "deleting"
        world.pass_time(300)
    world.provision(worker)
    assert world.read().status == "terminated"
    assert len(world.history()[0].attempts) == 20


def test_an_attempt_that_takes_too_long_is_ended(world: World) -> None:
    world.moody.moods = [lambda: asyncio.sleep(60)]
    world.create(type="Test.Moody")
    options = with_rules(attempt_timeout=0.01, pause=NO_PAUSE)
    assert world.provision(world.build_provisioner(options=options)) == 1
    assert "more than 0.01 s" in world.history()[0].attempts[0].outcome
    world.settle()
    assert world.read().status == "running"


def test_a_type_that_is_not_installed_is_waited_for(world: World) -> None:
    world.create(type="Test.Moody")
    types, world.types = world.types, ResourceTypeRegistry([])
    world.provision()
    assert "no resource type 'Test.Moody'" in world.history()[0].attempts[0].outcome
    world.types = types
    world.settle()
    assert world.read().status == "running"


def test_a_dead_hand_can_write_nothing(world: World) -> None:
    """The lease ends in the middle of an attempt, the next one finishes, the first one wakes."""

    async def play() -> None:
        asleep, wake = asyncio.Event(), asyncio.Event()

        async def sleep() -> None:
            asleep.set()
            await wake.wait()

        world.moody.moods = [sleep]
        first = asyncio.ensure_future(world.build_provisioner().run_once())
        await asleep.wait()
        second = world.build_provisioner()
        await second.run_once()
        world.pass_time(LEASE)
        assert await second.run_once() == 1
        assert world.read().status == "running"
        before = (world.read(), world.work(), world.history())
        wake.set()
        await first
        assert (world.read(), world.work(), world.history()) == before

    world.create(type="Test.Moody")
    asyncio.run(play())
    assert [call for call, _ in world.moody.calls] == ["provision", "provision"]


@pytest.mark.parametrize("point", ["begun", "created", "published"])
def test_a_dead_hand_that_wakes_after_the_deletion_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """It is past its last check when the lease ends, so that its effect comes all the same."""
    host, late = world.host, []
    create, publish = host.create, host.publish

    async def keep_create(graph: HostedGraph) -> None:
        if point == "begun" and not late:
            late.append(lambda: create(graph))
            raise PowerCut
        await create(graph)

    async def keep_publish(graph: HostedGraph) -> str:
        if point == "created" and not late:
            late.append(lambda: publish(graph))
            raise PowerCut
        address = await publish(graph)
        if point == "published" and not late:
            late.append(lambda: publish(graph))
            raise PowerCut
        return address

    monkeypatch.setattr(host, "create", keep_create)
    monkeypatch.setattr(host, "publish", keep_publish)
    world.create()
    with pytest.raises(PowerCut):
        world.provision()
    world.delete()
    world.settle()
    assert world.list_files() == set()
    asyncio.run(late[0]())
    assert world.list_files() != set()  # nothing could hold it back
    world.create("two")
    world.settle()
    removed = asyncio.run(world.build_rounds().remove_orphans())
    assert [name.resource_id for name in removed] == ["one"]
    assert world.list_files() == world.list_wanted_files()


def test_a_dead_hand_cannot_publish_over_the_next_one(world: World) -> None:
    world.create()
    world.provision()
    world.update(settings_json={"max_concurrent_connections": 9})
    world.provision()
    published = dict(world.read_published())
    published["name"] = ResourceName(**published["name"])
    stale = HostedGraph(**{**published, "fence": published["fence"] - 1})
    with pytest.raises(LeaseLost):
        asyncio.run(world.host.publish(replace(stale, max_concurrent_connections=1)))
    assert world.read_published()["max_concurrent_connections"] == 9


def test_a_host_that_knows_a_higher_number_is_caught_up_with(world: World) -> None:
    """As after a restore of the control store from a backup."""
    world.create()
    world.provision()
    name = world.read().resource_name
    published = {**world.read_published(), "name": name, "fence": world.work().fence + 3}
    asyncio.run(world.host.publish(HostedGraph(**published)))
    world.update(settings_json={"max_concurrent_connections": 9})
    world.settle()
    assert world.read().status == "running"
    assert world.read_published()["max_concurrent_connections"] == 9


def test_a_deletion_ends_the_attempt_that_runs(world: World) -> None:
    async def play() -> None:
        provisioner = world.build_provisioner()
        running = asyncio.ensure_future(provisioner.run())
        begun = asyncio.Event()

        async def hang() -> None:
            begun.set()
            await asyncio.sleep(60)

        world.moody.moods = [hang]
        world.create(type="Test.Moody")
        provisioner.wake()
        await begun.wait()
        world.delete()
        await until(lambda: world.read().status == "terminated")
        provisioner.stop()
        await running

    asyncio.run(asyncio.wait_for(play(), 120))
    assert [call for call, _ in world.moody.calls] == ["provision", "deprovision"]
    assert [operation.status for operation in world.history()] == ["succeeded", "superseded"]


def test_an_attempt_that_has_stored_its_result_is_not_cancelled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer may be on the way from the store while the provisioner looks for work again."""

    async def play() -> None:
        write, faults = world.runner.write, FaultPoints()
        stored, looked = asyncio.Event(), asyncio.Event()

        async def write_late(work: Any) -> Any:
            result = await write(work)
            if "create:handled" in faults.passed:
                stored.set()
                await looked.wait()
            return result

        monkeypatch.setattr(world.runner, "write", write_late)
        provisioner = world.build_provisioner(faults)
        running = asyncio.ensure_future(provisioner.run_once())
        await stored.wait()
        looking = asyncio.ensure_future(provisioner.run_once())
        await asyncio.sleep(0)
        looked.set()
        await asyncio.gather(running, looking)
        assert faults.passed[-1] == "create:stored"

    world.create(type="Test.Moody")
    asyncio.run(asyncio.wait_for(play(), 120))
    assert world.read().status == "running"


def test_a_thread_that_was_begun_is_waited_for() -> None:
    """Else the deletion would run beside the creation."""
    ended: list[str] = []

    def block() -> None:
        time.sleep(0.05)
        ended.append("thread")

    async def play() -> None:
        task = asyncio.ensure_future(run_blocking(block))
        await asyncio.sleep(0.01)
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ended.append("task")

    asyncio.run(play())
    assert ended == ["thread", "task"]


def test_a_stop_lets_running_attempts_end_and_leaves_the_rest_to_their_lease(
    world: World,
) -> None:
    async def play() -> None:
        provisioner = world.build_provisioner()
        begun: list[str] = []

        async def short() -> None:
            begun.append("short")
            await asyncio.sleep(0.05)

        async def long() -> None:
            begun.append("long")
            await asyncio.sleep(60)

        world.moody.moods = [short, long]
        world.create("one", type="Test.Moody")
        world.create("two", type="Test.Moody")
        running = asyncio.ensure_future(provisioner.run())
        await until(lambda: len(begun) == 2)
        provisioner.stop()
        await running

    with asyncio.Runner(loop_factory=QuickLoop) as runner:
        runner.run(play())
    statuses = {resource_id: world.read(resource_id).status for resource_id in ("one", "two")}
    assert sorted(statuses.values()) == ["creating", "running"]
    world.settle()
    assert {world.read(resource_id).status for resource_id in ("one", "two")} == {"running"}


def test_no_more_than_the_wanted_number_runs_at_once(world: World) -> None:
    together: list[int] = []
    present = 0

    async def count() -> None:
        nonlocal present
        present += 1
        together.append(present)
        await asyncio.sleep(0)
        present -= 1

    world.moody.moods = [count] * 10
    for number in range(10):
        world.create(f"r{number}", type="Test.Moody")
    worker = world.build_provisioner(options=replace(OPTIONS, concurrency=3))
    assert [world.provision(worker) for _ in range(5)] == [3, 3, 3, 1, 0]
    assert max(together) == 3


def test_several_provisioners_do_each_work_once(world: World) -> None:
    for number in range(20):
        world.create(f"r{number}", type="Test.Moody")

    async def play() -> None:
        workers = [world.build_provisioner() for _ in range(4)]
        running = [asyncio.ensure_future(worker.run()) for worker in workers]
        await until(lambda: all(item.due_at is None for item in world.list_work()))
        for worker in workers:
            worker.stop()
        await asyncio.gather(*running)

    asyncio.run(asyncio.wait_for(play(), 120))
    assert len(world.moody.calls) == 20
    assert world.list(status="running")[1] == 20


def test_a_store_that_is_busy_does_not_end_the_provisioner(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write, failures = world.runner.write, 3

    async def stumble(work: object) -> object:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise StorageBusy("try again")
        return await write(work)  # type: ignore[arg-type]  # as it came

    async def play() -> None:
        provisioner = world.build_provisioner()
        world.create(type="Test.Moody")
        monkeypatch.setattr(world.runner, "write", stumble)
        running = asyncio.ensure_future(provisioner.run())
        while world.read().status != "running":
            world.monotonic += LEASE
            await asyncio.sleep(0.005)
        provisioner.stop()
        await running

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(play(), 120))
    assert "goes on after: try again" in caplog.text


def test_a_resource_found_amiss_is_repaired(world: World) -> None:
    world.create()
    world.create("two", type="Test.Moody")
    world.settle()
    assert asyncio.run(world.build_rounds().check_health()) == 0
    for file in world.host.published.iterdir():
        file.unlink()
    world.moody.sick = {"two"}
    assert asyncio.run(world.build_rounds().check_health()) == 2
    assert world.history("two")[0].transitions[0].reason == "it sulks"
    assert world.history()[0].type == Goal.REPAIR
    world.settle()
    assert world.list(status="running")[1] == 2
    assert world.list_files() == world.list_wanted_files()


def test_rounds_are_done_by_one_of_many_each_time(world: World) -> None:
    counts = []
    for _ in range(3):
        rounds = world.build_rounds()
        calls: list[str] = []

        async def note(calls: list[str] = calls) -> int:
            calls.append("health")
            return 0

        rounds.check_health = note  # type: ignore[method-assign]  # only counted
        asyncio.run(rounds.check_due())
        counts.append(len(calls))
    assert counts == [1, 0, 0]


def test_a_product_that_hangs_holds_up_no_cleaning(world: World) -> None:
    for name in ("slow", "slower", "slowest"):  # checked for ten seconds each
        world.create(name, type="Test.Moody")
    world.create("two")
    world.settle()
    world.delete("two")
    world.settle()
    world.pass_time(30 * 86_400)
    asked = asyncio.Event()

    async def hang(_context: ProvisionContext) -> str | None:
        asked.set()
        await asyncio.sleep(60)
        return None

    world.moody.health = hang  # type: ignore[method-assign]  # as a product that does not answer

    async def play() -> None:
        provisioner = world.build_provisioner()
        running = asyncio.ensure_future(provisioner.run())
        await asked.wait()
        await until(lambda: world.list(status="terminated")[1] == 0)
        provisioner.stop()
        await running

    asyncio.run(asyncio.wait_for(play(), 120))


def test_orphans_are_removed_when_a_provisioner_starts(world: World) -> None:
    world.create("gone")
    world.settle()
    world.delete("gone")
    world.settle()
    (world.host.data / "gone~0123").write_text("left over")
    (world.host.published / "gone~0123.draft").write_text("left over")

    async def play() -> None:
        provisioner = world.build_provisioner()
        running = asyncio.ensure_future(provisioner.run())
        await until(lambda: not world.list_files())
        provisioner.stop()
        await running

    asyncio.run(asyncio.wait_for(play(), 120))


def test_what_a_control_store_knows_nothing_of_is_not_removed(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """As with a control store that is new, or restored to the day before a graph was created."""
    (world.host.data / "theirs~0123").write_text("the only copy")
    assert asyncio.run(world.build_rounds().remove_orphans()) == ()
    assert (world.host.data / "theirs~0123").read_text() == "the only copy"
    assert "Nothing is known of theirs" in caplog.text


def test_orphans_go_before_the_tombstones_that_tell_of_them(world: World) -> None:
    world.create()
    world.settle()
    world.delete()
    world.settle()
    (world.host.data / "one~0123").write_text("left over")
    world.pass_time(30 * 86_400)
    asyncio.run(world.build_rounds().clean_due())
    assert world.list_files() == set()


def test_what_is_coming_up_or_going_down_is_no_orphan(world: World) -> None:
    world.create()
    world.cut("create:published")
    assert asyncio.run(world.build_rounds().remove_orphans()) == ()
    world.settle()
    world.delete()
    world.cut("delete:begun")
    assert asyncio.run(world.build_rounds().remove_orphans()) == ()
    assert len(world.list_files()) == 2


def test_the_settings_say_how_a_provisioner_works() -> None:
    options = build_options(ControlSettings(lease_seconds=60, max_attempts=3, retry_delay=2))
    assert (options.lease, options.rules.max_attempts, options.rules.pause.first) == (60, 3, 2)
