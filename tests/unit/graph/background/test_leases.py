"""Leases of background work: claims, take-overs, and hands that come late."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.graph.background.leases import Lease, LeaseManager, delete_lease
from twinframe.runtime.leases import LeaseLost
from twinframe.storage.base import GraphStore, GraphTransaction

T = TypeVar("T")


class Hands:
    """Desks of several workers over one store, and a clock that tests move."""

    def __init__(self, store: GraphStore) -> None:
        self.runner = InlineRunner(store)
        self.now = 100.0
        self.one, self.other, self.third = (
            LeaseManager(self.runner, 9.0, lambda: self.now) for _ in range(3)
        )

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(coroutine)

    def claim(self, manager: LeaseManager) -> Lease | None:
        return self.do(manager.claim("job/1"))

    def must_claim(self, manager: LeaseManager) -> Lease:
        lease = self.claim(manager)
        assert lease is not None
        return lease

    def write(self, lease: Lease, text: bytes) -> None:
        def apply(transaction: GraphTransaction) -> None:
            lease.check(transaction)
            transaction.put_entry("effect", "1", text)

        self.do(self.runner.write(apply))

    def effect(self) -> bytes | None:
        return self.do(self.runner.read(lambda session: session.read_entry("effect", "1")))


@pytest.fixture
def hands(store: GraphStore) -> Hands:
    return Hands(store)


def test_of_two_workers_one_has_the_work(hands: Hands) -> None:
    lease = hands.must_claim(hands.one)
    assert hands.claim(hands.other) is None
    hands.write(lease, b"by one")
    assert hands.effect() == b"by one"


def test_a_lease_given_back_is_claimed_at_once_under_a_higher_number(hands: Hands) -> None:
    first = hands.must_claim(hands.one)
    hands.do(hands.one.give_back(first))
    second = hands.must_claim(hands.other)
    assert second.fence == first.fence + 1
    with pytest.raises(LeaseLost):
        hands.write(first, b"late")


def test_a_holder_that_beats_is_not_taken_over(hands: Hands) -> None:
    lease = hands.must_claim(hands.one)
    for _ in range(20):
        assert hands.claim(hands.other) is None
        hands.now += 3
        hands.do(hands.one.keep(lease))
    hands.write(lease, b"still mine")


def test_a_holder_that_is_silent_for_a_whole_lease_is_taken_over(hands: Hands) -> None:
    first = hands.must_claim(hands.one)
    assert hands.claim(hands.other) is None
    hands.now += 8.9
    assert hands.claim(hands.other) is None
    hands.now += 0.1
    second = hands.must_claim(hands.other)
    assert second.fence == first.fence + 1


def test_who_has_just_begun_to_look_waits_a_whole_lease_by_its_own_clock(hands: Hands) -> None:
    hands.must_claim(hands.one)
    hands.now += 1_000_000
    assert hands.claim(hands.third) is None
    hands.now += 9
    assert hands.claim(hands.third) is not None


def test_a_zombie_changes_nothing_and_learns_that_it_is_one(hands: Hands) -> None:
    zombie = hands.must_claim(hands.one)
    assert hands.claim(hands.other) is None
    hands.now += 9
    hands.write(hands.must_claim(hands.other), b"by the other")
    with pytest.raises(LeaseLost):
        hands.write(zombie, b"by the zombie")
    with pytest.raises(LeaseLost):
        hands.do(hands.one.keep(zombie))
    assert hands.effect() == b"by the other"


def test_a_late_zombie_does_not_touch_a_lease_that_came_and_went_meanwhile(hands: Hands) -> None:
    zombie = hands.must_claim(hands.one)
    assert hands.claim(hands.other) is None
    hands.now += 9
    hands.do(hands.other.give_back(hands.must_claim(hands.other)))
    hands.do(hands.one.give_back(zombie))
    with pytest.raises(LeaseLost):
        hands.write(zombie, b"late")
    third = hands.must_claim(hands.third)
    hands.do(hands.one.give_back(zombie))
    hands.write(third, b"by the third")
    assert third.fence == 3


def test_a_claim_of_before_a_deletion_does_not_hold_after_it(hands: Hands) -> None:
    before = hands.must_claim(hands.one)
    hands.do(hands.runner.write(lambda transaction: delete_lease(transaction, "job/1")))
    with pytest.raises(LeaseLost):
        hands.write(before, b"late")
    after = hands.must_claim(hands.other)
    assert after.fence == before.fence
    with pytest.raises(LeaseLost):
        hands.write(before, b"late")
    hands.write(after, b"new")


def test_of_two_that_take_over_at_once_one_wins(hands: Hands) -> None:
    hands.must_claim(hands.one)
    assert hands.claim(hands.other) is None
    assert hands.claim(hands.third) is None
    hands.now += 9
    assert hands.claim(hands.other) is not None
    assert hands.claim(hands.third) is None


def test_of_work_that_is_no_more_nothing_is_remembered(hands: Hands) -> None:
    hands.must_claim(hands.one)
    assert hands.claim(hands.other) is None
    hands.other.forget_all_but({"job/1"})
    hands.now += 5
    hands.other.forget_all_but(set())
    assert hands.claim(hands.other) is None
    hands.now += 8
    assert hands.claim(hands.other) is None, "it was seen for the first time 8 s ago"
    hands.now += 1
    assert hands.claim(hands.other) is not None
