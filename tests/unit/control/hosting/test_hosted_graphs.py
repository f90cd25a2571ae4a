"""The hosted graphs of a worker: opened late, bounded, closed when unused or taken away."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import orjson
import pytest

from tests.unit.control.hosting.hosting_app import (
    bring_up,
    build_graph,
    build_hosting,
    hosting_alone,
    request,
    serving,
)
from twinframe.control.hosting.graphs import HostedGraphs, TooManyConnections
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.errors import GraphNotFound, StorageBusy
from twinframe.graph.background.indexes import IndexKind
from twinframe.hooks.resource_types.hosting import HostedGraph, ResourceName
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit
from twinframe.model.pages import PageRequest
from twinframe.runtime.instruments.base import Level
from twinframe.storage.points import Points

PAGE = PageRequest(size=None, token=None)
MODEL = b'[{"@id":"dtmi:t:A;1","@type":"Interface","@context":"dtmi:dtdl:context;3"}]'
TWIN = b'{"$metadata":{"$model":"dtmi:t:A;1"}}'


def test_two_hundred_graphs_are_served_with_twenty_open(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path, MaxOpenGraphs=20)
    host = LocalGraphHost(installation)
    names = [f"g{number}" for number in range(200)]
    most = 0

    async def run() -> None:
        nonlocal most
        for name in names:
            await bring_up(host, build_graph(name))
        async with hosting_alone(installation) as service:
            graphs = service.graphs
            order = [*names, *random.Random(7).sample(names, 60)]
            gate = asyncio.Semaphore(8)

            async def touch(name: str) -> None:
                nonlocal most
                async with gate:
                    hosted = graphs.find(name)
                    assert hosted is not None
                    async with hosted.use() as api:
                        most = max(most, graphs.read_levels()[Level.GRAPHS_OPEN])
                        await api.graph.models.list_models((), False, PAGE)

            await asyncio.gather(*(touch(name) for name in order))
            assert graphs.read_levels()[Level.GRAPHS_OPEN] <= 20

    asyncio.run(run())
    assert most == 20


def test_the_longest_unused_graph_is_closed_first(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path, MaxOpenGraphs=2)
    host = LocalGraphHost(installation)

    async def run() -> list[str]:
        for name in "abc":
            await bring_up(host, build_graph(name))
        async with hosting_alone(installation) as service:
            for name in ("a", "b", "a", "c"):
                await use(service.graphs, name)
            return [name for name in "abc" if is_open(service.graphs, name)]

    assert asyncio.run(run()) == ["a", "c"]


def test_hosted_graphs_make_their_indexes_by_themselves(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)

    async def run() -> None:
        await bring_up(LocalGraphHost(installation), build_graph("a"))
        async with hosting_alone(installation) as service:
            hosted = service.graphs.find("a")
            assert hosted is not None
            async with hosted.use() as api:
                assert any(isinstance(each, IndexKind) for each in api.graph.background_tasks)

    asyncio.run(run())


async def use(graphs: HostedGraphs, name: str) -> None:
    hosted = graphs.find(name)
    assert hosted is not None
    async with hosted.use():
        pass


def is_open(graphs: HostedGraphs, name: str) -> bool:
    return graphs._entries[name].opened is not None


def test_no_graph_in_use_is_closed_and_who_waits_in_vain_is_told(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path, MaxOpenGraphs=1, OpenWait=2)
    host = LocalGraphHost(installation)

    async def run() -> None:
        for name in "ab":
            await bring_up(host, build_graph(name))
        async with hosting_alone(installation) as service:
            first = service.graphs.find("a")
            assert first is not None
            async with first.use() as api:
                with pytest.raises(StorageBusy, match="MaxOpenGraphs"):
                    await use(service.graphs, "b")
                await api.graph.models.list_models((), False, PAGE)
            await use(service.graphs, "b")

    asyncio.run(run())


def test_many_who_ask_at_once_wait_for_one_opening(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)

    async def run() -> None:
        await bring_up(host, build_graph("a"))
        async with hosting_alone(installation) as service:
            await asyncio.gather(*(use(service.graphs, "a") for _ in range(50)))
            assert service.graphs.read_levels()[Level.GRAPHS_OPEN] == 1

    asyncio.run(run())


def test_a_client_that_leaves_while_a_graph_is_opened_leaves_no_mess(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path, MaxOpenGraphs=1)
    host = LocalGraphHost(installation)

    async def run() -> None:
        for name in "ab":
            await bring_up(host, build_graph(name))
        async with hosting_alone(installation) as service:
            for _ in range(5):
                leaving = asyncio.create_task(use(service.graphs, "a"))
                await asyncio.sleep(0)
                leaving.cancel()
                await asyncio.wait([leaving])
                await use(service.graphs, "b")
            assert service.graphs.read_levels()[Level.GRAPHS_OPEN] == 1
        await host.unpublish(build_graph("a").name, 1)
        await host.remove(build_graph("a").name, 1)

    asyncio.run(run())


def test_requests_of_a_graph_that_is_taken_away_may_end_and_are_ended_then(
    tmp_path: Path,
) -> None:
    installation = build_hosting(tmp_path, DrainSeconds=3)
    host = LocalGraphHost(installation)
    graph = build_graph("a")

    async def run() -> None:
        await bring_up(host, graph)
        async with hosting_alone(installation) as service:
            hosted = service.graphs.find("a")
            assert hosted is not None

            taken_away, entered = asyncio.Event(), asyncio.Semaphore(0)

            async def read(awaited: asyncio.Event) -> str:
                async with hosted.use() as api:
                    entered.release()
                    await awaited.wait()
                    await api.graph.models.list_models((), False, PAGE)
                return "answered"

            short = asyncio.create_task(read(taken_away))
            long = asyncio.create_task(read(asyncio.Event()))
            for _ in (short, long):
                await entered.acquire()
            await host.unpublish(graph.name, 1)
            assert service.graphs.find("a") is None
            taken_away.set()
            await host.remove(graph.name, 1)
            assert await short == "answered"
            with pytest.raises(StorageBusy, match="taken away"):
                await long

    asyncio.run(run())
    assert list((tmp_path / "data").glob("a_*")) == []


def test_a_graph_of_which_nobody_asks_is_let_go_all_the_same(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    graph = build_graph("a")

    async def run() -> None:
        await bring_up(host, graph)
        async with hosting_alone(installation) as service:
            await use(service.graphs, "a")
            await host.unpublish(graph.name, 1)
            await host.remove(graph.name, 1)  # ends only when the worker has closed the store
            assert service.graphs.read_levels()[Level.GRAPHS_OPEN] == 0

    asyncio.run(run())


def test_what_is_opened_a_moment_too_late_is_not_made_anew(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    graph = build_graph("a")

    async def run() -> None:
        await bring_up(host, graph)
        async with hosting_alone(installation) as service:
            hosted = service.graphs.find("a")
            assert hosted is not None
            await host.unpublish(graph.name, 1)
            await host.remove(graph.name, 1)
            with pytest.raises(GraphNotFound):
                async with hosted.use():
                    raise AssertionError("it is gone")

    asyncio.run(run())
    assert list((tmp_path / "data").glob("a_*")) == []


def test_settings_that_change_hold_for_the_next_request_without_a_reopening(
    tmp_path: Path,
) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)

    async def run() -> None:
        await bring_up(host, build_graph("a", max_concurrent_connections=1))
        async with hosting_alone(installation) as service:
            hosted = service.graphs.find("a")
            assert hosted is not None
            async with hosted.use():
                with pytest.raises(TooManyConnections):
                    await use(service.graphs, "a")
                await host.publish(build_graph("a", fence=2, max_concurrent_connections=2))
                await use(service.graphs, "a")
            assert service.graphs.find("a") is hosted

    asyncio.run(run())


def test_a_graph_that_came_after_another_of_its_id_has_nothing_of_it(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)

    async def run() -> list[int]:
        found = []
        async with serving(installation) as app:
            for incarnation in ("1", "2"):
                graph = build_graph("a", incarnation)
                await bring_up(host, graph)
                found.append((await request(app, "GET", "/graphs/a/digitaltwins/t"))[0])
                await request(app, "POST", "/graphs/a/models", MODEL)
                await request(app, "PUT", "/graphs/a/digitaltwins/t", TWIN)
                found.append((await request(app, "GET", "/graphs/a/digitaltwins/t"))[0])
                await host.unpublish(graph.name, 1)
                await host.remove(graph.name, 1)
                found.append((await request(app, "GET", "/graphs/a/digitaltwins/t"))[0])
        return found

    assert asyncio.run(run()) == [404, 200, 404] * 2


def test_a_damaged_graph_fails_alone(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)

    async def run() -> list[int]:
        for name in "ab":
            await bring_up(host, build_graph(name))
        (tmp_path / "data" / "a_1.db").write_bytes(b"")
        async with serving(installation) as app:
            paths = ("/graphs/a/models", "/graphs/b/models", "/models", "/health/ready")
            return [(await request(app, "GET", path))[0] for path in paths]

    assert asyncio.run(run()) == [500, 200, 200, 200]


def test_work_that_was_left_is_done_though_nobody_asks_for_its_graph(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)

    async def run() -> str:
        for name in "ab":
            await bring_up(host, build_graph(name))
        async with hosting_alone(installation) as service:
            await use(service.graphs, "b")
            hosted = service.graphs.find("a")
            assert hosted is not None
            async with hosted.use() as api:
                assert hosted.opened is not None
                await hosted.opened.background.stop()
                await api.graph.delete_jobs.start_job("d", 15)
        async with hosting_alone(installation) as service:
            while service.graphs.read_levels()[Level.GRAPHS_OPEN] == 0:  # noqa: ASYNC110  (it knows no event)
                await asyncio.sleep(0.02)
            assert list(service.graphs._entries) == ["a"]
            hosted = service.graphs.find("a")
            assert hosted is not None
            async with hosted.use() as api:
                while True:
                    body, has_ended = await api.graph.delete_jobs.read_job("d")
                    if has_ended:
                        return str(orjson.loads(body)["status"])
                    await asyncio.sleep(0.02)

    assert asyncio.run(run()) == "succeeded"


def test_points_take_at_most_what_the_sku_allows_for_storage_and_are_billed(
    tmp_path: Path,
) -> None:
    installation = build_hosting(tmp_path, {"History__Telemetry": "all"})
    host = LocalGraphHost(installation)

    def build(fence: int, most: int) -> HostedGraph:
        limits = [QuotaLimit(Sku.FREE, Quota.STORAGE_BYTES, most)]
        return build_graph("a", fence=fence, sku="free", limits=limits)

    async def run() -> None:
        await bring_up(host, build(1, 1_000_000))
        async with hosting_alone(installation) as service:
            hosted = service.graphs.find("a")
            assert hosted is not None
            async with hosted.use() as api:
                runner = api.graph.series._runner
                assert runner is not None
                assert runner._store._settings.keep_bytes == 1_000_000  # type: ignore[attr-defined]
                await host.publish(build(2, 2_000_000))
                await use(service.graphs, "a")
                assert runner._store._settings.keep_bytes == 2_000_000  # type: ignore[attr-defined]
                before = await host.sample(ResourceName("a", "1"))
                points = Points()
                points.add("t", "x", 1, 1.0)
                await runner.write(points)
                after = await host.sample(ResourceName("a", "1"))
                assert before is not None
                assert after is not None
                assert after.storage_bytes >= before.storage_bytes + 32 * 1024

    asyncio.run(run())
