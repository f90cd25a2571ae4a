"""Decisions that the gate remembers: for how long, for whom, and that each is still audited."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from twinframe.access.authentication.port import Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate, RequestInfo
from twinframe.access.permission_grammar import parse_permission
from twinframe.access.permissions import API_KEY, Caller, PermissionProvider
from twinframe.errors import PermissionMissing

READ = parse_permission("digitaltwins/read")
WRITE = parse_permission("digitaltwins/write")
INFO = RequestInfo("GET /digitaltwins/a", "id", "192.0.2.1")


class Nobody(Authenticator):
    async def authenticate(self, headers: Headers) -> Caller:
        raise AssertionError("not called here")


class Counted(PermissionProvider):
    """Grants what it holds now, and counts how often it is asked."""

    def __init__(self, *granted: str) -> None:
        self.granted = frozenset(granted)
        self.asked = 0

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        self.asked += 1
        return self.granted


class CountedClaims(Counted):
    reads_claims_alone = True


class World:
    def __init__(self, provider: PermissionProvider | None) -> None:
        self.trail: list[AuditEntry] = []
        self.gate = Gate(Nobody(), provider, self.trail.append)

    def ask(self, caller: Caller, needed: object = READ) -> bool:
        permission = READ if needed is READ else WRITE
        try:
            asyncio.run(self.gate.authorize(caller, permission, INFO))
        except PermissionMissing:
            return False
        return True


def test_claims_are_read_once_for_each_caller_and_permission() -> None:
    provider = CountedClaims("digitaltwins/read")
    world, caller = World(provider), Caller("ann")
    assert [world.ask(caller) for _ in range(3)] == [True] * 3
    assert [world.ask(caller, WRITE) for _ in range(3)] == [False] * 3
    assert provider.asked == 2
    assert world.ask(Caller("ann"))
    assert provider.asked == 3


def test_a_known_decision_is_audited_like_a_new_one() -> None:
    world, caller = World(CountedClaims("digitaltwins/*")), Caller("ann")
    for needed in (READ, READ, WRITE, WRITE):
        world.ask(caller, needed)
    entries = [entry._replace(moment=0.0) for entry in world.trail]
    assert all(type(entry) is AuditEntry for entry in world.trail)
    assert entries[0] == entries[1] != entries[2] == entries[3]
    assert [entry.needed for entry in entries[::2]] == ["digitaltwins/read", "digitaltwins/write"]


def test_a_provider_with_a_service_behind_it_is_asked_each_time() -> None:
    provider = Counted("digitaltwins/read")
    world, caller = World(provider), Caller("ann")
    assert world.ask(caller)
    provider.granted = frozenset()
    assert not world.ask(caller)
    assert provider.asked == 2
    assert caller.decisions == {}


def test_what_one_gate_knows_counts_for_no_other() -> None:
    one, caller = World(CountedClaims("digitaltwins/*")), Caller("ann")
    assert one.ask(caller)
    other = one.gate.build_other(CountedClaims())
    with pytest.raises(PermissionMissing):
        asyncio.run(other.authorize(caller, READ, INFO))
    assert one.ask(caller)


def test_what_is_known_of_a_caller_is_not_known_of_a_copy_with_other_permissions() -> None:
    world, caller = World(CountedClaims("digitaltwins/*")), Caller("ann")
    assert world.ask(caller)
    assert not world.ask(replace(caller, permissions=frozenset()))
    assert world.ask(caller)


def test_the_permissions_of_an_api_key_are_decided_once() -> None:
    world = World(Counted("digitaltwins/write"))
    key = Caller("apikey:1", kind=API_KEY, permissions=frozenset(("digitaltwins/read",)))
    assert [world.ask(key), world.ask(key)] == [True, True]
    assert [world.ask(key, WRITE), world.ask(key, WRITE)] == [False, False]
    assert len(key.decisions) == 2


def test_a_caller_carries_a_bounded_number_of_decisions() -> None:
    world, caller = World(CountedClaims("a/*")), Caller("ann")
    for number in range(300):
        asyncio.run(world.gate.authorize(caller, parse_permission(f"a/b{number}"), INFO))
    assert len(caller.decisions) <= 64
    assert len(world.trail) == 300


def test_nothing_known_admits_nobody() -> None:
    world, caller = World(CountedClaims("digitaltwins/*")), Caller("ann")
    assert not world.gate.authorize_known(caller, READ, INFO)
    assert world.trail == []
