"""Reading the outbox on and on: nothing is left out, and large events come few at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from twinframe.events.filters import build_filter
from twinframe.graph.context import GraphContext
from twinframe.graph.delivery.reading import BATCH, EventReader
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore, OutboxEvent
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.inline_runner import InlineRunner


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
    assert [batch.read for batch in batches][:4] == [8, 4, 2, 1]
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
