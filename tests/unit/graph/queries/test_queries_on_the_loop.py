"""Short queries on the event loop: they answer as in a thread, and end when they are not short."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import World, build_sqlite, find_engine
from twinframe.errors import StorageBusy, TwinframeError
from twinframe.graph import Graph
from twinframe.graph.queries.queries import QueryPage
from twinframe.settings import Settings
from twinframe.storage.base import GraphSession, GraphStore, Placement
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import ROOM, SENSOR, build_building_interfaces, build_interface

T = TypeVar("T")
ROOMS = 60
FAR = "MATCH (a:Twin {`$dtId`: $id})-[:relatedTo*1..4]->(b) RETURN count(*) AS n"
POINT = "MATCH (t:Twin {`$dtId`: $id}) RETURN t.name AS name"
SCAN = "SELECT * FROM DIGITALTWINS T WHERE T.serial > '05'"  # passes the large twin
CAMERA = "dtmi:com:example:Camera;1"


class NotingRunner(StoreRunner):
    """Notes what became of the reads that were tried on the loop."""

    def __init__(self, store: GraphStore) -> None:
        super().__init__(store, Settings().storage)
        self.tried: list[bool] = []

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> T | None:
        """As the base's."""
        answer = super().read_short(read, steps, seconds)
        self.tried.append(answer is not None)
        return answer


class ThreadRunner(StoreRunner):
    """Tries nothing on the loop."""

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> T | None:
        """Always None."""
        return None


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphStore]:
    """Sixty rooms, each related to eight others; one alone, one large; sensors s00 to s19."""
    place = tmp_path_factory.mktemp("loop")
    store = build_sqlite(place)
    store.scratch = place / "results"
    store.open()
    world = World(store, Settings())
    world.do(world.graph.models.create_models(cast("Any", build_building_interfaces())))
    for n in range(20):
        world.put(f"s{n:02}", SENSOR, serial=f"{n:02}")
    world.put("alone", ROOM, name="alone")
    world.put("large", ROOM, name="x" * 40_000)
    rooms = [f"r{n}" for n in range(ROOMS)]
    for room in rooms:
        world.put(room, ROOM, name=room)
    for n, room in enumerate(rooms):
        for m in range(1, 9):
            world.relate(room, f"to{m}", rooms[(n + m * 7) % ROOMS])
    yield store
    store.close()


def serve(store: GraphStore, work: Callable[[Graph, NotingRunner], Awaitable[T]]) -> T:
    """Run `background_tasks` with a graph over `store` as the service has it."""

    async def main() -> T:
        runner = NotingRunner(store)
        try:
            return await work(build_graph(store, runner), runner)
        finally:
            await runner.close()

    return asyncio.run(main())


def build_graph(store: GraphStore, runner: StoreRunner) -> Graph:
    return Graph(runner, Settings(), engine=find_engine(store), scratch=store.scratch)


async def ask(
    graph: Graph,
    text: str | None,
    parameters: Any = None,
    token: str | None = None,
    size: int | None = None,
) -> QueryPage:
    """Ask as the REST API does."""
    page = None
    if text is not None and token is None:
        page = graph.queries.run_at_once(text, parameters or {}, size)
    return page or await graph.queries.run(text, parameters, token, size)


async def warm(graph: Graph, runner: NotingRunner, text: str, parameters: Any = None) -> QueryPage:
    """Ask until the answer came from the loop."""
    for _ in range(200):
        page = await ask(graph, text, parameters)
        if runner.tried and runner.tried[-1]:
            return page
    raise AssertionError("It was never run on the loop.")


def test_a_short_query_comes_to_run_on_the_loop(sqlite: GraphStore) -> None:
    async def apply(graph: Graph, runner: NotingRunner) -> None:
        first = await ask(graph, POINT, {"id": "r3"})
        assert runner.tried == []  # nothing is parsed, compiled or tried before a thread did it
        again = await warm(graph, runner, POINT, {"id": "r3"})
        assert first.rows == again.rows == (b'{"name":"r3"}',)
        other = await ask(graph, POINT, {"id": "alone"})
        assert other.rows == (b'{"name":"alone"}',)
        assert runner.tried[-1]

    serve(sqlite, apply)


def test_a_hub_behind_the_same_text_ends_on_the_loop_and_holds_up_nobody(
    sqlite: GraphStore,
) -> None:
    async def apply(graph: Graph, runner: NotingRunner) -> None:
        await warm(graph, runner, FAR, {"id": "alone"})
        query = asyncio.ensure_future(graph.queries.run(FAR, {"id": "r0"}))
        await asyncio.sleep(0)
        others = 0
        while not query.done():  # while the thread is at work, the loop goes on
            await graph.twins.read_twin("alone")
            others += 1
            await asyncio.sleep(0)
        assert others
        assert runner.tried[-1] is False
        assert (await query).rows == (b'{"n":%d}' % sum(8**hops for hops in (1, 2, 3, 4)),)
        tries = len(runner.tried)
        for _ in range(8):  # and it does not pay for the try each time
            await ask(graph, FAR, {"id": "r0"})
        assert len(runner.tried) == tries

    serve(sqlite, apply)


def test_a_twin_that_is_large_is_left_to_a_thread(sqlite: GraphStore) -> None:
    async def apply(graph: Graph, runner: NotingRunner) -> None:
        await warm(graph, runner, POINT, {"id": "r3"})
        page = await ask(graph, POINT, {"id": "large"})
        assert len(page.rows[0]) > 40_000
        assert runner.tried[-1] is False
        stored = await graph.twins.read_twin("large")  # on the same session, without that bound
        assert len(stored.body) > 40_000

    serve(sqlite, apply)


def test_what_is_asked_with_large_parameters_is_not_tried(sqlite: GraphStore) -> None:
    async def apply(graph: Graph, runner: NotingRunner) -> None:
        await warm(graph, runner, POINT, {"id": "r3"})
        tries = len(runner.tried)
        assert (await ask(graph, POINT, {"id": "x" * 2000})).rows == ()
        assert len(runner.tried) == tries

    serve(sqlite, apply)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[World]:
    """A graph of its own, for tests that write."""
    store = build_sqlite(tmp_path)
    store.scratch = tmp_path / "results"
    store.open()
    world = World(store, Settings())
    world.do(world.graph.models.create_models(cast("Any", build_building_interfaces())))
    world.put("s", SENSOR, serial="1")
    yield world
    store.close()


def test_a_change_of_models_is_noticed_on_the_loop(fresh: World) -> None:
    count = "MATCH (t:Camera) RETURN count(*) AS n"

    async def apply(graph: Graph, runner: NotingRunner) -> None:
        page = await warm(graph, runner, count)
        assert page.rows == (b'{"n":0}',)
        assert [warning.code for warning in page.warnings] == ["UnknownLabel"]
        child: Any = [build_interface(CAMERA, extends=[SENSOR])]
        await graph.models.create_models(child)
        body: Any = {"$metadata": {"$model": CAMERA}}
        await graph.twins.put_twin("camera", body)
        for page in (await ask(graph, count), await warm(graph, runner, count)):
            assert page.rows == (b'{"n":1}',)
            assert page.warnings == ()

    serve(fresh.store, apply)


def test_a_result_that_is_longer_than_its_page_is_left_to_a_thread(sqlite: GraphStore) -> None:
    text = "MATCH (t:Sensor) RETURN t.serial AS serial ORDER BY serial"

    async def apply(graph: Graph, runner: NotingRunner) -> None:
        whole = (await warm(graph, runner, text)).rows
        page = await ask(graph, text, None, None, 6)
        assert runner.tried[-1] is False
        rows = [*page.rows]
        while page.continuation_token is not None:
            page = await ask(graph, None, None, page.continuation_token)
            rows += page.rows
        assert tuple(rows) == whole
        assert len(rows) == 20

    serve(sqlite, apply)


def test_a_write_that_was_acknowledged_is_seen_on_the_loop(fresh: World) -> None:
    text = "MATCH (t:Twin {`$dtId`: $id}) RETURN t.serial AS serial"

    async def apply(graph: Graph, runner: NotingRunner) -> None:
        await warm(graph, runner, text, {"id": "s"})
        for n in range(20):
            body: Any = {"$metadata": {"$model": SENSOR}, "serial": str(n)}
            await graph.twins.put_twin("s", body)
            page = await ask(graph, text, {"id": "s"})
            assert page.rows == (b'{"serial":"%d"}' % n,)

    serve(fresh.store, apply)


def test_a_store_whose_reads_are_pooled_is_never_read_on_the_loop(fresh: World) -> None:
    fresh.store.traits = replace(fresh.store.traits, point_reads=Placement.POOL)
    threads: set[int] = set()

    def note(session: GraphSession) -> int:
        threads.add(threading.get_ident())
        return 1

    async def main() -> None:
        runner = NotingRunner(fresh.store)
        graph = build_graph(fresh.store, runner)
        for _ in range(20):
            await ask(graph, POINT, {"id": "s"})
        assert not any(runner.tried)
        assert runner.read_short(note, 5000, 1.0) is None
        await runner.close()

    asyncio.run(main())
    assert threads == set()


def test_a_service_that_stops_takes_no_short_query(sqlite: GraphStore) -> None:
    async def apply(graph: Graph, runner: NotingRunner) -> None:
        await warm(graph, runner, POINT, {"id": "r3"})
        await runner.close()
        with pytest.raises(StorageBusy):
            await ask(graph, POINT, {"id": "r3"})

    serve(sqlite, apply)


def test_a_caller_that_leaves_ends_the_run_in_the_thread_that_follows_a_try(
    sqlite: GraphStore,
) -> None:
    text = "MATCH (a:Twin {`$dtId`: $id})-[:relatedTo*1..9]->(b) RETURN count(*) AS n"

    async def apply(graph: Graph, runner: NotingRunner) -> None:
        await warm(graph, runner, text, {"id": "alone"})
        query = asyncio.ensure_future(graph.queries.run(text, {"id": "r0"}))
        tried = len(runner.tried)
        while len(runner.tried) == tried:  # noqa: ASYNC110  (it knows no event)
            await asyncio.sleep(0.01)
        assert runner.tried[-1] is False
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query

    serve(sqlite, apply)  # closing would wait for the 134 million rows of it


# --- on the loop as in a thread -----------------------------------------------------------------

QUERIES: tuple[str, ...] = (
    POINT,
    "MATCH (t:Sensor) RETURN t.serial AS serial",
    "MATCH (t:Sensor) WHERE t.serial >= $least RETURN t.serial AS serial ORDER BY serial DESC",
    SCAN,
    "SELECT T.serial FROM DIGITALTWINS T WHERE IS_OF_MODEL('dtmi:com:example:Sensor;1')",
    "MATCH (a:Twin {`$dtId`: $id})-[:relatedTo]->(b) RETURN b",
    "MATCH (a:Twin {`$dtId`: $id})-[r:relatedTo]->(b) RETURN r, b.name AS name ORDER BY name",
    "MATCH (a:Twin {`$dtId`: $id})<-[:relatedTo]-(b) RETURN count(*) AS n, collect(b.name) AS all",
    "MATCH (t:Sensr) RETURN t.serial AS serial",
    "MATCH (t:Sensor) RETURN t.serial AS serial SKIP 3 LIMIT 9",
    "MATCH (t:Sensor) RETURN t.serial AS serial ORDER BY serial LIMIT $many",
    "MATCH (t:Sensor) RETURN t.absent AS absent, $missing AS missing",
    "UNWIND $list AS x RETURN x, x * 9223372036854775807 AS product",
    FAR,
)


async def read_all(
    graph: Graph, text: str, parameters: Mapping[str, Any], size: int
) -> list[tuple[Any, ...]]:
    """The pages of a query: rows, warnings, if there is another, cost; its error at the end."""
    found: list[tuple[Any, ...]] = []
    token: str | None = None
    try:
        while not found or token is not None:
            page = await ask(graph, text, parameters, token, size)
            token = page.continuation_token
            # NOTE: steps are counted in thousands in a thread and in hundreds on the loop.
            charge = round(page.charge * 5)
            found.append((page.rows, page.warnings, token is not None, charge >= 5))
    except TwinframeError as error:
        found.append((type(error), str(error)))
    return found


@settings(deadline=None, max_examples=60)
@given(
    text=st.sampled_from(QUERIES),
    ids=st.lists(st.sampled_from(["alone", "r0", "r1", "s01", "none", "large"]), min_size=1),
    sizes=st.lists(st.integers(1, 25), min_size=1),
    least=st.sampled_from(["", "05", "19", "2"]),
    many=st.sampled_from([0, 1, 7, 30, -1, 2.5]),
    items=st.lists(st.integers(-3, 3)),
)
def test_a_query_answers_on_the_loop_as_in_a_thread(
    sqlite: GraphStore,
    text: str,
    ids: list[str],
    sizes: list[int],
    least: str,
    many: float,
    items: list[int],
) -> None:
    async def main() -> None:
        ours, theirs = NotingRunner(sqlite), ThreadRunner(sqlite, Settings().storage)
        looped, threaded = build_graph(sqlite, ours), build_graph(sqlite, theirs)
        # A page that holds all comes first: the query is short then.
        for each, size in islice(zip(cycle(ids), chain((25, 25, 25), cycle(sizes))), 8):
            parameters: Any = {"id": each, "least": least, "many": many, "list": items}
            expected = await read_all(threaded, text, parameters, size)
            assert await read_all(looped, text, parameters, size) == expected
        await ours.close()
        await theirs.close()

    asyncio.run(main())


def test_the_comparison_does_run_on_the_loop(sqlite: GraphStore) -> None:
    async def apply(graph: Graph, runner: NotingRunner) -> None:
        parameters: Any = {"id": "r0", "least": "05", "many": 3, "list": [1]}
        for text in QUERIES[:11]:
            runner.tried.clear()
            for _ in range(50):
                await read_all(graph, text, parameters, 25)
            assert any(runner.tried) == (text != SCAN), text

    serve(sqlite, apply)
