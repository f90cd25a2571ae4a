"""Pages under concurrent writes: no row that was there throughout is repeated or left out.

Two workers on one SQLite file answer the pages in turn, with their real threads.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import build_sqlite, find_engine
from twinframe.errors import NotFound, RelationshipsNotDeleted
from twinframe.graph import Graph
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore, GraphTransaction, TwinRecord
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import (
    ROOM,
    SENSOR,
    build_building_interfaces,
    build_twin_document,
)

TWINS = 12
SCANS = {
    "all twins": "MATCH (t:Twin) RETURN t.`$dtId` AS key",
    "a label": "MATCH (t:Sensor) RETURN t.`$dtId` AS key",
    "a filter on what changes": "MATCH (t:Twin) WHERE t.serial >= '0' RETURN t.`$dtId` AS key",
    "relationships": "MATCH ()-[r]->() RETURN r.`$sourceId` + r.`$relationshipId` AS key",
    "a hop": (
        "MATCH (a)-[r]->(b:Sensor) RETURN r.`$sourceId` + r.`$relationshipId` AS key, b.serial AS s"
    ),
    "the vendor's language": "SELECT T.$dtId AS key FROM DIGITALTWINS T",
}
KEPT = {
    "ordered by what changes": (
        "MATCH (t:Sensor) RETURN t.`$dtId` AS key, t.serial AS s ORDER BY s DESC, key"
    ),
    "two hops": (
        "MATCH (a)-[r]->(b:Sensor)<-[x]-(c) "
        "RETURN a.`$dtId` + c.`$dtId` AS a, r.`$relationshipId` + x.`$relationshipId` AS key"
    ),
    "two patterns": "MATCH (a:Room), (b:Sensor) RETURN a.`$dtId` AS a, b.`$dtId` AS key",
    "groups": "MATCH (t:Sensor) RETURN t.serial AS key, count(*) AS n",
    "groups over hops": "MATCH (a)-[r]->() RETURN a.`$dtId` AS key, count(r) AS n",
    "distinct values": "MATCH (t:Sensor) RETURN DISTINCT t.serial AS key",
    "a union": (
        "MATCH (t:Sensor) RETURN t.`$dtId` AS key UNION ALL MATCH (t) RETURN t.`$dtId` AS key"
    ),
    "partly evaluated": "MATCH (t:Sensor) RETURN t.`$dtId` AS key, reduce(s = '', c IN [t.serial] "
    "| s + c) AS s ORDER BY s",
    "random": "MATCH (t:Twin) RETURN t.`$dtId` AS key, rand() AS r ORDER BY r",
}

change = st.tuples(
    st.sampled_from(["put", "delete", "relate", "unrelate"]),
    st.integers(0, TWINS + 5),
    st.integers(0, 9),
)
changes = st.lists(st.lists(change, max_size=4), min_size=1, max_size=6)


async def put(graph: Graph, number: int, serial: int) -> None:
    document = build_twin_document(SENSOR, serial=f"{serial}")
    await graph.twins.put_twin(f"s{number}", document)


async def relate(graph: Graph, number: int, target: int) -> None:
    body: Any = {"$relationshipName": "relatedTo", "$targetId": f"s{number}"}
    await graph.relationships.put_relationship(f"r{number % 3}", f"to-{target % 4}", body)


async def apply(graph: Graph, kind: str, number: int, other: int) -> None:
    """One change; what the graph refuses is left."""
    try:
        match kind:
            case "put":
                await put(graph, number, other)
            case "delete":
                await graph.twins.delete_twin(f"s{number}")
            case "relate":
                await relate(graph, number, other)
            case _:
                await graph.relationships.delete_relationship(f"r{number % 3}", f"to-{other % 4}")
    except (NotFound, RelationshipsNotDeleted):
        return


def find_removed(kind: str, number: int, other: int) -> str | None:
    """The `key` of what a change takes away."""
    match kind:
        case "delete":
            return f"s{number}"
        case "unrelate":
            return f"r{number % 3}to-{other % 4}"
        case _:
            return None


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a graph with sensors, rooms and relationships between them."""
    place = tmp_path_factory.mktemp("seed")

    async def fill() -> None:
        store = build_sqlite(place, durability="relaxed")
        graph, runner = start(store)
        await graph.models.create_models(cast("Any", build_building_interfaces()))
        for number in range(3):
            await graph.twins.put_twin(f"r{number}", build_twin_document(ROOM))
        for number in range(TWINS):
            await put(graph, number, number % 5)
            if number % 2:
                await relate(graph, number, number // 3)
        await runner.close()
        store.close()

    asyncio.run(fill())
    return place


@asynccontextmanager
async def open_workers(seed: Path) -> AsyncIterator[tuple[Graph, Graph]]:
    """Two workers on one copy of the graph."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(seed, place, dirs_exist_ok=True)
        stores = [build_sqlite(Path(place), durability="relaxed") for _ in range(2)]
        workers = [start(store) for store in stores]
        yield workers[0][0], workers[1][0]
        for _, runner in workers:
            await runner.close()
        for store in stores:
            store.close()


def start(store: GraphStore) -> tuple[Graph, StoreRunner]:
    store.open()
    settings = Settings()
    runner = StoreRunner(store, settings.storage)
    engine = find_engine(store)
    return Graph(runner, settings, engine=engine, scratch=store.scratch), runner


async def read_all(graph: Graph, text: str) -> list[str]:
    page = await graph.queries.run(text, None, None, 1000)
    assert page.continuation_token is None
    return [render(row) for row in page.rows]


def render(row: bytes) -> str:
    return orjson.dumps(orjson.loads(row), option=orjson.OPT_SORT_KEYS).decode()


async def walk(seed: Path, text: str, size: int, plan: list[list[tuple[str, int, int]]]) -> Any:
    """All rows of all pages, the states (results of the same query) at each page, the pages."""
    async with open_workers(seed) as workers:
        states = [await read_all(workers[0], text)]
        page = await workers[0].queries.run(text, None, None, size)
        rows = [render(row) for row in page.rows]
        number = 0
        while page.continuation_token is not None:
            assert len(page.rows) == size
            for step in plan[number % len(plan)] if number < 2 * len(plan) else []:
                await apply(workers[number % 2], *step)
            states.append(await read_all(workers[1], text))
            number += 1
            page = await workers[number % 2].queries.run(None, None, page.continuation_token)
            rows += [render(row) for row in page.rows]
        return rows, states


@pytest.mark.parametrize("name", SCANS)
@given(size=st.integers(1, 7), plan=changes)
@settings(max_examples=12, deadline=None)
def test_a_scan_gives_once_what_was_there_throughout(
    seed: Path, name: str, size: int, plan: Any
) -> None:
    rows, states = asyncio.run(walk(seed, SCANS[name], size, plan))
    keys = Counter(orjson.loads(row)["key"] for row in rows)
    seen = [{orjson.loads(row)["key"] for row in state} for state in states]
    assert set.intersection(*seen) <= set(keys) <= set.union(*seen)
    # NOTE: what was taken away and put anew between two pages is another row of the same name.
    again = {name for step in plan for change in step if (name := find_removed(*change))}
    assert {key for key, count in keys.items() if count > 1} <= again


@pytest.mark.parametrize("name", KEPT)
@given(size=st.integers(1, 7), plan=changes)
@settings(max_examples=12, deadline=None)
def test_any_other_result_is_that_of_its_first_page(
    seed: Path, name: str, size: int, plan: Any
) -> None:
    rows, states = asyncio.run(walk(seed, KEPT[name], size, plan))
    if name == "random":
        keys = Counter(orjson.loads(row)["key"] for row in rows)
        assert keys == Counter(orjson.loads(row)["key"] for row in states[0])
    else:
        assert Counter(rows) == Counter(states[0])
        if "ORDER BY" in KEPT[name]:
            assert [orjson.loads(row)["s"] for row in rows] == [
                orjson.loads(row)["s"] for row in states[0]
            ]


def fill(transaction: GraphTransaction) -> None:
    for number in range(3000):
        body = {"$dtId": f"n{number:04}", "serial": str(number % 97)}
        document = orjson.dumps({**body, "$metadata": {"$model": SENSOR}})
        transaction.put_twin(TwinRecord(f"n{number:04}", SENSOR, "e", document))


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) WHERE t.serial <> 'x' RETURN t.serial AS s",
        "MATCH (t:Sensor) RETURN t.serial AS s ORDER BY s",
        "MATCH (t:Sensor) RETURN t.`$dtId` AS key, count(*) AS n",
    ],
)
def test_all_pages_together_cost_what_the_rows_cost(seed: Path, text: str) -> None:
    async def read(size: int) -> tuple[int, float]:
        """Rows, and the work for them: the charge without that of a page and of what is given."""
        async with open_workers(seed) as (graph, _):
            page = await graph.queries.run(text, None, None, size)
            rows, work = 0, 0.0
            while True:
                rows += len(page.rows)
                sent = len(page.rows) / 100 + sum(map(len, page.rows)) / 65536
                work += page.charge - 1 - sent
                if page.continuation_token is None:
                    return rows, work
                page = await graph.queries.run(None, None, page.continuation_token)

    store = build_sqlite(seed, durability="relaxed")
    store.open()
    (outcome,) = store.write([fill])
    store.close()
    assert outcome.error is None
    rows, at_once = asyncio.run(read(10_000))
    assert rows == 3000 + TWINS
    rows, in_pages = asyncio.run(read(30))
    assert rows == 3000 + TWINS
    # A hundred pages, each passing over those before it, would be fifty times the work.
    assert in_pages < 2 * at_once + 2
