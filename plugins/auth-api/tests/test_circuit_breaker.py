"""When a service is not asked: after failures in a row, for a period, with one probe at its end."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from twinframe.access.permissions import Caller
from twinframe.testing.scripted_service import (
    ScriptedRequest,
    ScriptedService,
    always,
    render_reply,
)
from twinframe_auth_api.breaker import CircuitBreaker
from twinframe_auth_api.provider import ApiProvider
from twinframe_auth_api.settings import ApiProviderSettings

GOOD = always(render_reply({"permissions": ["models/read"]}))
BAD = always(render_reply({}, status="503 Later"))


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row_only() -> None:
    breaker = CircuitBreaker(3, 10, Clock())
    for outcome in "ffsffsff":
        assert breaker.admit()
        if outcome == "f":
            breaker.record_failure("why")
        else:
            breaker.record_success()
    assert breaker.admit()
    breaker.record_failure("why")
    assert not breaker.admit()


def test_after_the_period_one_call_tries() -> None:
    clock = Clock()
    breaker = CircuitBreaker(1, 10, clock)
    breaker.record_failure("why")
    clock.now += 9.9
    assert not breaker.admit()
    clock.now += 0.1
    assert [breaker.admit() for _each in range(3)] == [True, False, False]


def test_a_probe_that_fails_starts_another_period_and_one_that_succeeds_ends_it() -> None:
    clock = Clock()
    breaker = CircuitBreaker(3, 10, clock)
    for _each in range(3):
        breaker.record_failure("why")
    clock.now += 10
    assert breaker.admit()
    clock.now += 4
    breaker.record_failure("why")
    clock.now += 9.9
    assert not breaker.admit()
    clock.now += 0.1
    assert breaker.admit()
    breaker.record_success()
    assert all(breaker.admit() for _each in range(3))
    breaker.record_failure("why")  # one alone is no reason again
    assert breaker.admit()


def test_a_probe_that_never_comes_back_does_not_close_the_service_for_good() -> None:
    clock = Clock()
    breaker = CircuitBreaker(1, 10, clock)
    breaker.record_failure("why")
    clock.now += 10
    assert breaker.admit()
    clock.now += 10
    assert breaker.admit()


def test_an_outage_is_logged_once_a_period(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    breaker = CircuitBreaker(2, 10, clock)
    for _call in range(20):  # all were under way when the service went down
        breaker.record_failure("why")
    for _each in range(100):
        breaker.admit()
    assert len(caplog.records) == 1
    for _period in range(3):
        clock.now += 10
        assert breaker.admit()
        breaker.record_failure("why")
    assert len(caplog.records) == 4
    clock.now += 10
    breaker.admit()
    breaker.record_success()
    assert caplog.messages[-1] == "The permission service answers again."


class BreakerMachine(RuleBasedStateMachine):
    """Calls begin, end well or badly or never, time passes; held against what was promised."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.breaker = CircuitBreaker(3, 10, self.clock)
        self.failures = 0
        self.quiet_until = 0.0

    @property
    def is_open(self) -> bool:
        return self.failures >= 3

    @rule()
    def begin(self) -> None:
        admitted = self.breaker.admit()
        assert admitted is (not self.is_open or self.clock.now >= self.quiet_until)
        if self.is_open and admitted:
            self.quiet_until = self.clock.now + 10

    @rule()
    def fail(self) -> None:
        self.breaker.record_failure("why")
        self.failures += 1
        if self.is_open:
            self.quiet_until = self.clock.now + 10

    @rule()
    def succeed(self) -> None:
        self.breaker.record_success()
        self.failures = 0

    @precondition(lambda self: self.is_open)
    @rule(seconds=st.integers(1, 12))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds

    @invariant()
    def a_service_that_is_down_is_not_asked(self) -> None:
        if self.is_open and self.clock.now < self.quiet_until:
            assert not self.breaker.admit()


TestBreakerMachine = BreakerMachine.TestCase
TestBreakerMachine.settings = settings(max_examples=50, deadline=None)


def test_a_service_that_is_down_is_left_alone_and_found_again() -> None:
    async def run() -> None:
        clock = Clock()
        async with ScriptedService(BAD) as service:
            section = ApiProviderSettings(
                base_url=service.url, breaker_failures=3, breaker_seconds=10
            )
            provider = ApiProvider(section, clock)

            async def ask(subject: str = "ann") -> frozenset[str]:
                return await provider.read_permissions(Caller(subject))

            for number in range(20):
                assert await ask(f"user {number}") == frozenset()
            assert len(service.requests) == 3
            service.script = GOOD
            assert await ask() == frozenset()  # the period is not over
            assert len(service.requests) == 3
            clock.now += 10
            assert await ask() == {"models/read"}
            assert await ask("bob") == {"models/read"}
            await provider.close()

    asyncio.run(run())


def test_only_one_of_many_users_tries_whether_the_service_is_back() -> None:
    async def run() -> None:
        clock = Clock()
        let = asyncio.Event()

        async def answer_later(request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
            await let.wait()
            await GOOD(request, writer)

        async with ScriptedService(BAD) as service:
            section = ApiProviderSettings(base_url=service.url, breaker_failures=1)
            provider = ApiProvider(section, clock)
            await provider.read_permissions(Caller("ann"))
            service.script = answer_later
            clock.now += 10
            asked = [
                asyncio.ensure_future(provider.read_permissions(Caller(f"user {number}")))
                for number in range(10)
            ]
            await asyncio.wait(asked[1:])
            let.set()
            answers = await asyncio.gather(*asked)
            assert answers == [{"models/read"}] + [frozenset()] * 9
            assert len(service.requests) == 2
            await provider.close()

    asyncio.run(run())


@pytest.mark.parametrize("status", [400, 403, 404, 410, 422])
def test_users_the_service_does_not_know_cannot_close_it_to_the_others(status: int) -> None:
    async def run() -> None:
        async with ScriptedService(always(render_reply({}, status=f"{status} No"))) as service:
            provider = ApiProvider(ApiProviderSettings(base_url=service.url, breaker_failures=2))
            for _each in range(6):
                assert await provider.read_permissions(Caller("mallory")) == frozenset()
            service.script = GOOD
            assert await provider.read_permissions(Caller("ann")) == {"models/read"}
            await provider.close()

    asyncio.run(run())


@pytest.mark.parametrize("status", [201, 302, 401, 408, 429, 500, 503])
def test_what_says_nothing_of_a_user_counts_against_the_service(status: int) -> None:
    async def run() -> None:
        async with ScriptedService(always(render_reply({}, status=f"{status} No"))) as service:
            provider = ApiProvider(ApiProviderSettings(base_url=service.url, breaker_failures=2))
            for _each in range(6):
                assert await provider.read_permissions(Caller("ann")) == frozenset()
            assert len(service.requests) == 2
            await provider.close()

    asyncio.run(run())
