"""Bringing graphs up for a provisioner that may die at any point, and may come too late."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from tests.forks import CODE
from tests.unit.control.hosting.hosting_app import (
    bring_up,
    build_graph,
    build_hosting,
    request,
    serving,
)
from twinframe.control.hosting.backups import prune_backups
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.control.hosting.journal import read_statistics
from twinframe.control.hosting.service import (
    LocalGraphHost,
    build_address,
    check_hosting,
)
from twinframe.errors import SettingsError, StorageError
from twinframe.hooks.installation import Installation, load_installation
from twinframe.hooks.resource_types.base import LeaseLost
from twinframe.hooks.resource_types.hosting import GraphHost, HostedGraph


def data_of(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "data").glob("*")) if folder.exists() else []


async def take_down(host: GraphHost, graph: HostedGraph) -> None:
    await host.unpublish(graph.name, graph.fence)
    await host.remove(graph.name, graph.fence)


def test_every_call_may_come_again(tmp_path: Path) -> None:
    host: GraphHost = LocalGraphHost(build_hosting(tmp_path))
    graph = build_graph("a")

    async def run() -> None:
        for _ in range(2):
            await host.create(graph)
            assert await host.publish(graph) == await host.publish(graph)
            assert await host.check(graph) is None
            assert await host.list_names() == [graph.name]
            await host.create(graph)
            for _ in range(2):
                await host.unpublish(graph.name, 1)
            assert await host.check(graph) == "It has no address."
            for _ in range(2):
                await host.remove(graph.name, 1)
            assert await host.list_names() == []

    asyncio.run(run())
    assert data_of(tmp_path) == []
    assert list((tmp_path / "hosting" / "graphs").iterdir()) == []
    assert list((tmp_path / "hosting" / "served").iterdir()) == []


def test_creating_again_keeps_the_data(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    model = b'[{"@id":"dtmi:t:A;1","@type":"Interface","@context":"dtmi:dtdl:context;3"}]'

    async def run() -> bytes:
        await bring_up(host, build_graph("a"))
        async with serving(installation) as app:
            assert (await request(app, "POST", "/graphs/a/models", model))[0] == 201
            await bring_up(host, build_graph("a", fence=2, database_name="other"))
            return (await request(app, "GET", "/graphs/a/models/dtmi:t:A;1"))[1]

    assert orjson.loads(asyncio.run(run()))["id"] == "dtmi:t:A;1"
    assert [name for name in data_of(tmp_path) if name.endswith(".db")] == ["a_1.db", "default.db"]


def test_a_late_hand_changes_nothing(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    newer = build_graph("a", fence=5, analytics=True)
    late = build_graph("a", fence=4)

    async def run() -> None:
        await bring_up(host, newer)
        with pytest.raises(LeaseLost):
            await host.create(late)
        with pytest.raises(LeaseLost):
            await host.publish(late)
        with pytest.raises(LeaseLost):
            await host.unpublish(late.name, late.fence)
        with pytest.raises(LeaseLost):
            await host.remove(late.name, late.fence)
        assert await host.check(newer) is None

    asyncio.run(run())


def test_a_late_hand_of_a_former_graph_of_the_id_cannot_touch_its_successor(
    tmp_path: Path,
) -> None:
    host = LocalGraphHost(build_hosting(tmp_path))
    former, now = build_graph("a", "1", fence=9), build_graph("a", "2", fence=1)

    async def run() -> None:
        await bring_up(host, former)
        await take_down(host, former)
        await bring_up(host, now)
        with pytest.raises(StorageError):
            await host.publish(former)  # without a record
        await host.create(former)  # nobody can tell, but it is found as an orphan
        with pytest.raises(StorageError):
            await host.publish(former)
        await take_down(host, former)
        assert await host.check(now) is None
        assert await host.list_names() == [now.name]

    asyncio.run(run())


def test_what_is_amiss_is_said(tmp_path: Path) -> None:
    host = LocalGraphHost(build_hosting(tmp_path))
    graph = build_graph("a")

    async def run() -> list[str | None]:
        said = [await host.check(graph)]
        await bring_up(host, graph)
        said += [await host.check(graph), await host.check(build_graph("a", analytics=True))]
        said.append(await host.check(build_graph("a", "2")))
        (tmp_path / "data" / "a_1.db").unlink()
        said.append(await host.check(graph))
        return said

    none, sound, settings, other, damaged = asyncio.run(run())
    assert (none, sound) == ("It has no address.", None)
    assert settings == "It is not served as its settings and its sku say."
    assert other == "Its address belongs to 1."
    assert damaged is not None
    assert "damaged" in damaged


def test_usage_is_what_the_graph_holds_and_what_was_asked_of_it(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    graph = build_graph("a")
    model = b'[{"@id":"dtmi:t:A;1","@type":"Interface","@context":"dtmi:dtdl:context;3"}]'

    async def run() -> None:
        assert await host.sample(graph.name) is None
        await bring_up(host, graph)
        async with serving(installation) as app:
            await request(app, "POST", "/graphs/a/models", model)
            for name in "xy":
                twin = b'{"$metadata":{"$model":"dtmi:t:A;1"}}'
                await request(app, "PUT", f"/graphs/a/digitaltwins/{name}", twin)
            await request(app, "POST", "/graphs/a/query", b'{"query":"MATCH (n) RETURN n"}')
        usage = await host.sample(graph.name)
        assert usage is not None
        assert (usage.twins, usage.operations) == (2, 4)
        directory = build_catalog(installation).build_directory("a", usage.epoch)
        charge = read_statistics(directory)["totals"]["query_charge"]
        assert usage.query_charge == round(charge * 100) > 0
        assert usage.storage_bytes > 4096
        assert await host.sample(replace(graph.name, incarnation="another")) is None

    asyncio.run(run())


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, "http://127.0.0.1:8080/graphs/a"),
        ({"Hosting__PublicUrl": "https://t.example"}, "https://t.example/graphs/a"),
        ({"Server__PublicUrl": "https://s.example"}, "https://s.example/graphs/a"),
        ({"Hosting__Domain": "g.example"}, "http://a.g.example:8080"),
        (
            {"Hosting__Domain": "g.example", "Hosting__PublicUrl": "https://t.example"},
            "https://a.g.example",
        ),
        (
            {"Hosting__Domain": "g.example", "Hosting__PublicUrl": "https://t.example:8443"},
            "https://a.g.example:8443",
        ),
    ],
)
def test_the_address_of_a_graph(environment: dict[str, str], address: str) -> None:
    assert build_address(load_installation(environ=environment).settings, "a") == address


def test_a_storage_that_keeps_graphs_in_memory_is_refused(tmp_path: Path) -> None:
    environment = {
        "Hosting__Enabled": "true",
        "Hosting__Directory": str(tmp_path),
        "Storage__Provider": "memory",
    }
    with pytest.raises(SettingsError, match="where all processes find them"):
        check_hosting(load_installation(environ=environment))


@pytest.mark.parametrize(
    ("environment", "part"),
    [
        ({"Server__PublicUrl": "https://twins.g.example"}, "Server__PublicUrl"),
        (
            {"MCP__Enabled": "true", "MCP__ResourceServerUrl": "https://a.b.g.example:8/mcp"},
            "MCP__ResourceServerUrl",
        ),
        ({"Jobs__Directories__0": "/d/own", "Jobs__Directories__1": "/d/{graph}"}, "/d/own and"),
        ({"Jobs__Buckets__0": "s3://{graph}", "Jobs__Buckets__1": "s3://own/x"}, "Jobs__Buckets"),
        ({"Server__PublicUrl": "https://g.example"}, ""),
        ({"Server__PublicUrl": "https://twinsg.example"}, ""),
    ],
)
def test_names_of_the_service_that_a_tenant_could_choose_are_refused(
    tmp_path: Path, environment: dict[str, str], part: str
) -> None:
    installation = build_hosting(tmp_path, environment, Domain="g.example")
    if not part:
        check_hosting(installation)
        return
    with pytest.raises(SettingsError, match=part):
        check_hosting(installation)


# --- processes that die -----------------------------------------------------------------------

_WORK = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.unit.control.hosting.hosting_app import build_graph, build_hosting, bring_up
from twinframe.control.hosting.backups import make_backup
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.control.hosting.service import LocalGraphHost

installation = build_hosting(Path(sys.argv[2]))
host = LocalGraphHost(installation)
graph = build_graph("a", fence=int(sys.argv[4]))

async def run():
    while True:
        if sys.argv[3] != "backup":
            await bring_up(host, graph)
            await host.unpublish(graph.name, graph.fence)
            await host.remove(graph.name, graph.fence)
        else:
            catalog = build_catalog(installation)
            make_backup(installation, catalog, catalog.find("a"), history=True)

print("ready", flush=True)
asyncio.run(run())
"""


def kill_in_the_middle(
    folder: Path,
    what: str,
    fence: int,
    seconds: float,
    is_under_way: Callable[[], bool] = lambda: True,
) -> None:
    root = Path(__file__).resolve().parents[4]
    process = subprocess.Popen(
        [*CODE, _WORK, str(root), str(folder), what, str(fence)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout as said:
        assert said.readline() == b"ready\n"
        end = time.monotonic() + 120
        while not is_under_way() and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(seconds)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait(120)


def whole_backups(installation: Installation) -> list[Path]:
    return [path for path in count_backups(installation) if path.suffix == ".backup"]


def count_backups(installation: Installation) -> list[Path]:
    return sorted(build_catalog(installation).build_directory("a", "1").glob("backups/*"))


@pytest.mark.timeout(1200)  # ten processes are started: minutes each on a busy machine
def test_a_provisioner_killed_anywhere_leaves_what_the_next_one_finishes(tmp_path: Path) -> None:
    host = LocalGraphHost(build_hosting(tmp_path))
    chance = random.Random(20)
    for fence in range(1, 11):
        kill_in_the_middle(tmp_path, "create", fence, chance.uniform(0.01, 0.15))
        graph = build_graph("a", fence=fence + 100)
        build_catalog(build_hosting(tmp_path)).tidy()
        if fence % 2:
            asyncio.run(bring_up(host, graph))
            assert asyncio.run(host.check(graph)) is None
        asyncio.run(take_down(host, graph))
        assert data_of(tmp_path) == []
        assert asyncio.run(host.list_names()) == []


def test_a_backup_that_was_cut_off_is_no_backup_and_those_before_it_are_sound(
    tmp_path: Path,
) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    asyncio.run(bring_up(host, build_graph("a")))
    chance = random.Random(5)
    for _ in range(4):
        before = len(whole_backups(installation))
        kill_in_the_middle(
            tmp_path,
            "backup",
            1,
            chance.uniform(0, 0.05),
            lambda least=before + 2: len(whole_backups(installation)) >= least,
        )
    made, whole = count_backups(installation), whole_backups(installation)
    assert len(whole) >= 8
    # A copy that was cut off may have its own journal beside it, which is of the same backup.
    unfinished = {path.name.partition(".twinframe-part")[0] for path in made if path not in whole}
    assert len(unfinished) <= 4
    prune_backups(whole[0].parents[1], 30)
    assert count_backups(installation) == whole
    asyncio.run(take_down(host, build_graph("a")))
    assert not count_backups(installation)


def test_every_whole_backup_can_be_restored(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    asyncio.run(bring_up(host, build_graph("a")))
    kill_in_the_middle(tmp_path, "backup", 1, 0.01, lambda: len(whole_backups(installation)) >= 3)
    store = installation.build_store("elsewhere")
    for path in whole_backups(installation):
        store.restore(path, 1)  # type: ignore[attr-defined]  # SQLite's does
        store.open()
        assert list(store.verify()) == []
        store.close()
