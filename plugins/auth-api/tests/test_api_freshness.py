"""Who may share a call or a remembered answer: a revocation holds for every later request."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.access.permissions import Caller
from twinframe.testing.scripted_service import ScriptedRequest, ScriptedService, render_reply
from twinframe_auth_api.errors import AnswerRefusedError
from twinframe_auth_api.flights import Flights
from twinframe_auth_api.provider import ApiProvider
from twinframe_auth_api.settings import ApiProviderSettings

ANN = Caller("ann")


@dataclass
class Registry:
    """A permission service: it reads its state when a call comes in, and answers when let."""

    granted: set[str] = field(default_factory=lambda: {"models/read"})
    held: bool = False
    status: str = "200 OK"
    come: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    let: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def respond(self, _request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        reply = render_reply({"permissions": sorted(self.granted)}, status=self.status)
        self.come.release()
        if self.held:
            await self.let.acquire()
        writer.write(reply)
        await writer.drain()


@dataclass
class Clock:
    """Seconds that pass only when told."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Stage:
    registry: Registry
    service: ScriptedService
    provider: ApiProvider
    clock: Clock

    def ask(self, caller: Caller = ANN) -> asyncio.Future[frozenset[str]]:
        return asyncio.ensure_future(self.provider.read_permissions(caller))

    @property
    def calls(self) -> int:
        return len(self.service.requests)


@asynccontextmanager
async def staged(**settings: object) -> AsyncIterator[Stage]:
    registry, clock = Registry(), Clock()
    async with ScriptedService(registry.respond) as service:
        section = ApiProviderSettings.model_validate({"BaseUrl": service.url, **settings})
        provider = ApiProvider(section, clock)
        try:
            yield Stage(registry, service, provider, clock)
        finally:
            await provider.close()


def test_requests_that_come_together_share_one_call() -> None:
    async def run() -> None:
        async with staged() as stage:
            answers = await asyncio.gather(*(stage.ask() for _each in range(200)))
            assert answers == [frozenset({"models/read"})] * 200
            assert stage.calls == 1

    asyncio.run(run())


def test_users_do_not_share_a_call() -> None:
    async def run() -> None:
        async with staged() as stage:
            await asyncio.gather(*(stage.ask(Caller(f"user {at}")) for at in range(5)))
            assert stage.calls == 5

    asyncio.run(run())


def test_without_a_cache_each_request_is_a_call() -> None:
    async def run() -> None:
        async with staged() as stage:
            for _each in range(4):
                await stage.ask()
            assert stage.calls == 4

    asyncio.run(run())


def test_a_request_after_a_revocation_does_not_get_an_answer_from_before() -> None:
    async def run() -> None:
        async with staged() as stage:
            stage.registry.held = True
            early = stage.ask()
            await stage.registry.come.acquire()  # the service has read its state
            stage.registry.granted.clear()  # and acknowledges a revocation
            late = [stage.ask() for _each in range(10)]
            await asyncio.sleep(0)
            stage.registry.let.release()
            stage.registry.let.release()
            assert await early == {"models/read"}
            assert await asyncio.gather(*late) == [frozenset()] * 10
            assert stage.calls == 2  # the ten shared the second

    asyncio.run(run())


def test_a_user_has_one_call_under_way_and_one_that_waits() -> None:
    async def run() -> None:
        async with staged() as stage:
            stage.registry.held = True
            asked = [stage.ask()]
            await stage.registry.come.acquire()
            asked += [stage.ask() for _each in range(5)]
            await asyncio.sleep(0)
            assert stage.calls == 1
            stage.registry.let.release()
            await stage.registry.come.acquire()
            asked += [stage.ask() for _each in range(5)]  # the second call has begun meanwhile
            stage.registry.let.release()
            await stage.registry.come.acquire()
            stage.registry.let.release()
            assert await asyncio.gather(*asked) == [frozenset({"models/read"})] * 11
            assert stage.calls == 3

    asyncio.run(run())


def test_a_cached_answer_serves_until_its_time_after_the_start_of_its_call() -> None:
    async def run() -> None:
        async with staged(CacheExpirationMinutes=1) as stage:
            stage.registry.held = True
            asked = stage.ask()
            await stage.registry.come.acquire()
            stage.clock.now += 20  # the call takes that long
            stage.registry.let.release()
            assert await asked == {"models/read"}
            stage.registry.held = False
            stage.registry.granted.clear()
            stage.clock.now += 39.9
            assert await stage.ask() == {"models/read"}
            assert stage.calls == 1
            stage.clock.now += 0.1
            assert await stage.ask() == frozenset()
            assert stage.calls == 2

    asyncio.run(run())


def test_with_a_cache_a_call_under_way_is_joined_while_it_is_young_enough() -> None:
    async def run() -> None:
        async with staged(CacheExpirationMinutes=1) as stage:
            stage.registry.held = True
            asked = [stage.ask()]
            await stage.registry.come.acquire()
            stage.clock.now += 59.9
            asked.append(stage.ask())
            await asyncio.sleep(0)
            stage.clock.now += 0.1
            asked.append(stage.ask())  # too late for what the first call may answer
            stage.registry.let.release()
            stage.registry.let.release()
            await asyncio.gather(*asked)
            assert stage.calls == 2

    asyncio.run(run())


def test_a_cached_grant_is_not_used_beyond_its_time_when_the_service_is_down() -> None:
    async def run() -> None:
        async with staged(CacheExpirationMinutes=1, BreakerFailures=1) as stage:
            assert await stage.ask() == {"models/read"}
            await stage.service.stop_listening()
            stage.clock.now += 30
            assert await stage.ask() == {"models/read"}
            assert await stage.ask(Caller("bob")) == frozenset()  # opens the breaker
            assert await stage.ask() == {"models/read"}
            stage.clock.now += 30
            assert await stage.ask() == frozenset()

    asyncio.run(run())


@pytest.mark.parametrize("status", ["500 Oops", "404 Unknown"])
def test_a_failure_is_not_remembered(status: str) -> None:
    async def run() -> None:
        async with staged(CacheExpirationMinutes=60) as stage:
            stage.registry.status = status
            assert await stage.ask() == frozenset()
            stage.registry.status = "200 OK"
            assert await stage.ask() == {"models/read"}

    asyncio.run(run())


def test_the_cache_is_bounded() -> None:
    async def run() -> None:
        async with staged(CacheExpirationMinutes=60, CacheSize=2) as stage:
            for name in ("a", "b", "c", "c", "b"):
                await stage.ask(Caller(name))
            assert stage.calls == 3
            await stage.ask(Caller("a"))
            assert stage.calls == 4

    asyncio.run(run())


def test_a_request_that_gives_up_leaves_the_call_to_the_others() -> None:
    async def run() -> None:
        async with staged() as stage:
            stage.registry.held = True
            first, second = stage.ask(), stage.ask()
            await stage.registry.come.acquire()
            first.cancel()
            await asyncio.wait([first])
            stage.registry.let.release()
            assert await second == {"models/read"}
            assert first.cancelled()
            assert stage.calls == 1

    asyncio.run(run())


def test_a_call_all_of_whose_requests_gave_up_ends_by_itself() -> None:
    async def run() -> None:
        async with staged(CacheExpirationMinutes=1) as stage:
            stage.registry.held = True
            asked = stage.ask()
            await stage.registry.come.acquire()
            asked.cancel()
            await asyncio.wait([asked])
            stage.registry.let.release()
            while (answer := stage.provider._known.get("ann")) is None:  # noqa: ASYNC110
                await asyncio.sleep(0)
            assert answer.permissions == {"models/read"}

    asyncio.run(run())


def test_closing_refuses_those_who_wait_and_all_later() -> None:
    async def run() -> None:
        async with staged() as stage:
            stage.registry.held = True
            under_way = stage.ask()
            await stage.registry.come.acquire()
            waiting = stage.ask()
            await asyncio.sleep(0)
            not_begun = stage.ask(Caller("bob"))
            await asyncio.sleep(0)
            await stage.provider.close()
            assert await asyncio.gather(under_way, waiting, not_begun) == [frozenset()] * 3
            assert await stage.ask() == frozenset()
            assert len(asyncio.all_tasks()) == 1 + len(stage.service._tasks)

    asyncio.run(run())


def test_closing_forgets_what_was_cached() -> None:
    async def run() -> None:
        async with staged(CacheExpirationMinutes=1) as stage:
            assert await stage.ask() == {"models/read"}
            await stage.provider.close()
            assert await stage.ask() == frozenset()

    asyncio.run(run())


def test_an_error_nobody_thought_of_refuses_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with staged() as stage:

            async def fail(_url: str, **_more: object) -> None:
                raise RuntimeError("a fault of the client")

            monkeypatch.setattr(stage.provider._client, "read_answer", fail)
            assert await stage.ask() == frozenset()

    asyncio.run(run())
    assert "a fault of the client" in caplog.text  # with its traceback
    assert "Traceback" in caplog.text


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([0, 2, 10]))
def test_no_schedule_gives_an_answer_older_than_allowed(
    chance: random.Random, max_age: int
) -> None:
    """Time passes at random between the steps of callers and calls: a model of all races."""
    clock = Clock(0.0)

    async def call(_key: str) -> float:
        seen = clock.now
        for _step in range(chance.randrange(4)):
            await asyncio.sleep(0)
        if chance.random() < 0.2:
            raise AnswerRefusedError("no answer")
        return seen

    async def come(flights: Flights[float], under_way: list[float]) -> None:
        for _step in range(chance.randrange(12)):
            await asyncio.sleep(0)
        clock.now += chance.randrange(1, 3)
        came = clock.now
        task = asyncio.ensure_future(flights.join("ann"))
        if chance.random() < 0.2:
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            under_way.append(task.result() - came)

    async def run() -> list[float]:
        flights = Flights(call, max_age, clock)
        ages: list[float] = []
        await asyncio.gather(*(come(flights, ages) for _each in range(30)))
        await flights.close()
        return ages

    assert all(age > -max_age if max_age else age >= 0 for age in asyncio.run(run()))
