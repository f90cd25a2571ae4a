"""Stored leases and the watch over them: numbers rise, and a clock of one's own decides."""

from __future__ import annotations

from twinframe.runtime.leases import LeaseState, LifeWatch


def test_the_number_rises_with_each_claim_and_never_falls() -> None:
    first = LeaseState(fence=0).claim("a")
    assert (first.fence, first.holder, first.beat) == (1, "a", 0)
    later = first.renew().renew()
    assert (later.fence, later.holder, later.beat) == (1, "a", 2)
    free = later.release()
    assert (free.fence, free.holder) == (1, "")
    second = free.claim("b")
    assert (second.fence, second.holder, second.beat) == (2, "b", 0)


def test_only_the_claim_with_number_and_name_holds_it() -> None:
    held = LeaseState(fence=4).claim("a").renew()
    assert held.is_held_by(5, "a")
    assert not held.is_held_by(4, "a")
    assert not held.is_held_by(5, "b")
    assert not held.release().is_held_by(5, "a")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_watch_counts_from_the_first_time_it_saw_a_sign() -> None:
    clock = Clock()
    watch = LifeWatch[tuple[int, int]](30, clock)
    assert watch.list_silent({"a": (1, 0)}) == {}
    clock.now = 1029.9
    assert watch.list_silent({"a": (1, 0), "b": (7, 7)}) == {}
    clock.now = 1030
    assert watch.list_silent({"a": (1, 0), "b": (7, 8)}) == {"a": (1, 0)}
    clock.now = 1059
    assert watch.list_silent({"b": (7, 8)}) == {}
    clock.now = 1060
    assert watch.list_silent({"a": (1, 0), "b": (7, 8)}) == {"b": (7, 8)}


def test_what_is_forgotten_is_watched_anew() -> None:
    clock = Clock()
    watch = LifeWatch[int](30, clock)
    assert not watch.is_silent("a", 1)
    assert not watch.is_silent("b", 1)
    clock.now += 30
    watch.forget("a")
    assert not watch.is_silent("a", 1)
    assert watch.is_silent("b", 1)
    watch.forget_all_but(["a"])
    assert not watch.is_silent("b", 1)
