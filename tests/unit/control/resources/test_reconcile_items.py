"""Work at resources: claims, signs of life, numbers, and clocks that lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import pytest

from tests.unit.control.tenants.access_world import SECOND, START
from twinframe.control.plane import RECORD_KINDS
from twinframe.control.resources.documents import RECONCILE_ITEMS, Goal, ReconcileItem
from twinframe.control.resources.reconcile_items import (
    LifeSign,
    check_claim,
    claim,
    find_claimable,
    finish,
    let_go,
    list_life_signs,
    put_back,
    renew,
    set_goal,
)
from twinframe.hooks.resource_types.base import LeaseLost
from twinframe.storage.control import ControlTransaction, ControlWriteFunction
from twinframe.storage.control_memory import MemoryControlStore

T = TypeVar("T")


class Bench:
    """A store with work in it."""

    def __init__(self) -> None:
        self.store = MemoryControlStore()
        self.store.open(RECORD_KINDS)

    def do(self, work: Callable[[ControlTransaction], T]) -> T:
        (outcome,) = self.store.write([cast("ControlWriteFunction[object]", work)])
        if outcome.error is not None:
            raise outcome.error
        return cast("T", outcome.result)

    def ask(self, resource_id: str = "one", goal: Goal = Goal.CREATE, now: int = START) -> None:
        self.do(
            lambda work: set_goal(
                work,
                resource_id=resource_id,
                incarnation="i",
                goal=goal,
                operation_id="o",
                now=now,
            )
        )

    def find(self, now: int = START, limit: int = 10) -> list[ReconcileItem]:
        session = self.store.session()
        return list(find_claimable(session, now=now, longest_pause=300, limit=limit))

    def claim(
        self, holder: str, items: list[ReconcileItem], silent: dict[str, LifeSign] | None = None
    ) -> list[ReconcileItem]:
        return self.do(lambda work: claim(work, holder=holder, items=items, silent=silent or {}))

    def take(self, holder: str = "a") -> ReconcileItem:
        (mine,) = self.claim(holder, self.find())
        return mine

    def read(self) -> ReconcileItem:
        found = RECONCILE_ITEMS.read(self.store.session(), "one")
        assert found is not None
        return found


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.ask()
    return bench


def test_of_two_who_saw_the_same_work_one_gets_it(bench: Bench) -> None:
    seen = bench.find()
    assert len(bench.claim("a", seen)) == 1
    assert bench.claim("b", seen) == []
    assert bench.find() == []


def test_who_is_silent_for_a_lease_loses_its_work(bench: Bench) -> None:
    old = bench.take("a")
    signs = list_life_signs(bench.store.session())
    (new,) = bench.claim("b", [], signs)
    assert (new.fence > old.fence, new.attempts) == (True, 2)
    with pytest.raises(LeaseLost):
        check_claim(bench.store.session(), old)
    assert bench.claim("c", [], signs) == []  # the sign is not the one that was silent
    for late in (
        lambda work: finish(work, old),
        lambda work: put_back(work, old, START),
        lambda work: check_claim(work, old),
    ):
        with pytest.raises(LeaseLost):
            bench.do(late)
    assert bench.do(lambda work: let_go(work, old, START)) is False
    assert bench.read() == new


def test_a_sign_of_life_keeps_the_work(bench: Bench) -> None:
    mine = bench.take("a")
    before = list_life_signs(bench.store.session())
    renewed = bench.do(lambda work: renew(work, {"one": mine.holder, "gone": "x"}))
    assert list(renewed) == ["one"]
    assert bench.claim("b", [], before) == []
    assert check_claim(bench.store.session(), mine).beat == 1
    assert bench.do(lambda work: renew(work, {"one": "somebody/else"})) == {}


def test_a_new_goal_takes_the_number_but_not_the_lease(bench: Bench) -> None:
    mine = bench.take("a")
    bench.ask(goal=Goal.DELETE)
    with pytest.raises(LeaseLost):
        check_claim(bench.store.session(), mine)
    assert bench.find() == []  # nobody begins beside the one who is still at it
    assert bench.do(lambda work: let_go(work, mine, START)) is True
    (found,) = bench.find()
    assert (found.goal, found.attempts) == (Goal.DELETE, 0)
    (next_one,) = bench.claim("b", [found])
    assert next_one.fence > mine.fence + 1


def test_work_that_is_done_keeps_its_number(bench: Bench) -> None:
    mine = bench.take()
    bench.do(lambda work: finish(work, mine))
    assert (bench.find(START * 2), bench.read().due_at) == ([], None)
    bench.ask(goal=Goal.UPDATE)
    assert bench.take().fence > mine.fence


def test_work_given_back_at_a_stop_is_no_attempt(bench: Bench) -> None:
    mine = bench.take()
    bench.do(lambda work: let_go(work, mine, START))
    assert bench.read().attempts == 0
    assert bench.take().attempts == 1


def test_work_put_back_is_due_later(bench: Bench) -> None:
    mine = bench.take()
    bench.do(lambda work: put_back(work, mine, START + 5 * SECOND))
    assert bench.find(START + 4 * SECOND) == []
    assert len(bench.find(START + 5 * SECOND)) == 1


def test_a_clock_that_goes_back_does_not_put_work_off_for_long(bench: Bench) -> None:
    bench.ask("two", now=START + 3600 * SECOND)
    assert {item.id for item in bench.find(START)} == {"one", "two"}
    bench.ask("three", now=START + 200 * SECOND)  # no longer than a pause
    assert "three" not in {item.id for item in bench.find(START)}


def test_the_longest_due_comes_first_and_the_limit_holds(bench: Bench) -> None:
    for number in range(5):
        bench.ask(f"r{number}", now=START - number * SECOND)
    assert [item.id for item in bench.find(limit=3)] == ["r4", "r3", "r2"]
