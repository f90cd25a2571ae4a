"""Resources, provisioners that can die, and a folder of graphs; time stands still until moved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import orjson

from tests.unit.control.resources.fault_points import FaultPoints, PowerCut
from tests.unit.control.resources.folder_host import FolderHost
from tests.unit.control.tenants.access_world import SECOND, START, InlineControlRunner, run
from twinframe.control.plane import RECORD_KINDS
from twinframe.control.records.documents import ORGANIZATIONS, PROJECTS, Organization, Project
from twinframe.control.records.listing import FIRST, Slice
from twinframe.control.records.runner import ControlRunner
from twinframe.control.resources.documents import (
    RECONCILE_ITEMS,
    RESOURCES,
    Operation,
    ReconcileItem,
    Resource,
)
from twinframe.control.resources.provisioner import Provisioner, ProvisionerOptions
from twinframe.control.resources.requests import RequestReader
from twinframe.control.resources.resources import OnGone, ResourceFilter, Resources
from twinframe.control.resources.rounds import Rounds
from twinframe.hooks.resource_types.base import (
    ProvisionContext,
    Provisioned,
    ProvisionFailed,
    ResourceSettings,
    ResourceType,
    ResourceTypeRegistry,
)
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.model.json import JsonLimits
from twinframe.runtime.backoff import Backoff
from twinframe.storage.control import ControlStore
from twinframe.storage.control_memory import MemoryControlStore
from twinframe_resource_types.graph import GraphType

ANN = "ann"
LEASE = 30.0
OPTIONS = ProvisionerOptions(lease=LEASE, poll_interval=0.01, grace=0.2)


class Moody(ResourceType):
    """Does what its `moods` say, one a call; then it works."""

    name = "Test.Moody"
    settings_model = ResourceSettings

    def __init__(self) -> None:
        self.moods: list[BaseException | Callable[[], object]] = []
        self.calls: list[tuple[str, ProvisionContext]] = []
        self.sick: set[str] = set()

    async def provision(self, context: ProvisionContext) -> Provisioned:
        await self._feel("provision", context)
        return Provisioned(f"http://moody.test/{context.name.resource_id}", note="in a good mood")

    async def update(self, context: ProvisionContext) -> Provisioned:
        await self._feel("update", context)
        return Provisioned(f"http://moody.test/{context.name.resource_id}")

    async def deprovision(self, context: ProvisionContext) -> None:
        await self._feel("deprovision", context)

    async def health(self, context: ProvisionContext) -> str | None:
        return "it sulks" if context.name.resource_id in self.sick else None

    async def _feel(self, call: str, context: ProvisionContext) -> None:
        self.calls.append((call, context))
        await context.step("begun")
        mood = self.moods.pop(0) if self.moods else None
        if isinstance(mood, BaseException):
            raise mood
        if mood is not None:
            answer = mood()
            if asyncio.iscoroutine(answer):
                await answer
        await context.step("ended")


class World:
    """A project `prj` and another `else`."""

    def __init__(self, folder: Path, store: ControlStore | None = None) -> None:
        self.store = store or MemoryControlStore()
        self.store.open(RECORD_KINDS)
        self.runner = InlineControlRunner(self.store)
        self.now = START
        self.monotonic = 0.0
        self.moody = Moody()
        self.types = ResourceTypeRegistry([GraphType(), self.moody])
        self.host = FolderHost(folder)
        self.resources = Resources(self.types, self.clock)
        self.reader = RequestReader(self.types, JsonLimits(), 64 * 1024)
        self.gone: list[ResourceName] = []
        run(self.runner.write(self._lay_ground))

    def clock(self) -> int:
        """The wall clock."""
        return self.now

    def build_provisioner(
        self, faults: FaultPoints | None = None, options: ProvisionerOptions = OPTIONS
    ) -> Provisioner:
        """A provisioner that has just started."""
        note: OnGone = lambda _work, resource: self.gone.append(resource.resource_name)  # noqa: E731
        return Provisioner(
            cast("ControlRunner", self.runner),
            self.types,
            self.host,
            options,
            on_gone=(note,),
            clock=self.clock,
            monotonic=lambda: self.monotonic,
            fault=faults or FaultPoints(),
        )

    def provision(self, provisioner: Provisioner | None = None, looks: int = 1) -> int:
        """Let a provisioner look for work and do it; how many attempts."""
        worker = provisioner or self.build_provisioner()

        async def look() -> int:
            return sum([await worker.run_once() for _ in range(looks)])

        return asyncio.run(look())

    def settle(self, *, limit: int = 30) -> None:
        """A new provisioner, until nothing is left to do; leases and pauses pass meanwhile."""
        worker = self.build_provisioner()
        for _ in range(limit):
            self.provision(worker)
            if all(item.due_at is None for item in self.list_work()):
                return
            self.pass_time(LEASE)
        raise AssertionError(self.list_work())

    def cut(self, point: str) -> bool:
        """Let a provisioner work until it passes `point` and is gone; whether it came there."""

        def die() -> None:
            raise PowerCut

        try:
            self.provision(self.build_provisioner(FaultPoints({point: die})))
        except PowerCut:
            return True
        return False

    def pass_time(self, seconds: float) -> None:
        """Both clocks go on."""
        self.now += int(seconds * SECOND)
        self.monotonic += seconds

    def build_rounds(self) -> Rounds:
        """The rounds of a provisioner that has just started."""
        runner = cast("ControlRunner", self.runner)
        return Rounds(runner, self.types, self.host, OPTIONS.intervals, self.clock)

    def purge(self) -> int:
        """Remove tombstones whose time is over; how many."""
        return asyncio.run(self.build_rounds().purge_tombstones())

    def create(self, resource_id: str = "one", project: str = "prj", **members: Any) -> Resource:
        """POST."""
        body = {"id": resource_id, "name": "One", "type": "Platform.Graph", **members}
        draft = self.reader.parse_create(orjson.dumps(body))
        return run(self.runner.write(lambda work: self.resources.create(work, project, draft, ANN)))

    def update(self, resource_id: str = "one", project: str = "prj", **members: Any) -> Resource:
        """PUT."""
        change = self.reader.parse_update(orjson.dumps(members or {"name": "Changed"}))
        return run(
            self.runner.write(
                lambda work: self.resources.update(work, project, resource_id, change, ANN)
            )
        )

    def delete(self, resource_id: str = "one", project: str = "prj") -> Resource:
        """DELETE."""
        return run(
            self.runner.write(lambda work: self.resources.delete(work, project, resource_id, ANN))
        )

    def read(self, resource_id: str = "one", project: str = "prj") -> Resource:
        """GET."""
        return self.resources.read(self.store.session(), project, resource_id)

    def list(
        self,
        project: str = "prj",
        part: Slice = FIRST,
        **wanted: Any,
    ) -> tuple[list[str], int]:
        """GET of the listing: ids and total."""
        found = self.resources.list(self.store.session(), project, ResourceFilter(**wanted), part)
        return [resource.id for resource in found.items], found.total

    def history(self, resource_id: str = "one") -> Sequence[Operation]:
        """GET of the operations."""
        session = self.store.session()
        return self.resources.list_operations(session, "prj", resource_id, Slice()).items

    def list_work(self) -> Sequence[ReconcileItem]:
        """All work items."""
        return RECONCILE_ITEMS.parse_all(self.store.session().find(RECONCILE_ITEMS.kind))

    def work(self, resource_id: str = "one") -> ReconcileItem:
        """The work item of a resource."""
        found = RECONCILE_ITEMS.read(self.store.session(), resource_id)
        assert found is not None
        return found

    def list_files(self) -> set[str]:
        """All files of the host: `data/…` and `published/…`."""
        folder = self.host.data.parent
        parts = (self.host.data, self.host.published)
        return {str(file.relative_to(folder)) for part in parts for file in part.iterdir()}

    def list_wanted_files(self) -> set[str]:
        """The files that there should be: those of graphs that are up."""
        found = RESOURCES.parse_all(self.store.session().find(RESOURCES.kind))
        return {
            f"{part}/{graph.id}~{graph.incarnation}"
            for graph in found
            if graph.type == "Platform.Graph" and graph.status == "running"
            for part in ("data", "published")
        }

    def read_published(self, resource_id: str = "one") -> Mapping[str, Any]:
        """How a graph is served."""
        name = self.read(resource_id).resource_name
        file = self.host.published / f"{name.resource_id}~{name.incarnation}"
        document: dict[str, Any] = orjson.loads(file.read_bytes())
        return document

    def _lay_ground(self, work: Any) -> None:
        ORGANIZATIONS.insert(work, Organization("org", "Org", START, START))
        for project in ("prj", "else"):
            PROJECTS.insert(work, Project(project, "org", project, START, START))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, two minutes at most."""
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110  (it knows no event)
            await asyncio.sleep(0.005)


def with_rules(**rules: Any) -> ProvisionerOptions:
    """Options with other rules for attempts."""
    return replace(OPTIONS, rules=replace(OPTIONS.rules, **rules))


FAILURE = ProvisionFailed("not today")
FINAL = ProvisionFailed("never", final=True)
NO_PAUSE = Backoff(0.0, 0.0)
