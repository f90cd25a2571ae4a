"""Failures hold back who causes them, not others, and the memory of them is bounded."""

from __future__ import annotations

import pytest

from twinframe.access.back_off import BackOff


class Time:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def test_the_first_failures_are_free_and_each_further_one_doubles_the_wait(time: Time) -> None:
    back_off, key = BackOff(time), ("10.0.0.1", "client")
    waits = []
    for _ in range(14):
        back_off.add_failure(key)
        waits.append(back_off.read_wait(key))
    assert waits[:4] == [0, 0, 0, 0]
    assert waits[4:11] == [1, 2, 4, 8, 16, 32, 60]
    assert waits[11:] == [60, 60, 60]
    time.now = 59.0
    assert back_off.read_wait(key) == 1
    time.now = 60.0
    assert back_off.read_wait(key) == 0


def test_others_are_not_held_back(time: Time) -> None:
    back_off = BackOff(time)
    for _ in range(20):
        back_off.add_failure(("10.0.0.1", "client"))
    assert back_off.read_wait(("10.0.0.2", "client")) == 0
    assert back_off.read_wait(("10.0.0.1", "other")) == 0


def test_success_and_time_forget(time: Time) -> None:
    back_off, key = BackOff(time), ("10.0.0.1", "client")
    for _ in range(10):
        back_off.add_failure(key)
    back_off.forget(key)
    back_off.add_failure(key)
    assert back_off.read_wait(key) == 0
    for _ in range(10):
        back_off.add_failure(key)
    time.now = 901.0
    assert back_off.read_wait(key) == 0
    assert back_off.size == 0


def test_its_memory_is_bounded(time: Time) -> None:
    back_off = BackOff(time)
    for number in range(12_000):
        back_off.add_failure(("10.0.0.1", str(number)))
    assert back_off.size == 10_000
