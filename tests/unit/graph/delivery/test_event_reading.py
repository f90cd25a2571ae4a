"""Reading the outbox on and on: nothing is left out, and large events come few at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.graph import Graph
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.reading import BATCH, EventReader, build_read
from twinframe.graph.events.filters import build_filter
from twinframe.settings import Settings
from twinframe.storage.base import GraphSession, GraphStore, OutboxEvent
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import (
    ROOM,
    SENSOR,
    SPACE,
    build_building_interfaces,
    build_twin_document,
)


def append(store: GraphStore, count: int, size: int = 10) -> None:
    body = b'{"type":"T","data":"%b"}' % (b"x" * size)
    run(store, lambda t: t.append_events([OutboxEvent("a", body)] * count))


def read_all(store: GraphStore, text: str | None = None, after: int = 0) -> list[Any]:
    async def play() -> list[Any]:
        context = GraphContext(InlineRunner(store), Settings())
        passes = None if text is None else build_filter(text)
        reader = EventReader(context, after, passes)
        batches = [await reader.read()]
        while batches[-1].read:
            batches.append(await reader.read())
        return batches

    return asyncio.run(play())


def test_batches_grow_while_events_are_small(store: GraphStore) -> None:
    append(store, 300)
    batches = read_all(store)
    assert [batch.read for batch in batches] == [8, 16, 32, BATCH, BATCH, BATCH, 52, 0]
    positions = [event.position for batch in batches for event in batch.events]
    with reading(store) as session:
        first, last = session.read_event_bounds()
    assert positions == list(range(first, last + 1))


def test_large_events_come_few_at_a_time(store: GraphStore) -> None:
    append(store, 24, size=300_000)
    batches = read_all(store)
    assert [batch.read for batch in batches][:4] == [2, 2, 2, 1]  # two are more than MUCH
    assert sum(batch.read for batch in batches) == 24


def test_what_does_not_pass_is_read_past(store: GraphStore) -> None:
    append(store, 20)
    batches = read_all(store, "type = 'other'")
    assert sum(batch.read for batch in batches) == 20
    assert not any(batch.events for batch in batches)


def test_forgotten_events_are_counted_once(store: GraphStore) -> None:
    append(store, 30)
    run(store, lambda t: t.delete_events(up_to=10, limit=99))
    batches = read_all(store)
    assert sum(batch.missed for batch in batches) == 10
    assert sum(batch.read for batch in batches) == 20


class CountingSession:
    """A session that counts how often it is asked for the heirs of a model."""

    def __init__(self, session: GraphSession) -> None:
        self._session = session
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def read_descendants(self, model_id: str) -> frozenset[str]:
        self.asked.append(model_id)
        return self._session.read_descendants(model_id)


def test_events_of_a_deleted_model_are_judged_by_one_look_at_what_was_asked_for(
    store: GraphStore,
) -> None:
    graph = Graph(InlineRunner(store), Settings())
    interfaces: Any = build_building_interfaces()

    async def write() -> None:
        await graph.models.create_models(interfaces)
        for number in range(20):
            await graph.twins.put_twin(f"room{number}", build_twin_document(ROOM))
        await graph.models.delete_model(ROOM)

    asyncio.run(write())
    context = GraphContext(InlineRunner(store), Settings())
    for wanted, passed in ((SPACE, 20), (ROOM, 20), (SENSOR, 0)):
        passes = build_filter(
            f"type = 'Microsoft.DigitalTwins.Twin.Create' AND IS_OF_MODEL('{wanted}')"
        )
        with reading(store) as session:
            counting: Any = CountingSession(session)
            batch = build_read(context.models, 0, passes, 1000)(counting)
        assert len(batch.events) == passed
        assert len(counting.asked) <= 1
