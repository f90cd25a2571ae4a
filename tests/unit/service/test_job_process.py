"""A long job in a process of its own: it continues the job, is fenced, and ends with its caller."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.graph.transfer.test_importing import File
from twinframe.errors import StorageError
from twinframe.graph import Graph
from twinframe.graph.background.leases import Lease, LeaseManager
from twinframe.hooks.installation import Installation, build_installation
from twinframe.service.job_process import JobProcess
from twinframe.service.opening import open_graph
from twinframe.settings import JobsSettings, Settings
from twinframe.storage.runner import StoreRunner
from twinframe_storage_sqlite.settings import SqliteSettings

TWINS = 700


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    jobs = JobsSettings(directories=(str(tmp_path),))
    sections = {("Storage", "Sqlite"): SqliteSettings(directory=str(tmp_path / "data"))}
    return build_installation(Settings(jobs=jobs), sections)


async def _claim(installation: Installation, graph: Graph, folder: Path) -> tuple[str, Lease]:
    file = File().models()
    text = file.section("Twins", *(file.twin(f"t{at}") for at in range(TWINS))).render()
    (folder / "in.ndjson").write_bytes(text)
    await graph.import_jobs.put_job(
        "j",
        {
            "inputBlobUri": f"file://{folder}/in.ndjson",
            "outputBlobUri": f"file://{folder}/out.ndjson",
        },
    )
    store = installation.build_store()
    store.open()
    runner = StoreRunner(store, installation.settings.storage)
    try:
        (key,) = await runner.read(graph.jobs.list_pending)
        lease = await LeaseManager(runner, 60.0).claim(f"job/{key}")
    finally:
        await runner.close()
        store.close()
    assert lease is not None
    return key, lease


def _run(
    installation: Installation,
    folder: Path,
    scenario: Callable[[JobProcess, str, Lease], Any],
) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with open_graph(installation) as graph:
            key, lease = await _claim(installation, graph, folder)
            await scenario(JobProcess(installation.configuration), key, lease)
            job: dict[str, Any] = orjson.loads(await graph.import_jobs.read_job("j"))
            return job

    return asyncio.run(run())


def test_the_process_runs_the_job_to_its_end(installation: Installation, tmp_path: Path) -> None:
    job = _run(installation, tmp_path, lambda process, key, lease: process.run(key, lease))
    assert (job["status"], job["twinsCreated"]) == ("succeeded", TWINS)
    assert (tmp_path / "out.ndjson").read_bytes()


def test_a_process_whose_lease_is_lost_stores_nothing(
    installation: Installation, tmp_path: Path
) -> None:
    async def scenario(process: JobProcess, key: str, lease: Lease) -> None:
        with pytest.raises(StorageError, match="ended with 1 before the job did"):
            await process.run(key, Lease(lease.name, lease.fence, "another"))

    job = _run(installation, tmp_path, scenario)
    assert (job["status"], job["twinsCreated"]) == ("notstarted", 0)


def test_the_process_ends_with_a_cancelled_call(installation: Installation, tmp_path: Path) -> None:
    async def scenario(process: JobProcess, key: str, lease: Lease) -> None:
        before = _list_children()
        running = asyncio.create_task(process.run(key, lease))
        await asyncio.sleep(0)
        children = _list_children() - before
        assert children
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not children & _list_children()

    _run(installation, tmp_path, scenario)


def _list_children() -> set[str]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return set(text.split())
