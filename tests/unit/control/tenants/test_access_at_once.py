"""Callers at once, through the runner that serves; and what a check costs in look-ups."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager

from tests.unit.control.tenants.access_world import (
    ACME,
    ANN,
    BOB,
    GRAPH,
    PLATFORM,
    ROOT,
    World,
    run,
)
from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.context import ControlContext
from twinframe.control.records.idempotency import RequestKey
from twinframe.control.records.runner import ControlRunner
from twinframe.control.records.scopes import Scope, find_path
from twinframe.control.tenants.access import find_holdings
from twinframe.control.tenants.assignments import Assignments
from twinframe.control.tenants.projects import Projects
from twinframe.control.tenants.users import Users
from twinframe.errors import ControlConflict, LastOwner
from twinframe.storage.control import Condition, ControlSession, Order, Record


def run_at_once(
    world: World, build: Callable[[ControlContext], Sequence[Awaitable[object]]]
) -> list[object]:
    """What calls that were begun together returned or raised."""

    async def run_all() -> list[object]:
        runner = ControlRunner(world.store)
        try:
            calls = build(ControlContext(runner, lambda: world.now))
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await runner.close()

    return asyncio.run(run_all())


def test_of_owners_who_remove_each_other_at_once_one_stays(world: World) -> None:
    run(world.users.see(ANN))
    run(world.users.see(BOB))
    world.grant(ANN, ACME, "bob", "owner")
    held = run(world.assignments.list(ANN, ACME)).items
    by_subject = {each.principal: each.id for each in held}

    found = run_at_once(
        world,
        lambda context: [
            Assignments(context).revoke(ROOT, by_subject["ann"]),
            Assignments(context).revoke(ROOT, by_subject["bob"]),
        ],
    )
    assert [type(each) for each in found] == [type(None), LastOwner]
    assert run(world.assignments.list(ROOT, ACME)).total == 1


def test_an_id_asked_for_many_times_at_once_is_given_once(world: World) -> None:
    found = run_at_once(
        world,
        lambda context: [
            Projects(context).create(ANN, "acme", f"P{number}", project_id="new")
            for number in range(20)
        ],
    )
    assert sum(isinstance(each, ControlConflict) for each in found) == 19
    assert run(world.projects.read(ANN, "new")) in found


def test_a_request_repeated_at_once_has_one_effect(world: World) -> None:
    request = RequestKey("key", "fingerprint")
    found = run_at_once(
        world,
        lambda context: [
            Projects(context).create(ANN, "acme", "P", request=request) for _ in range(20)
        ],
    )
    assert len(set(found)) == 1
    assert run(world.projects.list(ANN)).total == 2


def test_an_invitation_is_taken_up_once_by_whoever_comes_first(world: World) -> None:
    email = "new@example.com"
    run(world.assignments.grant(ANN, GRAPH, Principal("email", email), "viewer"))
    comers = [Actor(f"s{number}", email) for number in range(5)]
    run_at_once(world, lambda context: [Users(context).see(each) for each in comers])
    (made,) = run(world.assignments.list(ANN, GRAPH)).items
    assert made.principal in {each.subject for each in comers}
    allowed = [each for each in comers if world.permissions(each, GRAPH)]
    assert [each.subject for each in allowed] == [made.principal]


class CountingSession(ControlSession):
    """Counts what is asked of another session, and how many records that took out of the store."""

    def __init__(self, inner: ControlSession) -> None:
        self._inner = inner
        self.calls: list[str] = []
        self.records = 0

    def snapshot(self) -> AbstractContextManager[None]:
        return self._inner.snapshot()

    def read(self, kind: str, record_id: str) -> Record | None:
        self.calls.append(f"read {kind}")
        self.records += 1
        return self._inner.read(kind, record_id)

    def find(
        self,
        kind: str,
        conditions: Sequence[Condition] = (),
        *,
        order: Order = Order(),  # noqa: B008  (frozen)
        offset: int = 0,
        limit: int | None = None,
    ) -> Sequence[Record]:
        self.calls.append(f"find {kind} by {[each.key for each in conditions]}")
        found = self._inner.find(kind, conditions, order=order, offset=offset, limit=limit)
        self.records += len(found)
        return found

    def count(self, kind: str, conditions: Sequence[Condition] = ()) -> int:
        self.calls.append(f"count {kind}")
        return self._inner.count(kind, conditions)


def test_a_check_is_two_look_ups_however_much_there_is(world: World) -> None:
    world.grant(ROOT, PLATFORM, "bob", "organization-creator")
    world.grant(ANN, ACME, "bob", "viewer")
    world.grant(ANN, GRAPH, "bob", "graph-data-viewer")

    def check() -> CountingSession:
        counting = CountingSession(world.runner.session)
        path = find_path(counting, GRAPH)
        assert path is not None
        assert len(find_holdings(counting, path, BOB.principals, world.now).roles) == 3
        return counting

    before = check()
    for number in range(30):
        world.grant(ANN, GRAPH, f"u{number}", "viewer")
        world.put_resource(f"r{number}", "campus", "acme")
        world.grant(ANN, Scope("resource", f"r{number}"), "bob", "viewer")
    after = check()
    assert after.calls == before.calls == ["read resource", "find assignment by ['holder']"]
    assert after.records == before.records == 4
