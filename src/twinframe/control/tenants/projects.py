"""The use cases of projects: create, list, rename and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.control.records.actors import Actor
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import PROJECTS, RETIRED, Project, Retired
from twinframe.control.records.idempotency import RequestKey
from twinframe.control.records.listing import FIRST, Listed, Slice
from twinframe.control.records.names import build_id, parse_id, parse_name
from twinframe.control.records.scopes import Scope, ScopePath
from twinframe.control.records.states import ResourceState
from twinframe.control.tenants.access import list_own_scopes, reads_everything, require_permission
from twinframe.control.tenants.assignments import find_assignments, withdraw_assignments
from twinframe.control.tenants.audit import AuditTrail, find_time
from twinframe.control.tenants.delegation import check_revocable
from twinframe.control.tenants.organizations import check_never_used
from twinframe.errors import ControlConflict
from twinframe.storage.control import Condition, ControlSession, ControlTransaction, equal


class Projects:
    """Projects, which contain resources. An id is never reused, as with organizations."""

    def __init__(self, context: ControlContext) -> None:
        self._context = context

    async def create(
        self,
        actor: Actor,
        organization_id: str,
        name: str,
        *,
        project_id: str | None = None,
        request: RequestKey | None = None,
    ) -> Project:
        """Create a project. Needs `projects/write` at the organization.

        Raises `ControlConflict` for an id that is or was taken; `InvalidArgument`.
        """
        wanted = parse_id("a project", build_id("prj") if project_id is None else project_id)
        title = parse_name("a project", name)
        parent = Scope("organization", organization_id)

        def apply(transaction: ControlTransaction) -> Project:
            now = self._context.clock()
            above = require_permission(transaction, actor, parent, "projects/write", now).path

            def create() -> Project:
                told = find_time(transaction, now)
                found = Project(wanted, organization_id, title, told, told)
                scope = Scope("project", wanted)
                check_never_used(transaction, scope)
                PROJECTS.insert(transaction, found)
                path = ScopePath((scope, *above.scopes))
                trail = AuditTrail(transaction, actor, now)
                trail.add("projects/create", scope.key, path, after=found)
                return found

            return self._context.idempotency.run_once(
                transaction, actor, request, now, PROJECTS, create
            )

        return await self._context.runner.write(apply)

    async def list(
        self, actor: Actor, wanted: Slice = FIRST, *, organization_id: str | None = None
    ) -> Listed[Project]:
        """List the projects that the actor may read, by id; those of one organization if it is
        given.
        """
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[Project]:
            whole, single = _find_readable(session, actor, organization_id, now)
            return _build_page(session, whole, single, wanted)

        return await self._context.runner.read(read)

    async def read(self, actor: Actor, project_id: str) -> Project:
        """One project. Needs `projects/read`."""
        now = self._context.clock()

        def read(session: ControlSession) -> Project:
            require_permission(session, actor, Scope("project", project_id), "projects/read", now)
            return PROJECTS.require(session, project_id)

        return await self._context.runner.read(read)

    async def update(self, actor: Actor, project_id: str, name: str) -> Project:
        """Rename a project. Needs `projects/write`."""
        title = parse_name("a project", name)
        scope = Scope("project", project_id)

        def apply(transaction: ControlTransaction) -> Project:
            now = self._context.clock()
            path = require_permission(transaction, actor, scope, "projects/write", now).path
            before = PROJECTS.require(transaction, project_id)
            after = replace(before, name=title, updated_at=find_time(transaction, now))
            PROJECTS.replace(transaction, after)
            trail = AuditTrail(transaction, actor, now)
            trail.add("projects/update", scope.key, path, before=before, after=after)
            return after

        return await self._context.runner.write(apply)

    async def delete(self, actor: Actor, project_id: str) -> None:
        """Delete a project with the assignments at it.

        Raises `ControlConflict` while it has resources: deleting these deletes data and takes time,
        and is requested one by one. Needs `projects/delete`.
        """
        scope = Scope("project", project_id)

        def apply(transaction: ControlTransaction) -> None:
            now = self._context.clock()
            path = require_permission(transaction, actor, scope, "projects/delete", now).path
            before = PROJECTS.require(transaction, project_id)
            held = _count_resources(transaction, project_id)
            if held:
                raise ControlConflict(
                    f"The project {project_id!r} holds {held} resources. Delete them first, and "
                    "wait until they are terminated."
                )
            check_revocable(transaction, actor, find_assignments(transaction, scope), now)
            trail = AuditTrail(transaction, actor, now)
            withdraw_assignments(transaction, trail, path)
            PROJECTS.delete(transaction, project_id)
            RETIRED.insert(transaction, Retired(scope.key, now))
            trail.add("projects/delete", scope.key, path, before=before)

        await self._context.runner.write(apply)


_EVERYTHING: Sequence[Sequence[Condition]] = ((),)


def _find_readable(
    session: ControlSession, actor: Actor, organization_id: str | None, now: int
) -> tuple[Sequence[Sequence[Condition]], Sequence[str]]:
    """Return which projects the actor may read: those that meet one of the sets of conditions, and
    these.

    The sets exclude each other, and the single ids are in none of them.
    """
    if reads_everything(session, actor, "projects/read", now):
        if organization_id is None:
            return _EVERYTHING, ()
        return [[equal("organization", organization_id)]], ()
    above = list_own_scopes(session, actor, "organization", "projects/read", now)
    whole = {str(record.keys["organization"]) for record in above}
    own = list_own_scopes(session, actor, "project", "projects/read", now)
    single = {
        str(record.keys["project"]): str(record.keys["organization"])
        for record in own
        if record.keys["organization"] not in whole
    }
    if organization_id is not None:
        whole &= {organization_id}
        single = {name: parent for name, parent in single.items() if parent == organization_id}
    # NOTE: one look-up an organization: each is one range of the index, read to the page's end.
    return [[equal("organization", each)] for each in sorted(whole)], sorted(single)


def _build_page(
    session: ControlSession,
    whole: Sequence[Sequence[Condition]],
    single: Sequence[str],
    wanted: Slice,
) -> Listed[Project]:
    total = len(single) + sum(session.count(PROJECTS.kind, each) for each in whole)
    if len(whole) == 1 and not single:
        records = session.find(PROJECTS.kind, whole[0], offset=wanted.offset, limit=wanted.limit)
        return Listed(PROJECTS.parse_all(records), total, wanted)
    found = [
        record for each in whole for record in session.find(PROJECTS.kind, each, limit=wanted.end)
    ]
    found += [
        record
        for name in single[: wanted.end]
        if (record := session.read(PROJECTS.kind, name)) is not None
    ]
    found.sort(key=lambda record: record.id)
    return Listed(PROJECTS.parse_all(found[wanted.offset : wanted.end]), total, wanted)


def _count_resources(session: ControlSession, project_id: str) -> int:
    inside, gone = equal("project", project_id), equal("status", ResourceState.TERMINATED)
    return session.count("resource", [inside]) - session.count("resource", [inside, gone])
