"""A store's upkeep of indexes runs in the background: planned beside queries, then written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.graph import Graph
from twinframe.graph.background.indexes import IndexKind
from twinframe.graph.background.leases import LeaseManager
from twinframe.graph.background.runner import BackgroundRunner
from twinframe.graph.context.context import GraphContext
from twinframe.runtime.leases import LeaseLost
from twinframe.settings import Settings, StorageSettings
from twinframe.storage.base import (
    GraphSession,
    GraphTransaction,
    ModelRecord,
    TwinRecord,
    WriteFunction,
)
from twinframe.storage.indexes import IndexUpkeep, find_index_upkeep
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner
from twinframe.testing.contracts.base import run
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.index_notes import IndexNotes
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

MODEL: Final = "dtmi:ex:Device;1"
TEXT: Final = "MATCH (d:Device) WHERE d.serialNumber = 'S-17' RETURN d.$dtId AS i"


class Upkeep(IndexUpkeep):
    """Plans two writes, each time it is asked while there is work."""

    def __init__(self) -> None:
        self.has_work = True
        self.written: list[str] = []

    def is_index_upkeep_due(self, session: GraphSession) -> bool:
        return self.has_work

    def plan_index_upkeep(self, session: GraphSession) -> Sequence[WriteFunction[None]]:
        self.has_work = False
        return [lambda _, each=each: self.written.append(each) for each in ("one", "two")]


def test_planned_writes_run_in_their_order_while_the_lease_is_held() -> None:
    upkeep, store = Upkeep(), MemoryStore()
    store.open()
    runner = InlineRunner(store)
    kind = IndexKind(GraphContext(runner, Settings()), upkeep)

    async def play() -> None:
        session = store.session()
        assert list(kind.list_pending(session)) == ["properties"]
        manager = LeaseManager(runner, 5.0)
        lease = await manager.claim("indexes/properties")
        assert lease is not None
        await kind.run("properties", lease)
        assert upkeep.written == ["one", "two"]
        assert not list(kind.list_pending(session))
        await manager.give_back(lease)
        with pytest.raises(LeaseLost):
            await kind.run("properties", lease)
        assert upkeep.written == ["one", "two"]

    asyncio.run(play())
    store.close()


def test_a_store_without_the_ability_has_no_such_work() -> None:
    store = MemoryStore()
    assert find_index_upkeep(store) is None
    graph = Graph(InlineRunner(store), Settings())
    assert not [each for each in graph.background_tasks if isinstance(each, IndexKind)]


def fill(transaction: GraphTransaction) -> None:
    transaction.put_models([ModelRecord(MODEL, b"{}", b"{}", b"{}", (), (), "2026")])
    for number in range(10_000):
        head = {"$dtId": f"t{number}", "$etag": "1", "$metadata": {"$model": MODEL}}
        body = orjson.dumps({**head, "serialNumber": f"S-{number}"})
        transaction.put_twin(TwinRecord(f"t{number}", MODEL, "1", body))


def test_queries_of_a_graph_get_their_index_by_themselves(tmp_path: Path) -> None:
    settings = SqliteSettings(directory=str(tmp_path), durability="relaxed")
    store = SqliteGraphStore(settings, "graph")
    store._notes = IndexNotes(pause=0.0)
    store.open()
    run(store, fill)
    upkeep = find_index_upkeep(store)

    async def play() -> None:
        runner = StoreRunner(store, StorageSettings())
        graph = Graph(runner, Settings(), engine=SqliteQueryEngine(), index_upkeep=upkeep)
        tasks = [each for each in graph.background_tasks if isinstance(each, IndexKind)]
        background = BackgroundRunner(runner, tasks, lease_seconds=5.0, look_seconds=0.02)
        background.start()
        async with asyncio.timeout(60):
            while "serialNumber" not in store.list_indexes():
                page = await graph.queries.run(TEXT)
                assert [orjson.loads(row) for row in page.rows] == [{"i": "t17"}]
                await asyncio.sleep(0.01)
        await background.stop()
        page = await graph.queries.run(f"EXPLAIN {TEXT}")
        assert b"serialNumber" in b"".join(page.rows)
        await runner.close()

    asyncio.run(play())
    store.close()
