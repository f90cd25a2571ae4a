"""A control plane in this process, over files: it provisions, meters, and stops without a loss."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import orjson
import pytest

from tests.waiting import PATIENCE
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.control.plane import ControlPlane
from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.states import ResourceState
from twinframe.control.resources.documents import Resource
from twinframe.control.tenants.bootstrap import bootstrap, found_organization
from twinframe.errors import ControlConflict
from twinframe.hooks.installation import Installation, load_installation
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.service.control import ControlService

ADA = Actor("ada")
GRAPH = orjson.dumps({"id": "tower", "name": "Tower", "type": "Platform.Graph"})


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return load(tmp_path)


def load(tmp_path: Path, *, hosting: bool = True) -> Installation:
    environ = {
        "Control__PollInterval": "0.05",
        "Control__RetryDelay": "0.05",
        "Hosting__Enabled": str(hosting).lower(),
        "Hosting__Directory": str(tmp_path / "hosting"),
        "Storage__Sqlite__Directory": str(tmp_path / "data"),
    }
    return load_installation(environ=environ)


async def build_project(plane: ControlPlane) -> None:
    ada = Principal("subject", "ada")
    await bootstrap(plane.context, ada)
    await found_organization(plane.context, ada, "acme", "Acme")
    await plane.projects.create(ADA, "acme", "Campus", project_id="campus")


async def wait_for(plane: ControlPlane, status: ResourceState) -> Resource:
    end = time.monotonic() + PATIENCE
    while (found := await plane.resources.read(ADA, "campus", "tower")).status is not status:
        assert time.monotonic() < end, found
        await asyncio.sleep(0.02)
    return found


def test_what_is_asked_for_is_done_metered_and_gone_with_its_last_figures(
    installation: Installation, tmp_path: Path
) -> None:
    async def run() -> None:
        service = ControlService(installation, provision=True)
        await service.start()
        plane = service.plane
        try:
            await build_project(plane)
            await plane.resources.create(ADA, "campus", GRAPH)
            running = await wait_for(plane, ResourceState.RUNNING)
            assert running.access_url.endswith("/graphs/tower")
            meter = LocalGraphHost(installation)
            figures = await meter.sample(running.resource_name)
            assert figures is not None
            assert (figures.twins, figures.epoch) == (0, running.incarnation)
            assert figures.storage_bytes > 0
            assert await meter.sample(ResourceName("tower", "another")) is None
            await asyncio.sleep(1.1)  # what was there for no second costs nothing, nor is measured
            await plane.resources.delete(ADA, "campus", "tower")
            await wait_for(plane, ResourceState.TERMINATED)
            kind = "billing_usage"
            days = await plane.runner.read(lambda session: session.find(kind))
            last = [sample for day in days for sample in orjson.loads(day.body)["samples"]][-1]
            assert last["usage"]["storage_bytes"] > 0, "it was measured before its data went"
            assert last["seconds"] == 0, "for no period: it is the last"
        finally:
            await service.stop()

    asyncio.run(run())
    assert [path for path in tmp_path.rglob("*tower*") if path.is_file()] == []


def test_a_graph_that_nothing_would_serve_gets_no_address_but_an_error(tmp_path: Path) -> None:
    async def run(*, hosting: bool, wanted: ResourceState) -> Resource:
        service = ControlService(load(tmp_path, hosting=hosting), provision=True)
        await service.start()
        try:
            if wanted is ResourceState.ERROR:
                await build_project(service.plane)
                await service.plane.resources.create(ADA, "campus", GRAPH)
            elif wanted is ResourceState.RUNNING:
                await service.plane.resources.update(ADA, "campus", "tower", b'{"name": "T"}')
            else:
                await service.plane.resources.delete(ADA, "campus", "tower")
            return await wait_for(service.plane, wanted)
        finally:
            await service.stop()

    failed = asyncio.run(run(hosting=False, wanted=ResourceState.ERROR))
    assert failed.access_url == ""
    assert "Hosting__Enabled=true" in failed.error_message
    assert not list((tmp_path / "data").glob("*tower*"))
    running = asyncio.run(run(hosting=True, wanted=ResourceState.RUNNING))
    assert running.access_url.endswith("/graphs/tower")
    gone = asyncio.run(run(hosting=False, wanted=ResourceState.TERMINATED))
    assert gone.access_url == ""
    assert not list((tmp_path / "data").glob("*tower*"))


def test_what_was_asked_for_while_nobody_provisions_is_done_by_the_next(
    installation: Installation,
) -> None:
    async def ask() -> None:
        service = ControlService(installation)
        await service.start()
        await build_project(service.plane)
        await service.plane.resources.create(ADA, "campus", GRAPH)
        await service.stop()

    async def provision() -> None:
        service = ControlService(installation, provision=True)
        await service.start()
        try:
            await wait_for(service.plane, ResourceState.RUNNING)
        finally:
            await service.stop()

    asyncio.run(ask())
    asyncio.run(provision())


def test_a_founded_organization_is_founded_once(installation: Installation) -> None:
    async def run() -> None:
        service = ControlService(installation)
        await service.start()
        plane = service.plane
        await build_project(plane)
        ada, eve = Principal("subject", "ada"), Principal("subject", "eve")
        again = await found_organization(plane.context, eve, "acme", "Other")
        assert again.name == "Acme"
        assert (await plane.organizations.list(Actor("eve"))).total == 0
        await plane.projects.delete(ADA, "campus")
        await plane.organizations.delete(ADA, "acme")
        with pytest.raises(ControlConflict):
            await found_organization(plane.context, ada, "acme", "Acme")
        await service.stop()

    asyncio.run(run())
