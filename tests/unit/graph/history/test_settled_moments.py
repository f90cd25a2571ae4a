"""The position of a moment stays the same, also while a change of that moment is being stored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.graph.conftest import build_sqlite
from tests.waiting import PATIENCE
from twinframe.graph import Graph
from twinframe.graph.context.write_clock import WriteClock
from twinframe.model.clock import render_update_time
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.runner import StoreRunner
from twinframe.testing.contracts.base import opening
from twinframe.testing.factories import ROOM, build_building_interfaces, build_twin_document

NOW = 1_706_702_400_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with opening(build_sqlite(tmp_path)) as store:
        yield store


class Clock:
    """A clock that another thread moves."""

    now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.mark.parametrize("ask", ["find_position", "find_range"])
def test_a_moment_that_a_running_write_may_have_is_awaited(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    clock, begun, end = Clock(), threading.Event(), threading.Event()
    known = WriteClock.end

    def wait(self: WriteClock, transaction: Any) -> int:
        begun.set()
        assert end.wait(PATIENCE)
        return known(self, transaction)

    async def play() -> None:
        runner = StoreRunner(store, Settings().storage)
        graph = Graph(runner, Settings(), clock=clock)
        await graph.models.create_models(build_building_interfaces())
        clock.now += 1_000_000_000
        with monkeypatch.context() as patched:
            patched.setattr(WriteClock, "end", wait)
            write = asyncio.create_task(graph.twins.put_twin("a", build_twin_document(ROOM)))
            await asyncio.to_thread(begun.wait, PATIENCE)
            moment = render_update_time(clock.now)
            clock.now += 1_000_000_000
            history = graph.history
            if ask == "find_position":
                asked: Any = asyncio.create_task(history.find_position(moment))
            else:
                asked = asyncio.create_task(history.find_range(None, moment))
            for _ in range(5):
                await asyncio.sleep(0)
            end.set()
            await write
        last = await runner.read(lambda session: session.read_event_bounds()[1])
        found = await asked
        assert (found if ask == "find_position" else found.end) == last

        # What is settled is not awaited again.
        writes: list[Any] = []
        monkeypatch.setattr(runner, "write", writes.append)
        assert await graph.history.find_position(moment) == last
        before = render_update_time(clock.now - 1_500_000_000)
        assert await graph.history.find_position(before) < last
        assert writes == []
        await runner.close()

    asyncio.run(play())
