"""Random steps on resources and on a model of a dozen lines: calls, deaths, failures, time.

`TWINFRAME_STEPS` says how many steps (`make test-crash` takes 10,000).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.unit.control.resources.resource_world import FAILURE, FINAL, LEASE, World
from tests.unit.control.resources.test_provisioner import POINTS
from twinframe.control.records.listing import Slice
from twinframe.errors import ControlConflict, ControlNotFound, StateConflict, TwinframeError

STEPS = int(os.environ.get("TWINFRAME_STEPS", "2000"))
LENGTH = 50

IDS = st.sampled_from(["a", "b"])
PROJECTS = st.sampled_from(["prj", "else"])
FOREIGN = st.sampled_from([False, False, False, False, True])
TYPES = st.sampled_from(["Platform.Graph", "Test.Moody"])
SETTINGS = st.sampled_from([{}, {"z": 1, "a": [2]}, {"max_concurrent_connections": 5}])
STATUSES = st.sampled_from(["running", "error", "creating", "deleting", "terminated"])
DAY = 24 * 3600


@dataclass
class Known:
    """A resource as the model knows it: the last `done` operations have ended well."""

    project: str
    type: str
    status: str
    settings: dict[str, Any]
    name: str = "One"
    ended: int = 0
    operations: list[str] = field(default_factory=lambda: ["create"])


class ResourceMachine(RuleBasedStateMachine):
    """The model is `known`: by id, what a client that did all the calls expects."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.world = World(Path(self.folder))
        self.known: dict[str, Known] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(id_=IDS, foreign=FOREIGN, type_=TYPES, document=SETTINGS)
    def create(self, id_: str, foreign: bool, type_: str, document: dict[str, Any]) -> None:
        present, project = self.known.get(id_), self._find_project(id_, foreign=foreign)
        wanted: type[TwinframeError] | None = None
        if present is not None and (present.status != "terminated" or present.project != project):
            wanted = ControlConflict
        if self._call(wanted, "create", id_, project, type=type_, settings_json=document):
            self.known[id_] = Known(project, type_, "creating", document)

    @rule(id_=IDS, foreign=FOREIGN, document=SETTINGS)
    def update(self, id_: str, foreign: bool, document: dict[str, Any]) -> None:
        present, project = self.known.get(id_), self._find_project(id_, foreign=foreign)
        wanted: type[TwinframeError] | None = None
        if present is None or present.project != project:
            wanted = ControlNotFound
        elif present.status not in ("running", "error"):
            wanted = StateConflict
        if self._call(wanted, "update", id_, project, name="New", settings_json=document):
            assert present is not None
            present.status, present.settings, present.name = "updating", document, "New"
            present.operations.append("update")

    @rule(id_=IDS, foreign=FOREIGN)
    def delete(self, id_: str, foreign: bool) -> None:
        present, project = self.known.get(id_), self._find_project(id_, foreign=foreign)
        missing = present is None or present.project != project
        wanted: type[TwinframeError] | None = ControlNotFound if missing else None
        if present is not None and not missing and present.status == "terminated":
            wanted = StateConflict
        done = self._call(wanted, "delete", id_, project)
        if done and present is not None and present.status != "deleting":
            present.status = "deleting"
            present.operations.append("delete")

    @rule(point=st.sampled_from([point for _, point in POINTS]))
    def die_at(self, point: str) -> None:
        """A provisioner dies on its way; whatever it has stored may be seen."""
        self.world.cut(point)
        for id_, present in self.known.items():
            now = self.world.read(id_, present.project)
            if now.status != present.status:
                self._settle(present, final=False)

    @rule(failures=st.integers(0, 2))
    def provision(self, failures: int) -> None:
        """All work is done, after some failures of the type."""
        self.world.moody.moods = [FAILURE] * failures
        self._provision(final=False)

    @rule()
    def provision_in_vain(self) -> None:
        """The type refuses for good, once for each of its resources."""
        self.world.moody.moods = [FINAL] * sum(
            present.type == "Test.Moody" and present.status in ("creating", "updating")
            for present in self.known.values()
        )
        deletions = any(
            present.type == "Test.Moody" and present.status == "deleting"
            for present in self.known.values()
        )
        if deletions:  # they would meet the refusals too, in whatever order
            self.world.moody.moods = []
        self._provision(final=not deletions)

    @rule(days=st.sampled_from([0.5, 4, 8]))
    def let_time_pass(self, days: float) -> None:
        self.world.pass_time(days * DAY)
        self.world.purge()
        for id_, present in list(self.known.items()):
            if present.status == "terminated" and self.world.now - present.ended >= 7 * DAY * 10**9:
                del self.known[id_]

    @rule(project=PROJECTS, type_=st.none() | TYPES, status=st.none() | STATUSES)
    def list_some(self, project: str, type_: str | None, status: str | None) -> None:
        wanted = sorted(
            id_
            for id_, present in self.known.items()
            if present.project == project
            and type_ in (None, present.type)
            and (present.status == status if status else present.status != "terminated")
        )
        assert self.world.list(project, type=type_, status=status) == (wanted, len(wanted))
        part = Slice(limit=1, offset=1)
        page = self.world.list(project, part, type=type_, status=status)
        assert page == (wanted[1:2], len(wanted))

    @invariant()
    def each_resource_is_what_the_model_says(self) -> None:
        for id_ in ("a", "b"):
            for project in ("prj", "else"):
                present = self.known.get(id_)
                if present is None or present.project != project:
                    self._call(ControlNotFound, "read", id_, project)
                    continue
                found = self.world.read(id_, project)
                assert (found.status, found.type, found.name) == (
                    present.status,
                    present.type,
                    present.name,
                )
                assert bool(found.error_message) == (present.status == "error")
                if present.status in ("running", "terminated"):
                    assert bool(found.access_url) == (present.status == "running")
                history = self.world.resources.list_operations(
                    self.world.store.session(), project, id_, Slice()
                )
                assert [each.type for each in reversed(history.items)] == present.operations[-50:]

    @invariant()
    def what_runs_is_there_and_what_is_over_is_not(self) -> None:
        files = self.world.list_files()
        assert files >= self.world.list_wanted_files()
        if all(p.status in ("running", "terminated", "error") for p in self.known.values()):
            assert files == self.world.list_wanted_files()

    def _find_project(self, id_: str, *, foreign: bool) -> str:
        """The project that has the id, or the other one."""
        present = self.known.get(id_)
        own = "prj" if present is None else present.project
        return ("else" if own == "prj" else "prj") if foreign else own

    def _provision(self, *, final: bool) -> None:
        self.world.settle()
        self.world.pass_time(LEASE)
        for present in self.known.values():
            self._settle(present, final=final and present.type == "Test.Moody")

    def _settle(self, present: Known, *, final: bool) -> None:
        if present.status in ("creating", "updating"):
            present.status = "error" if final else "running"
        if present.status == "deleting":
            present.status = "terminated"
            present.ended = self.world.now

    def _call(
        self,
        wanted: type[TwinframeError] | None,
        call: str,
        id_: str,
        project: str,
        **members: Any,
    ) -> bool:
        """Whether the call succeeded, which it does unless `wanted` says otherwise."""
        refusal: TwinframeError | None = None
        try:
            getattr(self.world, call)(id_, project, **members)
        except TwinframeError as error:
            refusal = error
        assert (None if refusal is None else type(refusal)) is wanted, (call, id_, refusal)
        return refusal is None


TestResourceMachine = ResourceMachine.TestCase
TestResourceMachine.settings = settings(
    max_examples=max(1, STEPS // LENGTH),
    stateful_step_count=LENGTH,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
