"""Resources as callers use them: access check, audit, stored answer and change in one transaction.

`resources` defines what a resource is and how it changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol

from twinframe.control.records.actors import Actor
from twinframe.control.records.context import ControlContext
from twinframe.control.records.idempotency import RequestKey
from twinframe.control.records.listing import Listed, Slice
from twinframe.control.records.scopes import Scope, find_path
from twinframe.control.resources.documents import RESOURCES, Operation, Resource
from twinframe.control.resources.requests import RequestReader
from twinframe.control.resources.resources import ResourceFilter, Resources
from twinframe.control.tenants.access import (
    find_readable_resources,
    find_readable_scopes,
    require_permission,
)
from twinframe.control.tenants.assignments import withdraw_assignments
from twinframe.control.tenants.audit import AuditTrail
from twinframe.errors import ControlNotFound, PreconditionFailed
from twinframe.storage.control import ControlSession, ControlTransaction

_PROVISIONER = Actor("provisioner", kind="operator")


class ResourceWatch(Protocol):
    """Receives changes in their transaction, and may refuse them by an error."""

    def on_create(self, transaction: ControlTransaction, resource: Resource) -> None:
        """A resource is about to be created."""

    def on_update(self, transaction: ControlTransaction, before: Resource, after: Resource) -> None:
        """A resource is about to be changed."""

    def on_delete(self, transaction: ControlTransaction, resource: Resource) -> None:
        """The deletion of a resource was requested, for the first time."""


class GuardedResources:
    """The resources of all projects. `reader` knows the types; `watches` receive the changes."""

    def __init__(
        self,
        context: ControlContext,
        resources: Resources,
        reader: RequestReader,
        watches: tuple[ResourceWatch, ...] = (),
        wake: Callable[[], None] | None = None,
    ) -> None:
        self._context = context
        self._resources = resources
        self._reader = reader
        self._watches = watches
        self._wake = wake

    async def create(
        self, actor: Actor, project_id: str, body: bytes, request: RequestKey | None = None
    ) -> Resource:
        """Create a resource from a JSON body. Needs `resources/write` at the project.

        Raises `ValidationFailed` with all errors, `ControlConflict` for a taken id,
        `QuotaExceeded`.
        """
        draft = self._reader.parse_create(body)
        scope = Scope("project", project_id)

        def apply(transaction: ControlTransaction) -> Resource:
            now = self._context.clock()
            path = require_permission(transaction, actor, scope, "resources/write", now).path

            def create() -> Resource:
                found = self._resources.create(transaction, project_id, draft, actor.subject)
                for watch in self._watches:
                    watch.on_create(transaction, found)
                target = Scope("resource", found.id).key
                AuditTrail(transaction, actor, now).add(
                    "resources/create", target, path, after=found
                )
                return found

            return self._context.idempotency.run_once(
                transaction, actor, request, now, RESOURCES, create
            )

        return await self._write(apply)

    async def list(
        self, actor: Actor, project_id: str, wanted: ResourceFilter, part: Slice
    ) -> Listed[Resource]:
        """List the resources of a project that the actor may read, by id.

        With a role only at single resources of it, these; without any, raises `ControlNotFound`.
        """
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[Resource]:
            readable = find_readable_resources(session, actor, project_id, now)
            if readable is not None and not readable:
                scope = Scope("project", project_id)
                require_permission(session, actor, scope, "resources/read", now)
            some = ResourceFilter(wanted.type, wanted.status, readable)
            return self._resources.list(session, project_id, some, part)

        return await self._context.runner.read(read)

    async def list_all(self, actor: Actor, wanted: ResourceFilter, part: Slice) -> Listed[Resource]:
        """List the resources of all projects that the actor may read, by id; the list may be
        empty.
        """
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[Resource]:
            places = find_readable_scopes(session, actor, now)
            return self._resources.list_across(session, places, wanted, part)

        return await self._context.runner.read(read)

    async def read(self, actor: Actor, project_id: str, resource_id: str) -> Resource:
        """One resource. Needs `resources/read`."""
        now = self._context.clock()

        def read(session: ControlSession) -> Resource:
            self._require(session, actor, project_id, resource_id, "resources/read", now)
            return self._resources.read(session, project_id, resource_id)

        return await self._context.runner.read(read)

    async def update(
        self,
        actor: Actor,
        project_id: str,
        resource_id: str,
        body: bytes,
        if_match: str | None = None,
    ) -> Resource:
        """Change name, sku or settings by a JSON body. Needs `resources/write`.

        Raises `StateConflict`, `ValidationFailed`, `QuotaExceeded`; `PreconditionFailed` when the
        stored resource has another tag than `if_match`.
        """
        change = self._reader.parse_update(body)

        def apply(transaction: ControlTransaction) -> Resource:
            now = self._context.clock()
            self._require(transaction, actor, project_id, resource_id, "resources/write", now)
            before = self._resources.read(transaction, project_id, resource_id)
            check_match(before, if_match)
            after = self._resources.update(
                transaction, project_id, resource_id, change, actor.subject
            )
            for watch in self._watches:
                watch.on_update(transaction, before, after)
            self._note(transaction, actor, now, "resources/update", before, after)
            return after

        return await self._write(apply)

    async def delete(
        self, actor: Actor, project_id: str, resource_id: str, if_match: str | None = None
    ) -> Resource:
        """Request the removal of a resource and its data. Needs `resources/delete`. Repeating has
        no effect.

        Raises `StateConflict` for a terminated one; `PreconditionFailed` when the stored resource
        has another tag than `if_match`.
        """

        def apply(transaction: ControlTransaction) -> Resource:
            now = self._context.clock()
            self._require(transaction, actor, project_id, resource_id, "resources/delete", now)
            before = self._resources.read(transaction, project_id, resource_id)
            check_match(before, if_match)
            after = self._resources.delete(transaction, project_id, resource_id, actor.subject)
            if after != before:
                for watch in self._watches:
                    watch.on_delete(transaction, after)
                self._note(transaction, actor, now, "resources/delete", before, after)
            return after

        return await self._write(apply)

    async def list_operations(
        self, actor: Actor, project_id: str, resource_id: str, part: Slice
    ) -> Listed[Operation]:
        """List the history of a resource, the latest operation first. Needs `resources/read`."""
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[Operation]:
            self._require(session, actor, project_id, resource_id, "resources/read", now)
            return self._resources.list_operations(session, project_id, resource_id, part)

        return await self._context.runner.read(read)

    async def find_scope(self, project_id: str, resource_id: str) -> Scope:
        """Return the scope of a resource of this project. Raises `ControlNotFound`.

        SEC: it checks no permission; the operation that uses the scope does, and refuses in the
        same words.
        """
        await self._context.runner.read(
            lambda session: self._resources.read(session, project_id, resource_id)
        )
        return Scope("resource", resource_id)

    def _require(
        self,
        session: ControlSession,
        actor: Actor,
        project_id: str,
        resource_id: str,
        permission: str,
        now: int,
    ) -> None:
        scope = Scope("resource", resource_id)
        admission = require_permission(session, actor, scope, permission, now)
        if admission.path.project_id != project_id:
            raise ControlNotFound(scope.type, resource_id)

    def _note(
        self,
        transaction: ControlTransaction,
        actor: Actor,
        now: int,
        action: str,
        before: Resource,
        after: Resource,
    ) -> None:
        scope = Scope("resource", after.id)
        path = find_path(transaction, scope)
        if path is not None:
            trail = AuditTrail(transaction, actor, now)
            trail.add(action, scope.key, path, before=before, after=after)

    async def _write(self, function: Callable[[ControlTransaction], Resource]) -> Resource:
        found = await self._context.runner.write(function)
        if self._wake is not None:
            self._wake()
        return found


def build_tag(resource: Resource) -> str:
    """Build the ETag of a resource, which changes with anything in it."""
    body = RESOURCES.build_record(resource).body
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def check_match(resource: Resource, if_match: str | None) -> None:
    """Raise `PreconditionFailed` unless the condition is empty, `*`, or names this version."""
    if if_match is None or if_match.strip() == "*":
        return
    if build_tag(resource) not in [each.strip() for each in if_match.split(",")]:
        raise PreconditionFailed(
            f"The resource {resource.id!r} has changed since; read it again. Its status is "
            f"{resource.status}."
        )


def forget_access(transaction: ControlTransaction, resource: Resource) -> None:
    """Revoke the grants at a resource that is gone: its id may be reused."""
    path = find_path(transaction, Scope("resource", resource.id))
    if path is not None:
        trail = AuditTrail(transaction, _PROVISIONER, resource.ended_at or resource.updated_at)
        withdraw_assignments(transaction, trail, path)
