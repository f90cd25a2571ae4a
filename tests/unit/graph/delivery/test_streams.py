"""Following events: from where, what comes, when it ends, how many may."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    EventRouteFilterInvalid,
    EventsDisabled,
    InvalidArgument,
    TooManyStreams,
)
from twinframe.graph import Graph
from twinframe.graph.delivery import streams as event_streams
from twinframe.graph.delivery.reading import EventBatch, EventReader
from twinframe.graph.delivery.streams import Followed, StreamPosition
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.settings import Settings
from twinframe.settings.events import EventsSettings
from twinframe.storage.base import GraphSession, GraphTransaction
from twinframe.storage.epochs import read_epoch, renew_epoch
from twinframe.testing.factories import ROOM, build_twin_document


def build_graph(world: Any, **events: Any) -> Graph:
    settings = Settings(events=EventsSettings(**events))
    return Graph(InlineRunner(world.store), settings, clock=world.read_clock)


async def put(graph: Graph, *twin_ids: str) -> None:
    for twin_id in twin_ids:
        await graph.twins.put_twin(twin_id, build_twin_document(ROOM))


def list_subjects(*followed: Followed) -> list[str]:
    return [event.document["subject"] for one in followed for event in one.events]


def test_who_follows_gets_what_happens_from_then_on(world: Any) -> None:
    async def play() -> None:
        graph = build_graph(world)
        await put(graph, "before")
        async with graph.event_streams.follow(None, None) as found:
            coming = asyncio.ensure_future(anext(found))
            await asyncio.sleep(0.01)
            await put(graph, "a")
            first = await asyncio.wait_for(coming, 120)
            await put(graph, "b", "c")
            second = await asyncio.wait_for(anext(found), 120)
        assert list_subjects(first, second) == ["a", "b", "c"]
        assert second.position == first.position + 2

    asyncio.run(play())


def test_who_comes_back_goes_on_behind_the_last_it_saw(world: Any) -> None:
    async def play() -> None:
        graph = build_graph(world)
        await put(graph, "a", "b", "c")
        async with graph.event_streams.follow(None, StreamPosition(0)) as found:
            whole = await anext(found)
        position = next(e.position for e in whole.events if e.document["subject"] == "b")
        async with graph.event_streams.follow(
            "STARTS_WITH(type, 'Microsoft')", StreamPosition(position)
        ) as found:
            assert list_subjects(await anext(found)) == ["c"]

    asyncio.run(play())


def test_a_filter_leaves_out_and_the_place_moves_on_all_the_same(world: Any) -> None:
    async def play() -> None:
        graph = build_graph(world, heartbeat=0.05)
        async with graph.event_streams.follow("subject = 'b'", None) as found:
            await put(graph, "a", "b", "c")
            followed = await anext(found)
            assert list_subjects(followed) == ["b"]
            assert followed.position == followed.events[-1].position + 1
            alive = await asyncio.wait_for(anext(found), 120)
            assert (alive.events, alive.position) == ((), followed.position)

    asyncio.run(play())


def test_who_is_too_late_hears_how_many_events_are_gone(world: Any) -> None:
    async def play() -> None:
        graph = build_graph(world)
        await put(graph, "a", "b", "c")
        last = await InlineRunner(world.store).read(lambda s: s.read_event_bounds()[1])

        def forget(transaction: GraphTransaction) -> int:
            return transaction.delete_events(up_to=last - 1, limit=99)

        await InlineRunner(world.store).write(forget)
        async with graph.event_streams.follow(None, StreamPosition(last - 3)) as found:
            followed = await anext(found)
        assert (followed.missed, list_subjects(followed)) == (2, ["c"])
        await InlineRunner(world.store).write(lambda t: t.delete_events(up_to=last, limit=9))
        async with graph.event_streams.follow(None, StreamPosition(last - 3)) as found:
            followed = await anext(found)
        assert (followed.missed, followed.position, followed.events) == (3, last, ())

    asyncio.run(play())


def test_who_saw_what_a_restore_took_back_hears_of_a_gap_and_goes_on_from_now(world: Any) -> None:
    async def play() -> None:
        graph = build_graph(world)
        await put(graph, "a", "b")
        last = await InlineRunner(world.store).read(lambda s: s.read_event_bounds()[1])
        async with graph.event_streams.follow(None, StreamPosition(last + 1000)) as found:
            assert await anext(found) == Followed(
                (), last, read_epoch(world.store.session()).id, None
            )
            await put(graph, "c")
            assert list_subjects(await asyncio.wait_for(anext(found), 120)) == ["c"]

    asyncio.run(play())


def test_only_so_many_may_follow_at_once(world: Any) -> None:
    async def play() -> None:
        graph = build_graph(world, max_streams=1)
        async with graph.event_streams.follow(None, None):
            with pytest.raises(TooManyStreams, match="Events__MaxStreams"):
                async with graph.event_streams.follow(None, None):
                    pass
        async with graph.event_streams.follow(None, None):
            pass

    asyncio.run(play())


def test_a_place_of_before_a_restore_is_a_gap_though_its_position_is_there_again(
    world: Any,
) -> None:
    async def read_first(graph: Graph, place: StreamPosition) -> tuple[int | None, list[str]]:
        async with graph.event_streams.follow(None, place) as found:
            followed = await anext(found)
        return followed.missed, list_subjects(followed)

    async def play() -> None:
        graph = build_graph(world)
        await put(graph, "a", "b")
        async with graph.event_streams.follow(None, StreamPosition(0)) as found:
            seen = await anext(found)
        before = seen.events[-2].position
        for place in (StreamPosition(before), StreamPosition(before, seen.epoch)):
            assert await read_first(graph, place) == (0, ["b"])
        await InlineRunner(world.store).write(renew_epoch)
        for place in (
            StreamPosition(before),
            StreamPosition(before, seen.epoch),
            StreamPosition(before, "0f"),
        ):
            assert await read_first(graph, place) == (None, [])
        async with graph.event_streams.follow(None, StreamPosition(0)) as found:
            again = await anext(found)
        assert list_subjects(again) == list_subjects(seen)  # who has seen nothing misses nothing
        assert again.epoch != seen.epoch
        assert await read_first(graph, StreamPosition(before, again.epoch)) == (0, ["b"])

    asyncio.run(play())


def test_the_end_of_the_service_ends_all_who_follow(world: Any) -> None:
    async def play() -> None:
        graph = build_graph(world)
        async with graph.event_streams.follow(None, None) as found:
            coming = asyncio.ensure_future(anext(found, None))
            await asyncio.sleep(0.01)
            graph.event_streams.end()
            assert await asyncio.wait_for(coming, 120) is None

    asyncio.run(play())


def test_what_cannot_be_followed_is_refused_before_it_begins(world: Any) -> None:
    async def follow(graph: Graph, text: str | None, after: StreamPosition | None) -> None:
        async with graph.event_streams.follow(text, after):
            pass

    graph = build_graph(world)
    with pytest.raises(EventRouteFilterInvalid):
        world.do(follow(graph, "type is 5", None))
    with pytest.raises(InvalidArgument, match="Last-Event-ID"):
        world.do(follow(graph, None, StreamPosition(-1)))
    with pytest.raises(EventsDisabled):
        world.do(follow(build_graph(world, enabled=False), None, None))


def test_nothing_is_read_for_a_follower_while_there_is_no_memory_for_it(world: Any) -> None:
    memory = MemoryAccount(8 * 1024 * 1024)
    settings = Settings.model_validate({"events": {"heartbeat": 0.05}})
    graph = Graph(InlineRunner(world.store), settings, clock=world.read_clock, memory=memory)

    async def check() -> int:
        full = memory.hold(Part.ANSWERS, memory.total)
        async with graph.event_streams.follow(None, StreamPosition(0)) as found:
            first = asyncio.ensure_future(anext(found))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not first.done()
            full.release()
            return (await first).position

    world.put("a")
    assert world.do(check()) > 0


def test_many_followers_read_a_few_at_a_time(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = build_graph(world)
    read, running, most = EventReader.read, 0, 0

    async def count(reader: EventReader) -> EventBatch:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(50):  # others would begin meanwhile
            await asyncio.sleep(0)
        batch = await read(reader)
        running -= 1
        return batch

    async def follow() -> int:
        async with graph.event_streams.follow(None, StreamPosition(0)) as found:
            seen = 0
            while seen < 100:
                seen += len((await anext(found)).events)
            return seen

    async def play() -> list[int]:
        return await asyncio.gather(*(follow() for _ in range(20)))

    monkeypatch.setattr(EventReader, "read", count)
    monkeypatch.setattr(event_streams, "_YIELD_SECONDS", 0)
    for number in range(100):
        world.put(f"t{number}")
    assert min(world.do(play())) >= 100
    assert most == 2


def test_one_looks_for_all_who_wait(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def count(session: GraphSession) -> int:
        looks.append(session.read_event_bounds()[1])
        return looks[-1]

    monkeypatch.setattr(event_streams, "_read_last", count)
    world.put("a")
    streams = build_graph(world).event_streams

    async def look() -> list[bool]:
        positions = [0, 10**6] * 10
        found = await asyncio.gather(*(streams._look(position) for position in positions))
        return [has_more for has_more, _ in found]

    assert world.do(look()) == [True, False] * 10
    assert len(looks) == 1
    assert world.do(look()) == [True, False] * 10
    assert len(looks) == 2
