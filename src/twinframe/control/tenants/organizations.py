"""The use cases of organizations: create, list, rename and delete them."""

from __future__ import annotations

from dataclasses import replace

from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import (
    ASSIGNMENTS,
    ORGANIZATIONS,
    PROJECTS,
    RETIRED,
    Organization,
    Retired,
)
from twinframe.control.records.idempotency import RequestKey
from twinframe.control.records.listing import FIRST, Listed, Slice
from twinframe.control.records.names import build_id, parse_id, parse_name
from twinframe.control.records.scopes import PLATFORM, Scope, ScopePath
from twinframe.control.tenants.access import list_own_scopes, reads_everything, require_permission
from twinframe.control.tenants.assignments import (
    build_assignment,
    find_assignments,
    withdraw_assignments,
)
from twinframe.control.tenants.audit import AuditTrail, find_time
from twinframe.control.tenants.catalogue import OWNER
from twinframe.control.tenants.delegation import check_revocable
from twinframe.control.tenants.roles import delete_roles
from twinframe.errors import ControlConflict
from twinframe.storage.control import ControlSession, ControlTransaction, equal


class Organizations:
    """The tenants.

    An id is never reused, so that nothing stored about a deleted organization applies to another.
    """

    def __init__(self, context: ControlContext) -> None:
        self._context = context

    async def create(
        self,
        actor: Actor,
        name: str,
        *,
        organization_id: str | None = None,
        request: RequestKey | None = None,
    ) -> Organization:
        """Create an organization; the actor becomes its Owner.

        Needs `organizations/create` at the platform. Raises `ControlConflict` for an id that is or
        was taken; `InvalidArgument`.
        """
        given = build_id("org") if organization_id is None else organization_id
        wanted = parse_id("an organization", given)
        title = parse_name("an organization", name)
        assignment_id = build_id("asg")

        def apply(transaction: ControlTransaction) -> Organization:
            now = self._context.clock()
            require_permission(transaction, actor, PLATFORM, "organizations/create", now)

            def create() -> Organization:
                told = find_time(transaction, now)
                found = Organization(wanted, title, told, told)
                path = ScopePath((Scope("organization", wanted), PLATFORM))
                check_never_used(transaction, path.scopes[0])
                ORGANIZATIONS.insert(transaction, found)
                owner = build_assignment(
                    assignment_id, path, Principal("subject", actor.subject), OWNER, actor, told
                )
                ASSIGNMENTS.insert(transaction, owner)
                trail = AuditTrail(transaction, actor, now)
                target = path.scopes[0].key
                trail.add("organizations/create", target, path, after=found)
                trail.add("role-assignments/create", target, path, after=owner)
                return found

            return self._context.idempotency.run_once(
                transaction, actor, request, now, ORGANIZATIONS, create
            )

        return await self._context.runner.write(apply)

    async def list(self, actor: Actor, wanted: Slice = FIRST) -> Listed[Organization]:
        """List the organizations that the actor may read, by id."""
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[Organization]:
            if reads_everything(session, actor, "organizations/read", now):
                return ORGANIZATIONS.list_page(session, wanted)
            own = list_own_scopes(session, actor, "organization", "organizations/read", now)
            ids = sorted({str(record.keys["organization"]) for record in own})
            page = (ORGANIZATIONS.read(session, each) for each in ids[wanted.offset : wanted.end])
            return Listed(tuple(each for each in page if each is not None), len(ids), wanted)

        return await self._context.runner.read(read)

    async def read(self, actor: Actor, organization_id: str) -> Organization:
        """One organization. Needs `organizations/read`."""
        now = self._context.clock()
        scope = Scope("organization", organization_id)

        def read(session: ControlSession) -> Organization:
            require_permission(session, actor, scope, "organizations/read", now)
            return ORGANIZATIONS.require(session, organization_id)

        return await self._context.runner.read(read)

    async def update(self, actor: Actor, organization_id: str, name: str) -> Organization:
        """Rename an organization. Needs `organizations/write`."""
        title = parse_name("an organization", name)
        scope = Scope("organization", organization_id)

        def apply(transaction: ControlTransaction) -> Organization:
            now = self._context.clock()
            path = require_permission(transaction, actor, scope, "organizations/write", now).path
            before = ORGANIZATIONS.require(transaction, organization_id)
            after = replace(before, name=title, updated_at=find_time(transaction, now))
            ORGANIZATIONS.replace(transaction, after)
            trail = AuditTrail(transaction, actor, now)
            trail.add("organizations/update", scope.key, path, before=before, after=after)
            return after

        return await self._context.runner.write(apply)

    async def delete(self, actor: Actor, organization_id: str) -> None:
        """Delete an organization with its custom roles and assignments.

        Raises `ControlConflict` while it has projects: they are deleted one by one, as each may
        hold data. Needs `organizations/delete`, and what revoking the assignments needs. Its audit
        log is kept, for the platform's owners.
        """
        scope = Scope("organization", organization_id)

        def apply(transaction: ControlTransaction) -> None:
            now = self._context.clock()
            path = require_permission(transaction, actor, scope, "organizations/delete", now).path
            before = ORGANIZATIONS.require(transaction, organization_id)
            held = [equal("organization", organization_id)]
            projects = transaction.count(PROJECTS.kind, held)
            if projects:
                raise ControlConflict(
                    f"The organization {organization_id!r} holds {projects} projects. Delete them "
                    "first."
                )
            check_revocable(transaction, actor, find_assignments(transaction, scope), now)
            trail = AuditTrail(transaction, actor, now)
            withdraw_assignments(transaction, trail, path)
            delete_roles(transaction, organization_id)
            ORGANIZATIONS.delete(transaction, organization_id)
            RETIRED.insert(transaction, Retired(scope.key, now))
            trail.add("organizations/delete", scope.key, path, before=before)

        await self._context.runner.write(apply)


def check_never_used(session: ControlSession, scope: Scope) -> None:
    """Raise `ControlConflict` when an organization or project of this id exists, or once
    existed.
    """
    used = session.read(scope.type, scope.id) or session.read(RETIRED.kind, scope.key)
    if used is not None:
        raise ControlConflict(f"The {scope.type} id {scope.id!r} is taken.")
