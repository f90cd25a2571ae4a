"""Rates of callers: how many pass, who counts as one, and that processes count together."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.access.permissions import Caller
from twinframe.access.rates import CallerRates, Kind, SharedBuckets, build_address_name
from twinframe.errors import QueryRateExceeded, RateExceeded
from twinframe.settings.operations import RateLimitSettings, RateSettings

ALICE, BOB = Caller("alice"), Caller("bob")


class Moment:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def build_rates(
    clock: Callable[[], float], burst: float = 1.0, callers: int = 100, **rates: float
) -> CallerRates:
    per_second = RateSettings.model_validate({kind.value: 0 for kind in Kind} | rates)
    settings = RateLimitSettings(enabled=True, per_second=per_second, burst_seconds=burst)
    return CallerRates(settings, SharedBuckets(callers), clock=clock)


def count_passing(rates: CallerRates, kind: Kind, times: int, caller: Caller = ALICE) -> int:
    passed = 0
    for _ in range(times):
        try:
            rates.spend(kind, caller, "")
        except RateExceeded:
            continue
        passed += 1
    return passed


def test_a_burst_passes_and_then_no_more_than_the_rate() -> None:
    clock = Moment()
    rates = build_rates(clock, burst=2.0, read=10)
    assert count_passing(rates, Kind.READ, 100) == 20
    clock.now += 1
    assert count_passing(rates, Kind.READ, 100) == 10
    clock.now += 60
    assert count_passing(rates, Kind.READ, 100) == 20


def test_the_refusal_says_when_to_come_again_and_then_it_passes() -> None:
    clock = Moment()
    rates = build_rates(clock, burst=4.0, query=0.5)
    assert count_passing(rates, Kind.QUERY, 2) == 2
    with pytest.raises(QueryRateExceeded, match=r"0\.5 query operations a second") as refused:
        rates.spend(Kind.QUERY, ALICE, "")
    assert (refused.value.code, refused.value.retry_after) == ("QuotaReachedError", 2)
    clock.now += refused.value.retry_after
    rates.spend(Kind.QUERY, ALICE, "")


def test_callers_and_kinds_have_rates_of_their_own() -> None:
    rates = build_rates(Moment(), read=5, write=3)
    assert count_passing(rates, Kind.READ, 10) == 5
    assert count_passing(rates, Kind.WRITE, 10) == 3
    assert count_passing(rates, Kind.READ, 10, BOB) == 5
    assert count_passing(rates, Kind.QUERY, 10) == 10


def test_a_subject_is_one_caller_whatever_it_shows() -> None:
    rates = build_rates(Moment(), read=5)
    assert count_passing(rates, Kind.READ, 3, Caller("alice", kind="api key")) == 3
    assert count_passing(rates, Kind.READ, 10, Caller("alice", {"aud": "x"})) == 2


def test_nobody_counts_by_address_and_is_no_subject_of_that_name() -> None:
    rates = build_rates(Moment(), read=1)
    rates.spend(Kind.READ, None, "192.0.2.1")
    with pytest.raises(RateExceeded):
        rates.spend(Kind.READ, None, "192.0.2.1")
    rates.spend(Kind.READ, None, "192.0.2.2")
    rates.spend(Kind.READ, Caller("192.0.2.1"), "192.0.2.1")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("", "", True),
    ],
)
def test_addresses_of_one_network_are_one_caller(one: str, other: str, same: bool) -> None:
    assert (build_address_name(one) == build_address_name(other)) is same


def test_refusals_are_told() -> None:
    told: list[str] = []
    settings = RateLimitSettings(enabled=True, per_second=RateSettings(read=1), burst_seconds=1)
    rates = CallerRates(settings, SharedBuckets(10), on_refusal=told.append, clock=Moment())
    count_passing(rates, Kind.READ, 3)
    assert told == ["read", "read"]


@given(
    st.lists(st.floats(0, 3), min_size=1, max_size=60),
    st.floats(0.1, 20),
    st.floats(0.1, 5),
)
def test_no_span_of_time_lets_more_through_than_burst_and_rate(
    pauses: list[float], rate: float, burst: float
) -> None:
    clock = Moment()
    rates = build_rates(clock, burst=burst, read=rate)
    passed: list[float] = []
    for pause in pauses:
        clock.now += pause
        passed += [clock.now] * count_passing(rates, Kind.READ, 3)
    most = max(1, int(rate * burst))
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            span = passed[last] - passed[first]
            assert last - first + 1 <= most + span * rate + 0.02


def test_a_full_table_forgets_and_never_refuses_somebody_else() -> None:
    rates = build_rates(Moment(), callers=4, read=1)
    passed = [count_passing(rates, Kind.READ, 1, Caller(f"caller-{n}")) for n in range(500)]
    assert passed == [1] * 500


def test_processes_count_together() -> None:
    settings = RateLimitSettings(enabled=True, per_second=RateSettings(read=1000), burst_seconds=1)
    rates = CallerRates(settings, SharedBuckets(10, patience=60.0), clock=Moment())
    readers = []
    for _ in range(3):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, str(count_passing(rates, Kind.READ, 700)).encode())
            os._exit(0)
        os.close(writer)
        readers.append((reader, child))
    passed = 0
    for reader, child in readers:
        passed += int(os.read(reader, 100))
        os.close(reader)
        os.waitpid(child, 0)
    assert passed == 1000
    assert count_passing(rates, Kind.READ, 10) == 0


def test_a_process_that_dies_with_the_lock_holds_nobody_up() -> None:
    buckets = SharedBuckets(10)
    child = os.fork()
    if child == 0:
        buckets._lock.acquire()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert [buckets.take("read", "a", 5.0, 1.0, 0.5) > 0 for _ in range(3)] == [False, True, True]
    assert buckets._lock.acquire(block=False), "it was given back"
