"""The rates of callers over several machines: by how much a caller may exceed them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.access.rates import LEAST_SECONDS, SharedBuckets
from twinframe.service.rate_exchange import (
    EXCHANGE_SECONDS,
    FORGET_SECONDS,
    HOLD_SECONDS,
    RateExchange,
)
from twinframe.storage.memory import MemoryStore

RATE: Final = 50
BURST: Final = 2.0
TOLERANCE: Final = (BURST * RATE - 1 + 0.01) / RATE


class Machines:
    """Machines over one graph, and a clock for all of them."""

    def __init__(self, count: int) -> None:
        self.now = 1000.0
        self.store = MemoryStore()
        self.store.open()
        self.runner = InlineRunner(self.store)
        self.buckets = [SharedBuckets(100) for _ in range(count)]
        self.exchanges = [self.add_worker(each) for each in self.buckets]
        self._loop = asyncio.Runner()

    def add_worker(self, buckets: SharedBuckets) -> RateExchange:
        buckets.share(b"a key of all machines")
        return RateExchange(self.runner, buckets, lambda: self.now)

    def exchange(self, only: Sequence[RateExchange] = ()) -> None:
        """All machines exchange, one after another."""
        for each in only or self.exchanges:
            self._loop.run(each.exchange())

    def spend(self, machine: int, most: int = 10**6, caller: str = "alice") -> int:
        """Send requests to a machine until it refuses; return how many passed."""
        passed = 0
        while passed < most and not self.buckets[machine].take(
            "read", caller, self.now, 1 / RATE, TOLERANCE
        ):
            passed += 1
        return passed

    def list_entries(self) -> int:
        session = self.store.session()
        return len(session.read_entries("caller-rates", after=None, limit=100))

    def close(self) -> None:
        self._loop.close()


def test_what_a_caller_spends_at_one_machine_counts_at_the_others() -> None:
    machines = Machines(3)
    assert machines.spend(0) == RATE * BURST
    machines.exchange()
    machines.exchange()
    assert [machines.spend(one) for one in range(3)] == [0, 0, 0]
    assert machines.spend(1, most=10, caller="bob") == 10
    machines.now += 1
    assert machines.spend(2) == RATE
    machines.close()


@given(
    count=st.integers(2, 4),
    steps=st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 0.7)), min_size=5, max_size=60),
)
def test_a_caller_gets_its_rate_and_beyond_it_only_what_others_did_not_know(
    count: int, steps: list[tuple[int, float]]
) -> None:
    machines = Machines(count)
    began, passed, last = machines.now, 0, machines.now
    for machine, pause in steps:
        passed += machines.spend(machine % count)
        machines.now += pause
        if machines.now - last >= EXCHANGE_SECONDS:
            machines.exchange()
            machines.exchange()  # a message waits for the next look of the others
            last = machines.now
    seconds = machines.now - began
    unknown = BURST + EXCHANGE_SECONDS + max(pause for _, pause in steps) + LEAST_SECONDS
    assert passed <= RATE * (seconds + BURST) + (count - 1) * RATE * unknown + count
    machines.now += 1000
    assert machines.spend(0) == RATE * BURST
    machines.close()


def test_one_worker_of_a_machine_exchanges_and_another_takes_over_when_it_ends() -> None:
    machines = Machines(2)
    first, other = machines.exchanges
    second = machines.add_worker(machines.buckets[0])
    machines.exchange()
    machines.spend(0)
    machines.exchange([second])  # it is not its turn
    assert machines.list_entries() == 0
    machines.now += HOLD_SECONDS + 0.1
    machines.spend(0)
    machines.exchange([second, other])
    assert machines.list_entries() == 1
    assert machines.spend(1) < RATE * BURST
    machines.exchange([first])
    assert machines.list_entries() == 1
    machines.close()


def test_a_machine_that_reads_late_misses_nothing_of_the_last_messages() -> None:
    machines = Machines(2)
    machines.exchange()
    for _ in range(3):
        machines.spend(0, most=RATE // 2)
        machines.exchange(machines.exchanges[:1])
    machines.exchange(machines.exchanges[1:])
    # It had not seen that machine before, and takes over the last message alone.
    assert machines.spend(1) == RATE * BURST - RATE // 2
    machines.now += 100
    for _ in range(3):
        machines.spend(0, most=RATE // 2)
        machines.exchange(machines.exchanges[:1])
    machines.exchange(machines.exchanges[1:])
    assert machines.spend(1) == RATE * BURST - 3 * (RATE // 2)
    machines.close()


def test_machines_that_are_gone_leave_no_entries() -> None:
    machines = Machines(2)
    machines.spend(0)
    machines.exchange()
    assert machines.list_entries() == 1
    machines.now += FORGET_SECONDS + 1
    machines.exchange(machines.exchanges[1:])
    assert machines.list_entries() == 0
    machines.close()


def test_callers_who_do_little_are_not_told_of() -> None:
    machines = Machines(2)
    machines.spend(0, most=2)  # less than a sixteenth of a second's worth
    machines.exchange()
    assert machines.list_entries() == 0
    machines.spend(0, most=3)
    machines.exchange()
    assert machines.list_entries() == 1
    assert machines.spend(1) == RATE * BURST - 5
    machines.close()
