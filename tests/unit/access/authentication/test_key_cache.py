from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.unit.access.authentication.issuer_double import FakeClock
from tests.unit.access.authentication.token_factory import public_jwk
from twinframe.access.authentication.key_cache import KeyAges, KeyCache, KeysUnavailable
from twinframe.access.authentication.keys import KeySet, build_key_set
from twinframe.errors import Unauthenticated


def key_set(*kids: str) -> KeySet:
    return build_key_set({"keys": [public_jwk("ed", kid=kid) for kid in kids]})


class World:
    """A cache whose reader gives what it is told to, when it is told to."""

    def __init__(self, **ages: float) -> None:
        self.clock = FakeClock(1000.0)
        self.given: KeySet | None = key_set("a")
        self.gate: asyncio.Event | None = None
        self.cache = KeyCache(self._read, KeyAges(**ages), self.clock)

    async def _read(self) -> KeySet:
        if self.gate is not None:
            await self.gate.wait()
        if self.given is None:
            raise KeysUnavailable("the issuer is down")
        return self.given

    @property
    def readings(self) -> int:
        return self.cache.readings

    async def knows(self, kid: str | None) -> bool:
        try:
            await self.cache.find(kid, "EdDSA")
        except Unauthenticated:
            return False
        return True

    async def settle(self) -> None:
        """Let a reading that was started end."""
        for _ in range(5):
            await asyncio.sleep(0)


Scenario = Callable[[World], Awaitable[None]]


def play(scenario: Scenario, **ages: float) -> None:
    async def run() -> None:
        await scenario(World(**ages))

    asyncio.run(run())


def test_200_requests_at_once_make_one_reading() -> None:
    async def scenario(world: World) -> None:
        assert all(await asyncio.gather(*(world.knows("a") for _ in range(200))))
        assert world.readings == 1

    play(scenario)


def test_a_waiter_that_leaves_does_not_end_the_reading_of_the_others() -> None:
    async def scenario(world: World) -> None:
        world.gate = asyncio.Event()
        first, second = (asyncio.create_task(world.knows("a")) for _ in range(2))
        await world.settle()
        first.cancel()
        await world.settle()
        assert first.cancelled()
        world.gate.set()
        assert await second
        assert world.readings == 1

    play(scenario)


def test_10_000_unknown_keys_in_a_minute_make_four_readings() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        for index in range(10_000):
            assert not await world.knows(f"made up {index}")
            world.clock.advance(60 / 10_000)
        assert world.readings <= 1 + 2 + 2
        assert world.readings >= 1 + 2 + 1

    play(scenario)


def test_a_burst_of_unknown_keys_at_once_makes_one_reading() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        assert not any(await asyncio.gather(*(world.knows(f"x{n}") for n in range(500))))
        assert world.readings == 2

    play(scenario)


def test_a_new_key_is_found_at_once_and_the_old_one_serves_beside_it() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        world.given = key_set("a", "b")
        assert await world.knows("b")
        assert await world.knows("a")
        assert world.readings == 2

    play(scenario)


def test_after_a_flood_of_made_up_keys_a_new_one_is_found_within_30_seconds() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        for index in range(100):
            await world.knows(f"made up {index}")
        world.given = key_set("a", "b")
        assert not await world.knows("b")
        world.clock.advance(30)
        assert await world.knows("b")

    play(scenario)


def test_a_token_without_kid_or_for_another_algorithm_makes_no_reading() -> None:
    async def scenario(world: World) -> None:
        world.given = key_set("a", "b")
        await world.knows("a")
        assert not await world.knows(None)
        with pytest.raises(Unauthenticated):
            await world.cache.find("a", "RS256")
        assert world.readings == 1

    play(scenario)


def test_keys_are_read_anew_ahead_of_their_lifetime_while_requests_go_on() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        world.clock.advance(239)
        assert await world.knows("a")
        await world.settle()
        assert world.readings == 1
        world.gate = asyncio.Event()
        world.clock.advance(1)
        assert await world.knows("a")  # does not wait
        await world.settle()
        assert world.readings == 2
        world.gate.set()
        await world.settle()
        world.clock.advance(200)
        assert world.cache.touch()
        assert world.readings == 2

    play(scenario)


def test_a_withdrawn_key_is_refused_when_the_lifetime_is_over() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        world.given = key_set("b")
        world.clock.advance(300)
        assert not world.cache.touch()
        assert not await world.knows("a")
        assert await world.knows("b")
        assert world.cache.generation == 1

    play(scenario)


def test_an_issuer_that_withdraws_all_of_its_keys_is_believed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        world.given = key_set()
        world.clock.advance(300)
        assert not world.cache.touch()
        for _ in range(3):
            assert not await world.knows("a")
        assert world.cache.generation == 1
        assert world.cache.failures == 0
        world.given = key_set("a")
        world.clock.advance(30)  # a key nobody knows has the issuer be asked
        assert await world.knows("a")

    with caplog.at_level(logging.WARNING):
        play(scenario)
    assert caplog.text.count("tokens are refused") == 1


def test_reading_the_same_keys_again_forgets_no_verified_token() -> None:
    async def scenario(world: World) -> None:
        for _ in range(5):
            assert await world.knows("a")
            world.clock.advance(300)
        assert world.readings == 5
        assert world.cache.generation == 0

    play(scenario)


def test_known_keys_serve_on_without_waiting_while_the_issuer_is_down_until_their_greatest_age(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        world.given = None
        end = world.clock.time + 7200
        waited = 0
        while world.clock.time < end:
            waited += not world.cache.touch()
            assert await world.knows("a")
            await world.settle()
            world.clock.advance(10)
        assert waited == 0
        assert world.cache.failures <= 7200 / 20
        assert not await world.knows("a")
        assert world.cache.generation == 1

    with caplog.at_level(logging.WARNING):
        play(scenario, max_age=7200)
    assert "known ones serve on" in caplog.text
    assert "too old to serve on" in caplog.text


def test_an_issuer_that_hangs_delays_nobody_while_keys_are_known() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        world.given = None
        world.clock.advance(250)
        assert await world.knows("a")
        await world.settle()  # the first failure
        world.gate = asyncio.Event()
        for _ in range(50):
            world.clock.advance(60)
            assert await asyncio.wait_for(world.knows("a"), 120)
        world.gate.set()

    play(scenario)


def test_an_issuer_that_comes_back_is_found_within_half_a_minute() -> None:
    async def scenario(world: World) -> None:
        world.given = None
        for _ in range(100):
            assert not await world.knows("a")
            world.clock.advance(5)
        world.given = key_set("a")
        world.clock.advance(30)
        assert await world.knows("a")

    play(scenario)


def test_an_issuer_down_at_the_start_is_asked_after_1_2_4_seconds_and_then_every_30() -> None:
    async def scenario(world: World) -> None:
        world.given = None
        asked: list[float] = []
        start = world.clock.time
        while world.clock.time < start + 150:
            before = world.readings
            assert not await world.knows("a")
            if world.readings > before:
                asked.append(world.clock.time - start)
            world.clock.advance(0.5)
        assert asked == [0, 1, 3, 7, 15, 31, 61, 91, 121]

    play(scenario)


def test_made_up_keys_do_not_make_a_failing_issuer_be_asked_more_often() -> None:
    async def scenario(world: World) -> None:
        await world.knows("a")
        world.given = None
        world.clock.advance(240)
        await world.knows("a")
        await world.settle()
        for index in range(100):
            await world.knows(f"made up {index}")
        assert world.readings == 2

    play(scenario)


def test_why_keys_are_not_known_is_in_the_reason_and_not_in_the_message() -> None:
    async def scenario(world: World) -> None:
        world.given = None
        with pytest.raises(Unauthenticated) as caught:
            await world.cache.find("a", "EdDSA")
        assert caught.value.reason == "the issuer's keys are not known: the issuer is down"
        assert "issuer" not in caught.value.message

    play(scenario)


def test_stopping_ends_a_reading_under_way_and_the_cache_can_start_again() -> None:
    async def scenario(world: World) -> None:
        world.gate = asyncio.Event()
        await world.cache.start()
        await world.settle()
        await world.cache.stop()
        assert len(asyncio.all_tasks()) == 1
        world.gate = None
        await world.cache.start()
        assert await world.knows("a")

    play(scenario)


def test_a_cache_serves_in_another_event_loop() -> None:
    world = World()
    world.gate = None

    async def half() -> None:
        await world.cache.start()  # the loop ends before the reading does

    asyncio.run(half())
    assert asyncio.run(world.knows("a"))


def test_the_ages_of_the_settings_are_those_of_the_cache() -> None:
    ages: dict[str, Any] = {"lifetime": 10.0, "max_age": 5.0}

    async def scenario(world: World) -> None:
        await world.knows("a")
        world.given = None
        world.clock.advance(9.9)
        assert await world.knows("a")
        world.clock.advance(0.1)
        assert not await world.knows("a")

    play(scenario, **ages)
