"""A control plane's organizations, users and access over a store, driven without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from twinframe.control.plane import RECORD_KINDS
from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import Assignment
from twinframe.control.records.runner import ControlRunner
from twinframe.control.records.scopes import Scope
from twinframe.control.tenants.access import Access
from twinframe.control.tenants.assignments import Assignments
from twinframe.control.tenants.audit import AuditLog
from twinframe.control.tenants.bootstrap import bootstrap
from twinframe.control.tenants.organizations import Organizations
from twinframe.control.tenants.projects import Projects
from twinframe.control.tenants.roles import Roles
from twinframe.control.tenants.users import Users
from twinframe.storage.control import (
    ControlSession,
    ControlStore,
    ControlTransaction,
    ControlWriteFunction,
    Record,
)
from twinframe.storage.control_memory import MemoryControlStore

T = TypeVar("T")

START = 1_800_000_000_000_000_000
SECOND = 1_000_000_000

ROOT = Actor("root", "root@example.com", request_id="r-root")
ANN = Actor("ann", "ann@example.com", request_id="r-ann")
BOB = Actor("bob", "bob@example.com", request_id="r-bob")
EVE = Actor("eve", "eve@example.org", request_id="r-eve")


class InlineControlRunner:
    """Does a runner's work at once, in the calling thread."""

    def __init__(self, store: ControlStore) -> None:
        self.store = store
        self.writes = 0
        self.session = store.session()

    def close(self) -> None:
        self.session.close()

    async def read(self, read: Callable[[ControlSession], T]) -> T:
        with self.session.snapshot():
            return read(self.session)

    async def write(self, work: ControlWriteFunction[T]) -> T:
        self.writes += 1
        (outcome,) = self.store.write([cast("ControlWriteFunction[object]", work)])
        if outcome.error is not None:
            raise outcome.error
        return cast("T", outcome.result)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    raise AssertionError("the coroutine waits for something")


STORES = ("memory", "sqlite")


def build_store(name: str, directory: Path) -> ControlStore:
    """A store that is not open yet; skips the test if it is not installed."""
    if name == "memory":
        return MemoryControlStore()
    package = pytest.importorskip("twinframe_storage_sqlite", reason="pip install it: the plugin")
    settings = import_module(f"{package.__name__}.settings")
    module = import_module(f"{package.__name__}.control_store")
    chosen = settings.SqliteSettings(directory=str(directory), durability="relaxed")
    return cast("ControlStore", module.SqliteControlStore(chosen, "control"))


class World:
    """All use cases of access over one store, and a clock that stands still until moved."""

    def __init__(self, store: ControlStore | None = None) -> None:
        self.store = store or MemoryControlStore()
        self.store.open(RECORD_KINDS)
        self.runner = InlineControlRunner(self.store)
        self.now = START
        self.context = ControlContext(cast("ControlRunner", self.runner), lambda: self.now)
        self.organizations = Organizations(self.context)
        self.projects = Projects(self.context)
        self.users = Users(self.context)
        self.roles = Roles(self.context)
        self.assignments = Assignments(self.context)
        self.access = Access(self.context)
        self.audit = AuditLog(self.context)

    def close(self) -> None:
        """Give back what the store holds."""
        self.runner.close()
        self.store.close()

    def start(self) -> None:
        """`root` owns the platform, `ann` the organization acme with project campus and graph."""
        run(bootstrap(self.context, Principal("subject", ROOT.subject)))
        self.grant(ROOT, Scope("platform", "platform"), "ann", "organization-creator")
        run(self.organizations.create(ANN, "Acme", organization_id="acme"))
        run(self.projects.create(ANN, "acme", "Campus", project_id="campus"))
        self.put_resource("graph", "campus", "acme")

    def put_resource(
        self, resource_id: str, project: str, organization: str, status: str = "running"
    ) -> None:
        """A resource as far as access knows it."""
        record = Record(
            "resource",
            resource_id,
            b"{}",
            {"organization": organization, "project": project, "status": status},
        )

        def apply(transaction: ControlTransaction) -> None:
            transaction.delete("resource", resource_id)
            transaction.insert(record)

        run(self.runner.write(apply))

    def grant(
        self,
        actor: Actor,
        scope: Scope,
        subject: str,
        role: str,
        expires_at: int | None = None,
    ) -> Assignment:
        """Give a role to a subject."""
        return run(
            self.assignments.grant(
                actor, scope, Principal("subject", subject), role, expires_at=expires_at
            )
        )

    def permissions(self, actor: Actor, scope: Scope) -> tuple[str, ...]:
        """What the actor may do there."""
        return run(self.access.permissions(actor, scope))


PLATFORM = Scope("platform", "platform")
ACME = Scope("organization", "acme")
CAMPUS = Scope("project", "campus")
GRAPH = Scope("resource", "graph")
