"""Kill -9 of provisioners at each of their steps, and others that freeze and wake too late.

Whatever happens, every resource ends in the right state, nothing is lost and nothing left on disk.
`TWINFRAME_ROUNDS` says how often each death is died (`make test-crash` takes 50).
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson
import pytest

from tests.e2e.dying_provisioners import Nursery, build_host, build_store, build_types
from tests.unit.control.resources.folder_host import FolderHost
from tests.unit.control.resources.test_provisioner import POINTS as STEPS
from twinframe.control.plane import RECORD_KINDS
from twinframe.control.records.documents import ORGANIZATIONS, PROJECTS, Organization, Project
from twinframe.control.records.listing import Slice
from twinframe.control.resources.documents import OPERATIONS, RECONCILE_ITEMS, RESOURCES
from twinframe.control.resources.requests import RequestReader
from twinframe.control.resources.resources import Resources
from twinframe.model.json import JsonLimits
from twinframe.storage.control import ControlTransaction, ControlWriteFunction

ROUNDS = int(os.environ.get("TWINFRAME_ROUNDS", "1"))

T = TypeVar("T")
Recorder = Callable[[str, object], None]
"""What a run counted and measured goes into its report; `make reliability` reads it there."""

EFFECTS = [
    ("create", "host:create"),
    ("create", "host:publish"),
    ("update", "host:create"),
    ("update", "host:publish"),
    ("delete", "host:unpublish"),
    ("delete", "host:remove"),
]
DRAFTS = [("create", "host:draft"), ("create", "host:draft#2"), ("update", "host:draft")]
GOALS = ("create", "update", "delete")


class Plane:
    """The client's side: the same records, in this process."""

    def __init__(self, folder: Path) -> None:
        self.store = build_store(folder)
        self.store.open(RECORD_KINDS)
        self.host = FolderHost(folder)
        self.resources = Resources(build_types())
        self.reader = RequestReader(build_types(), JsonLimits(), 64 * 1024)
        self.do(lambda work: ORGANIZATIONS.insert(work, Organization("org", "Org", 1, 1)))
        self.do(lambda work: PROJECTS.insert(work, Project("prj", "org", "Prj", 1, 1)))

    def do(self, work: ControlWriteFunction[T]) -> T:
        (outcome,) = self.store.write([cast("ControlWriteFunction[object]", work)])
        if outcome.error is not None:
            raise outcome.error
        return cast("T", outcome.result)

    def ask(self, goal: str, resource_id: str) -> None:
        """POST, PUT or DELETE."""
        document: dict[str, Any] = {"max_concurrent_connections": 7 if goal == "update" else 5}
        members = {"name": goal, "settings_json": document}

        def apply(transaction: ControlTransaction) -> object:
            match goal:
                case "create":
                    body = {"id": resource_id, "type": "Platform.Graph", **members}
                    draft = self.reader.parse_create(orjson.dumps(body))
                    return self.resources.create(transaction, "prj", draft, "ann")
                case "update":
                    change = self.reader.parse_update(orjson.dumps(members))
                    return self.resources.update(transaction, "prj", resource_id, change, "ann")
                case _:
                    return self.resources.delete(transaction, "prj", resource_id, "ann")

        self.do(apply)

    def check(self, goal: str, resource_ids: list[str], *, operations: int) -> None:
        """All of them have come to the end of `goal`, and nothing else is on the disk."""
        session = self.store.session()
        wanted: set[str] = set()
        for resource_id in resource_ids:
            resource = self.resources.read(session, "prj", resource_id)
            history = self.resources.list_operations(session, "prj", resource_id, Slice()).items
            assert [each.status for each in history] == ["succeeded"] * operations, history
            if goal == "delete":
                assert resource.status == "terminated"
                continue
            assert (resource.status, resource.name) == ("running", goal)
            assert resource.access_url == f"http://graphs.test/graphs/{resource_id}"
            name = f"{resource_id}~{resource.incarnation}"
            served = orjson.loads((self.host.published / name).read_bytes())
            assert served["max_concurrent_connections"] == (7 if goal == "update" else 5)
            wanted |= {f"data/{name}", f"published/{name}"}
        session.close()
        assert self.list_files() == wanted

    def list_files(self) -> set[str]:
        parts = (self.host.data, self.host.published)
        return {f"{part.name}/{file.name}" for part in parts for file in part.iterdir()}

    def read_status(self, resource_id: str) -> str:
        session = self.store.session()
        try:
            return self.resources.read(session, "prj", resource_id).status
        finally:
            session.close()

    def list_versions(self) -> dict[tuple[str, str], int]:
        """The version of each record of resources, which changes with each write."""
        session = self.store.session()
        try:
            found = [
                session.find(kind)
                for kind in (RESOURCES.kind, OPERATIONS.kind, RECONCILE_ITEMS.kind)
            ]
            return {(record.kind, record.id): record.version for part in found for record in part}
        finally:
            session.close()

    def count(self) -> int:
        session = self.store.session()
        try:
            return session.count(RESOURCES.kind)
        finally:
            session.close()


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    plane = Plane(tmp_path)
    yield plane
    assert not plane.store.verify()
    plane.store.close()


def finish(nursery: Nursery, record_property: Recorder) -> None:
    """Let a provisioner work until nothing is left to do; how long it took is recorded."""
    start = time.monotonic()
    assert nursery.tell("finish") == 0
    record_property("seconds to the end", time.monotonic() - start)


def test_kill_9_at_each_step_leaves_what_the_next_one_finishes(
    plane: Plane, tmp_path: Path, record_property: Recorder
) -> None:
    died = 0
    with Nursery(tmp_path) as nursery:
        for number in range(ROUNDS):
            points = [*STEPS, *EFFECTS, *DRAFTS]
            most = max(sum(each == goal for each, _ in points) for goal in GOALS)
            ids = [f"r{number}-{index}" for index in range(most)]
            for operations, goal in enumerate(GOALS, 1):
                deaths = [point for each, point in points if each == goal]
                for index, resource_id in enumerate(ids):
                    plane.ask(goal, resource_id)
                    if index < len(deaths):
                        assert nursery.tell("kill", deaths[index]) == -signal.SIGKILL
                        died += 1
                finish(nursery, record_property)
                plane.check(goal, ids, operations=operations)
    record_property("deaths", died)
    assert died == ROUNDS * len(points)
    assert plane.count() == ROUNDS * most  # tombstones


def test_kill_9_at_each_step_with_graphs_that_are_real(
    plane: Plane, tmp_path: Path, record_property: Recorder
) -> None:
    """The same deaths with the host of a service: its catalog, and an SQLite file a graph."""
    host = build_host("graphs", tmp_path, lambda _point: None)
    with Nursery(tmp_path, "graphs") as nursery:
        for number in range(ROUNDS):
            most = max(sum(each == goal for each, _ in STEPS) for goal in GOALS)
            ids = [f"g{number}-{index}" for index in range(most)]
            for goal in GOALS:
                deaths = [point for each, point in STEPS if each == goal]
                for resource_id, death in zip(ids, deaths, strict=True):
                    plane.ask(goal, resource_id)
                    assert nursery.tell("kill", death) == -signal.SIGKILL
                record_property("deaths", len(deaths))
                finish(nursery, record_property)
                for resource_id in ids:
                    status = "terminated" if goal == "delete" else "running"
                    assert plane.read_status(resource_id) == status
                kept = {name.resource_id for name in asyncio.run(host.list_names())}
                assert kept == (set() if goal == "delete" else set(ids))
                paths = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")]
                for resource_id in ids:
                    own = [path for path in paths if resource_id in path]
                    assert bool(own) == (goal != "delete"), own


@pytest.mark.parametrize("then", ["finish", "delete"])
def test_one_that_freezes_and_wakes_after_its_lease_changes_nothing(
    plane: Plane, tmp_path: Path, then: str, record_property: Recorder
) -> None:
    """`then`: the next one finishes what was asked, or a deletion comes meanwhile."""
    ids: list[str] = []
    with Nursery(tmp_path) as nursery:
        for goal in GOALS:
            points = [point for each, point in [*STEPS, *EFFECTS] if each == goal]
            ids = [f"{goal}-{index}" for index in range(len(points))]
            for before in GOALS[: GOALS.index(goal)]:
                if before == "create" or goal == "update":
                    for resource_id in ids:
                        plane.ask(before, resource_id)
                    assert nursery.tell("finish") == 0
            frozen = []
            for resource_id, point in zip(ids, points, strict=True):
                plane.ask(goal, resource_id)
                frozen.append(nursery.tell("freeze", point))
            if then == "delete":
                for resource_id in ids:
                    if plane.read_status(resource_id) != "terminated":
                        plane.ask("delete", resource_id)
            record_property("zombies", len(frozen))
            finish(nursery, record_property)
            states = {plane.read_status(resource_id) for resource_id in ids}
            assert states == {"terminated" if "delete" in (goal, then) else "running"}
            records = plane.list_versions()
            for process in frozen:
                assert nursery.tell("wake", process) == 0
            assert plane.list_versions() == records
            assert nursery.tell("finish") == 0  # it removes what late hands have left
            assert plane.list_versions() == records
            if "delete" in (goal, then):
                assert plane.list_files() == set()
            else:
                plane.check(goal, ids, operations=1 + GOALS.index(goal))
            for resource_id in ids:
                if plane.read_status(resource_id) != "terminated":
                    plane.ask("delete", resource_id)
            assert nursery.tell("finish") == 0
    assert plane.list_files() == set()
