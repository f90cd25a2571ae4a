"""What a hosted graph's sku allows is held by all workers together, and by no more than that."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.control.hosting.hosting_app import (
    bring_up,
    build_graph,
    build_hosting,
    request,
    serving,
)
from tests.waiting import PATIENCE, Threads
from twinframe.control.hosting.catalog import HostedSettings
from twinframe.control.hosting.quotas import GraphQuotas, QuotaRunner, SharedCounter, parse_limits
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.errors import QuotaExceeded, StorageDamaged
from twinframe.graph import Graph
from twinframe.graph.background.runner import BackgroundService
from twinframe.hooks.installation import Installation
from twinframe.hooks.resource_types.hosting import HostedGraph
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit
from twinframe.settings import JobsSettings, Settings, StorageSettings
from twinframe.storage.base import GraphTransaction
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import build_twin_record

MINUTE, DAY = 60, 86_400
MODEL = b'[{"@id":"dtmi:t:A;1","@type":"Interface","@context":"dtmi:dtdl:context;3"}]'
TWIN = b'{"$metadata":{"$model":"dtmi:t:A;1"}}'

_TAKER = """
import sys
from pathlib import Path
from typing import Any
from twinframe.control.hosting.quotas import SharedCounter
counter = SharedCounter(Path(sys.argv[1]), 4)
print("ready", flush=True)
sys.stdin.readline()
print(sum(counter.take(60, 120, 1000) < 1000 for _ in range(600)), flush=True)
sys.stdin.readline()
"""


def limited(sku: Sku = Sku.FREE, **limits: int) -> dict[str, Any]:
    """Members of a hosted graph with these limits."""
    return {"sku": sku, "limits": tuple(QuotaLimit(sku, Quota(k), v) for k, v in limits.items())}


# --- counting over workers ----------------------------------------------------------------------


def test_workers_count_together_and_never_above_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "operations"
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", _TAKER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        for taker in takers:
            assert taker.stdout is not None
            assert taker.stdout.readline() == "ready\n"
        for taker in takers:
            assert taker.stdin is not None
            taker.stdin.write("\n")
            taker.stdin.flush()
        taken = [int(taker.stdout.readline()) for taker in takers if taker.stdout is not None]
        counter = SharedCounter(path, 4)
        assert sum(taken) == counter.read(MINUTE, 120)
        # NOTE: those that come at once may be refused together: a few places may stay free.
        assert 990 <= sum(taken) <= 1000
        counter.close()
    finally:
        for taker in takers:
            taker.send_signal(signal.SIGKILL)
            taker.communicate(timeout=PATIENCE)
    after = SharedCounter(path, 4)
    assert after.read(MINUTE, 120) == sum(taken)  # what the dead did is done
    after.close()


def test_a_worker_that_takes_the_place_of_another_goes_on_with_its_counts(tmp_path: Path) -> None:
    for number in range(5):
        counter = SharedCounter(tmp_path / "operations", 1)
        assert counter.take(MINUTE, 60, 5) == number
        assert counter.take(DAY, 0, 100) == number
        counter.close()
    counter = SharedCounter(tmp_path / "operations", 1)
    assert counter.take(MINUTE, 60, 5) == 5
    assert counter.read(MINUTE, 60) == 5
    assert counter.read(DAY, 0) == 5
    counter.close()


def test_a_window_begins_at_nothing_for_all_workers(tmp_path: Path) -> None:
    first, second = (SharedCounter(tmp_path / "operations", 2) for _ in range(2))
    assert [first.take(MINUTE, 60, 3), second.take(MINUTE, 60, 3)] == [0, 1]
    assert first.take(MINUTE, 120, 3) == 0
    assert second.take(MINUTE, 120, 3) == 1
    assert first.read(MINUTE, 60) == 0
    first.close()
    second.close()


# --- what a graph holds -------------------------------------------------------------------------


@pytest.fixture
def runner_of(tmp_path: Path) -> Callable[..., tuple[QuotaRunner, GraphQuotas]]:
    def build(**limits: int) -> tuple[QuotaRunner, GraphQuotas]:
        store = MemoryStore()
        store.open()
        quotas = GraphQuotas(
            HostedSettings(sku="free", limits=limits), SharedCounter(tmp_path / "o", 1)
        )
        return QuotaRunner(store, StorageSettings(), quotas), quotas

    return build


def put(*names: str) -> Callable[[GraphTransaction], None]:
    def apply(transaction: GraphTransaction) -> None:
        for name in names:
            transaction.put_twin(build_twin_record(name))

    return apply


def test_a_work_that_would_make_too_many_twins_leaves_nothing(
    runner_of: Callable[..., tuple[QuotaRunner, GraphQuotas]],
) -> None:
    runner, quotas = runner_of(twins=3)

    async def play() -> None:
        await runner.write(put("a", "b"))
        with pytest.raises(QuotaExceeded, match="sku free allows 3 twins; 2 are used") as refused:
            await runner.write(put("c", "d"))
        assert (refused.value.limit, refused.value.used) == (3, 2)
        assert refused.value.retry_after is None
        assert await runner.read(lambda session: session.count_twins()) == 2
        await runner.write(put("c"))
        await runner.write(put("a", "b", "c"))  # they are there
        with pytest.raises(QuotaExceeded):
            await runner.write(put("d"))
        quotas.take(HostedSettings(sku="free", limits={"twins": 1}))
        await runner.write(put("c"))  # a lower sku lets one change what is there, and delete
        await runner.write(lambda transaction: transaction.delete_twin("c"))
        with pytest.raises(QuotaExceeded, match="1 twins; 2 are used"):
            await runner.write(put("c"))
        quotas.take(HostedSettings(sku="enterprise"))
        await runner.write(put("c", "d", "e"))
        await runner.close()

    asyncio.run(play())


def test_a_limit_that_is_not_known_is_no_limit_that_is_passed_over() -> None:
    with pytest.raises(StorageDamaged, match="another release"):
        parse_limits(HostedSettings(sku="free", limits={"colours": 1}))
    with pytest.raises(StorageDamaged):
        parse_limits(HostedSettings(sku="gold", limits={}))
    assert parse_limits(HostedSettings()) == (Sku.FREE, [])


# --- over HTTP ----------------------------------------------------------------------------------


async def put_twin(app: object, name: str, body: bytes = TWIN) -> tuple[int, bytes]:
    return await request(app, "PUT", f"/graphs/a/digitaltwins/{name}", body)  # type: ignore[arg-type]  # as served


def serve(tmp_path: Path, graph: HostedGraph) -> tuple[Installation, LocalGraphHost]:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    asyncio.run(bring_up(host, graph))
    return installation, host


def test_writers_that_come_at_once_make_no_more_twins_than_allowed(tmp_path: Path) -> None:
    installation, _ = serve(tmp_path, build_graph("a", **limited(twins=7)))

    async def play() -> list[int]:
        async with serving(installation) as app:
            assert (await request(app, "POST", "/graphs/a/models", MODEL))[0] == 201
            answers = await asyncio.gather(*(put_twin(app, f"t{n}") for n in range(40)))
            return sorted(status for status, _ in answers)

    assert asyncio.run(play()) == [200] * 7 + [403] * 33


def test_storage_is_limited_and_what_is_deleted_can_be_used_again(tmp_path: Path) -> None:
    installation, _ = serve(tmp_path, build_graph("a", **limited(storage_bytes=2 * 1024**2)))
    model = orjson.loads(MODEL)
    model[0]["contents"] = [{"@type": "Property", "name": "text", "schema": "string"}]
    body = orjson.dumps({**orjson.loads(TWIN), "text": "x" * 20_000})

    async def fill(app: object) -> int:
        number = 0
        while (answer := await put_twin(app, f"t{number}", body))[0] == 200:
            number += 1
            assert number < 200
        status, content = answer
        error = orjson.loads(content)["error"]
        assert (status, error["code"]) == (403, "QuotaExceeded")
        assert "allows 2097152 storage bytes" in error["message"]
        return number

    async def play() -> None:
        async with serving(installation) as app:
            assert (await request(app, "POST", "/graphs/a/models", orjson.dumps(model)))[0] == 201
            first = await fill(app)
            assert first > 40
            for number in range(first):
                path = f"/graphs/a/digitaltwins/t{number}"
                assert (await request(app, "DELETE", path))[0] == 204
            assert await fill(app) > first - 10

    asyncio.run(play())


def test_a_change_of_the_limits_holds_from_the_next_request_on(tmp_path: Path) -> None:
    installation, host = serve(tmp_path, build_graph("a", **limited(operations_per_day=2)))
    path = "/graphs/a/models"

    async def play() -> None:
        async with serving(installation) as app:
            assert [(await request(app, "GET", path))[0] for _ in range(3)] == [200, 200, 429]
            content = (await request(app, "GET", path))[1]
            error = orjson.loads(content)["error"]
            assert error["code"] == "QuotaExceeded"
            assert (
                "The sku free allows 2 operations per day, which are used up." in error["message"]
            )
            bigger = build_graph("a", fence=2, **limited(Sku.PRO, operations_per_day=3))
            assert await host.check(bigger) is not None
            await host.publish(bigger)
            assert await host.check(bigger) is None
            assert [(await request(app, "GET", path))[0] for _ in range(2)] == [200, 429]
            await host.publish(build_graph("a", fence=3, sku=Sku.ENTERPRISE))
            assert (await request(app, "GET", path))[0] == 200
            await host.publish(build_graph("a", fence=4, **limited(operations_per_day=3)))
            assert (await request(app, "GET", path))[0] == 429  # it was all counted
            assert (await request(app, "GET", "/models"))[0] == 200  # the service's own graph

    asyncio.run(play())


def test_what_is_refused_frees_its_connection(tmp_path: Path) -> None:
    members = limited(operations_per_day=1)
    installation, _ = serve(tmp_path, build_graph("a", max_concurrent_connections=1, **members))

    async def play() -> list[int]:
        async with serving(installation) as app:
            return [(await request(app, "GET", "/graphs/a/models"))[0] for _ in range(3)]

    assert asyncio.run(play()) == [200, 429, 429]


def test_counts_of_threads_in_one_process_are_apart_by_place(tmp_path: Path) -> None:
    counters = [SharedCounter(tmp_path / "operations", 4) for _ in range(4)]
    with Threads(4) as pool:
        taken = list(
            pool.map(lambda one: sum(one.take(MINUTE, 0, 100) < 100 for _ in range(60)), counters)
        )
    assert sum(taken) == counters[0].read(MINUTE, 0) <= 100
    for counter in counters:
        counter.close()
    assert os.stat(tmp_path / "operations").st_size == 32 * 1024  # noqa: PTH116  (sparse)


def test_an_import_that_fills_the_graph_fails_and_says_so(
    tmp_path: Path, runner_of: Callable[..., tuple[QuotaRunner, GraphQuotas]]
) -> None:
    """The service's own books are kept in a full graph too: the job ends, a deletion empties it."""
    runner, quotas = runner_of(twins=3)
    settings = Settings(
        jobs=JobsSettings(directories=(str(tmp_path),), chunk_rows=1, look_seconds=0.02, pause=0)
    )
    graph = Graph(runner, settings)
    background = BackgroundService(runner, graph.background_tasks, settings)
    lines = [
        {"Section": "Header"},
        {"fileVersion": "1.0.0"},
        {"Section": "Models"},
        *orjson.loads(MODEL),
        {"Section": "Twins"},
        *({"$dtId": f"t{at}", **orjson.loads(TWIN)} for at in range(9)),
    ]
    (tmp_path / "in").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    body = {"inputBlobUri": f"file://{tmp_path}/in", "outputBlobUri": f"file://{tmp_path}/out"}

    async def play() -> tuple[dict[str, Any], dict[str, Any]]:
        background.start()
        await graph.import_jobs.put_job("j", dict(body))
        failed = await _wait_for(lambda: graph.import_jobs.read_job("j"))
        await graph.delete_jobs.start_job("d")
        emptied = await _wait_for(lambda: _read_deletion(graph, "d"))
        await background.stop()
        await runner.close()
        quotas.close()
        return failed, emptied

    failed, emptied = asyncio.run(play())
    assert (failed["status"], failed["error"]["code"]) == ("failed", "QuotaExceeded")
    assert failed["twinsCreated"] == 3
    assert (emptied["status"], emptied["twinsDeleted"]) == ("succeeded", 3)


async def _read_deletion(graph: Graph, job_id: str) -> bytes:
    return (await graph.delete_jobs.read_job(job_id))[0]


async def _wait_for(read: Callable[[], Awaitable[bytes]]) -> dict[str, Any]:
    while True:
        job: dict[str, Any] = orjson.loads(await read())
        if job["status"] in ("succeeded", "failed"):
            return job
        await asyncio.sleep(0.02)
