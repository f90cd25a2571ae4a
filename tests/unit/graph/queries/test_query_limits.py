"""Every limit of the settings of queries has its error, over each store, and names the setting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.graph.conftest import build_sqlite, find_engine
from twinframe.errors import LimitExceeded, QueryInvalid, QueryTimeout
from twinframe.graph import Graph
from twinframe.settings import Settings
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import ROOM, build_building_interfaces

CHAIN = 12


@pytest.fixture
def triples_on_disk() -> bool:
    """Queries are to be stopped here."""
    return True


@pytest.fixture
def rooms(world: Any) -> Any:
    """Rooms r0 to r11, each related to the next."""
    for n in range(CHAIN):
        world.put(f"r{n}", ROOM, name=f"n{n}")
    for n in range(CHAIN - 1):
        world.relate(f"r{n}", "next", f"r{n + 1}")
    return world


def run(world: Any, text: str, **query: Any) -> Any:
    settings = Settings.model_validate({"Query": query})
    return world.do(type(world)(world.store, settings).graph.queries.run(text))


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a), (b), (c), (d), (e), (f), (g), (h) RETURN count(*) AS n",
        "MATCH (a), (b), (c), (d), (e), (f), (g) RETURN a.name AS n ORDER BY n",
        "MATCH (a)-[*0..30]-(b), (c)-[*0..30]-(d), (e)-[*0..30]-(f) RETURN count(*) AS n",
        "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN sum(sin(x) + y) AS n",
        "RETURN reduce(s = 0, x IN range(1, 1000000) | s + size(range(1, 1000))) AS n",
    ],
)
def test_the_time_of_a_query_is_bounded(rooms: Any, text: str) -> None:
    """Without the bound each takes hours, and the run would end it."""
    with pytest.raises((QueryTimeout, LimitExceeded), match=r"Query__Timeout|Query__MaxRows"):
        run(rooms, text, Timeout=0.1, MaxRows=10_000_000)


@pytest.mark.parametrize("end", ["*", "*2..", "*..9", "*1..9"])
def test_the_hops_of_a_pattern_are_bounded(rooms: Any, end: str) -> None:
    text = f"MATCH (a {{`$dtId`: 'r0'}})-[:relatedTo{end}]->(b) RETURN b.name AS n"
    with pytest.raises(LimitExceeded, match="Query__MaxHops"):
        run(rooms, text, MaxHops=4)
    assert run(rooms, text.replace("r0", "r8"), MaxHops=4).rows
    assert run(rooms, text, MaxHops=CHAIN - 1).rows


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[*5]->(b) RETURN b",
        "MATCH (a)-[*5..9]->(b) RETURN b",
        "SELECT a FROM DIGITALTWINS MATCH (a)-[*..5]->(b)",
    ],
)
def test_a_pattern_that_needs_more_hops_is_refused_at_once(rooms: Any, text: str) -> None:
    with pytest.raises(QueryInvalid, match="Query__MaxHops"):
        run(rooms, text, MaxHops=4)


def test_the_length_of_a_text_is_bounded_in_bytes(rooms: Any) -> None:
    text = "RETURN 1 AS n //" + "é" * 42
    assert run(rooms, text, MaxTextBytes=100).rows == (b'{"n":1}',)
    for longer in (f"{text}x", f"{text[:-1]}€"):
        with pytest.raises(LimitExceeded, match="Query__MaxTextBytes"):
            run(rooms, longer, MaxTextBytes=100)


def test_the_nesting_of_a_text_is_bounded(rooms: Any) -> None:
    assert run(rooms, f"RETURN {'(' * 9}1{')' * 9} AS n", MaxDepth=10).rows
    with pytest.raises((LimitExceeded, QueryInvalid), match="Query__MaxDepth"):
        run(rooms, f"RETURN {'(' * 30}1{')' * 30} AS n", MaxDepth=10)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a), (b), (c) RETURN nullIf(a.name, 1) AS n, b.name AS m ORDER BY n, m",
        "MATCH (a), (b), (c) RETURN size(collect(nullIf(a.name, 1))) AS n",
        "MATCH (a), (b), (c) RETURN DISTINCT a.name, b.name, c.name, nullIf(a.name, 1) AS s",
        "MATCH (a), (b), (c) RETURN a.name, b.name, c.name, sum(nullIf(size(a.name), 1)) AS s",
        "UNWIND [1000] AS x WITH range(1, x) AS l RETURN nullIf(size(l), 1) AS n",
    ],
)
def test_what_the_evaluator_holds_is_bounded(rooms: Any, text: str) -> None:
    """No store computes `nullIf`, so the evaluator has rows of its own."""
    with pytest.raises(LimitExceeded, match="Query__MaxRows"):
        run(rooms, text, MaxRows=500)
    assert run(rooms, text).rows


def test_what_sqlite_collects_is_bounded(tmp_path: Any) -> None:
    store = build_sqlite(tmp_path, max_document_bytes=100_000)
    store.open()

    async def main() -> None:
        settings = Settings()
        runner = StoreRunner(store, settings.storage)
        graph = Graph(runner, settings, engine=find_engine(store))
        models: Any = build_building_interfaces()
        await graph.models.create_models(models)
        text = "UNWIND range(1, 10000) AS x UNWIND range(1, 10) AS y RETURN collect(x) AS n"
        with pytest.raises(LimitExceeded, match="Storage__Sqlite__MaxDocumentBytes"):
            await graph.queries.run(text)
        assert (await graph.queries.run("RETURN 1 AS n")).rows == (b'{"n":1}',)
        await runner.close()

    asyncio.run(main())
    store.close()


def test_the_charge_tells_work_apart_that_gives_equal_rows(rooms: Any) -> None:
    # NOTE: the time of statements counts, too; the least is without that of the machine.
    little = min(run(rooms, "MATCH (a {`$dtId`: 'r0'}) RETURN count(*) AS n").charge for _ in "123")
    much = run(rooms, "MATCH (a), (b), (c), (d), (e) WHERE a.name < b.name RETURN count(*) AS n")
    assert much.charge > little + 3
