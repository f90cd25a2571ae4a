"""Waiting for writes: none is missed between a look and the wait."""

from __future__ import annotations

import asyncio

from tests.waiting import PATIENCE, play
from twinframe.graph.context.context import WriteSignal

SHORT = 0.01


def test_a_write_between_a_look_and_the_wait_ends_the_wait() -> None:
    async def scene() -> None:
        signal = WriteSignal()
        since = signal.count
        signal.set()
        assert await signal.wait(since, PATIENCE)
        assert not await signal.wait(signal.count, SHORT)

    play(scene)


def test_one_write_wakes_all_who_wait() -> None:
    async def scene() -> None:
        signal = WriteSignal()
        waiting = [asyncio.create_task(signal.wait(0, PATIENCE)) for _ in range(3)]
        await asyncio.sleep(0)
        signal.set()
        assert await asyncio.gather(*waiting) == [True] * 3

    play(scene)
