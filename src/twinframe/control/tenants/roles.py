"""Custom roles: sets of permissions that an organization defines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from twinframe.control.records.actors import Actor
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import (
    ASSIGNMENTS,
    ROLES,
    Assignment,
    CustomRole,
    build_role_key,
)
from twinframe.control.records.idempotency import RequestKey
from twinframe.control.records.listing import FIRST, Listed, Slice
from twinframe.control.records.names import build_id, parse_id, parse_name
from twinframe.control.records.scopes import Scope
from twinframe.control.tenants.access import require_permission
from twinframe.control.tenants.audit import AuditTrail, find_time
from twinframe.control.tenants.catalogue import BUILT_IN_ROLES, parse_role_permissions
from twinframe.control.tenants.delegation import check_held, check_revocable, list_beyond
from twinframe.errors import ControlConflict, InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.storage.control import (
    ControlSession,
    ControlTransaction,
    RecordConflict,
    equal,
)


class Roles:
    """Custom roles of organizations. The built-in ones are `catalogue.BUILT_IN_ROLES`.

    NOTE: a role gives its permissions to all who hold it, so an actor may only put permissions into
    it that it holds itself, without expiry, at the organization.
    """

    def __init__(self, context: ControlContext) -> None:
        self._context = context

    async def create(
        self,
        actor: Actor,
        organization_id: str,
        name: str,
        permissions: Iterable[str],
        *,
        role: str | None = None,
        request: RequestKey | None = None,
    ) -> CustomRole:
        """Define a role; `role` is its id within the organization. Needs `roles/write` there.

        Raises `ControlConflict` when id or name are taken; `GrantExceedsOwn`; `InvalidArgument` for
        what is no permission.
        """
        wanted = build_id("role") if role is None else role
        grants, title = parse_role_permissions(permissions), parse_name("a role", name)
        scope = Scope("organization", organization_id)

        def apply(transaction: ControlTransaction) -> CustomRole:
            now = self._context.clock()
            admission = require_permission(transaction, actor, scope, "roles/write", now)

            def create() -> CustomRole:
                check_held(admission.holdings, grants, until=None)
                _check_free(transaction, organization_id, parse_id("a role", wanted))
                told = find_time(transaction, now)
                found = CustomRole(wanted, organization_id, title, grants, told, told)
                _put(lambda: ROLES.insert(transaction, found), title)
                trail = AuditTrail(transaction, actor, now)
                trail.add("roles/create", f"role:{found.id}", admission.path, after=found)
                return found

            return self._context.idempotency.run_once(
                transaction, actor, request, now, ROLES, create
            )

        return await self._context.runner.write(apply)

    async def list(
        self, actor: Actor, organization_id: str, wanted: Slice = FIRST
    ) -> Listed[CustomRole]:
        """List the custom roles of an organization by their ids. Needs `roles/read` there."""
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[CustomRole]:
            scope = Scope("organization", organization_id)
            require_permission(session, actor, scope, "roles/read", now)
            return ROLES.list_page(session, wanted, equal("organization", organization_id))

        return await self._context.runner.read(read)

    async def read(self, actor: Actor, organization_id: str, role: str) -> CustomRole:
        """One custom role. Needs `roles/read` at the organization."""
        now = self._context.clock()

        def read(session: ControlSession) -> CustomRole:
            scope = Scope("organization", organization_id)
            require_permission(session, actor, scope, "roles/read", now)
            return ROLES.require(session, build_role_key(organization_id, role), role)

        return await self._context.runner.read(read)

    async def update(
        self,
        actor: Actor,
        organization_id: str,
        role: str,
        *,
        name: str | None = None,
        permissions: Iterable[str] | None = None,
    ) -> CustomRole:
        """Change name or permissions, for all who hold the role at once. Needs `roles/write`.

        Raises `GrantExceedsOwn` for added permissions that the actor does not hold. Changing what
        the role gives to others needs the right to grant and revoke it there.
        """
        title = None if name is None else parse_name("a role", name)
        grants = None if permissions is None else parse_role_permissions(permissions)
        scope = Scope("organization", organization_id)

        def apply(transaction: ControlTransaction) -> CustomRole:
            now = self._context.clock()
            admission = require_permission(transaction, actor, scope, "roles/write", now)
            before = ROLES.require(transaction, build_role_key(organization_id, role), role)
            after = replace(
                before,
                name=before.name if title is None else title,
                permissions=before.permissions if grants is None else grants,
                updated_at=find_time(transaction, now),
            )
            gained = list_beyond(after.permissions, before.permissions)
            lost = list_beyond(before.permissions, after.permissions)
            check_held(admission.holdings, gained, until=None)
            if gained or lost:
                holders = _find_holders(transaction, before)
                check_revocable(transaction, actor, holders, now, lost)
            _put(lambda: ROLES.replace(transaction, after), after.name)
            AuditTrail(transaction, actor, now).add(
                "roles/update", f"role:{before.id}", admission.path, before=before, after=after
            )
            return after

        return await self._context.runner.write(apply)

    async def delete(
        self, actor: Actor, organization_id: str, role: str, *, cascade: bool = False
    ) -> None:
        """Delete a role.

        Raises `ControlConflict` while it is assigned, unless `cascade`: then all its assignments
        are revoked, which needs the right to revoke each. Needs `roles/write`.
        """
        scope = Scope("organization", organization_id)

        def apply(transaction: ControlTransaction) -> None:
            now = self._context.clock()
            path = require_permission(transaction, actor, scope, "roles/write", now).path
            before = ROLES.require(transaction, build_role_key(organization_id, role), role)
            held = _find_holders(transaction, before)
            if held and not cascade:
                raise ControlConflict(
                    f"The role {role!r} is assigned {len(held)} times. Revoke it first, or delete "
                    "it together with its assignments (cascade)."
                )
            check_revocable(transaction, actor, held, now)
            trail = AuditTrail(transaction, actor, now)
            for assignment in held:
                ASSIGNMENTS.delete(transaction, assignment.id)
                target = assignment.scope.key
                trail.add("role-assignments/delete", target, path, before=assignment)
            ROLES.delete(transaction, before.id)
            trail.add("roles/delete", f"role:{before.id}", path, before=before)

        await self._context.runner.write(apply)


def find_role_key(session: ControlSession, organization_id: str, role: str) -> str:
    """Return the key by which assignments name this role: a built-in one, or the organization's.

    Raises `InvalidArgument` with the nearest name if there is none.
    """
    if role in BUILT_IN_ROLES:
        return role
    # SEC: only this organization's roles are searched, so that others cannot be found by trying.
    key = build_role_key(organization_id, role)
    if organization_id and session.read(ROLES.kind, key) is not None:
        return key
    hint = render_hint(role, BUILT_IN_ROLES, "Built in are")
    raise InvalidArgument(f"There is no role {role[:100]!r} here. {hint}")


def delete_roles(transaction: ControlTransaction, organization_id: str) -> None:
    """Delete all custom roles of an organization that is removed."""
    for role in ROLES.find(transaction, equal("organization", organization_id)):
        ROLES.delete(transaction, role.id)


def _find_holders(session: ControlSession, role: CustomRole) -> tuple[Assignment, ...]:
    organization = equal("organization", role.organization_id)
    return ASSIGNMENTS.find(session, organization, equal("role", role.id))


def _check_free(session: ControlSession, organization_id: str, role: str) -> None:
    key = build_role_key(organization_id, role)
    if role in BUILT_IN_ROLES or session.read(ROLES.kind, key) is not None:
        raise ControlConflict(f"The role id {role!r} is taken.")


def _put(write: Callable[[], None], name: str) -> None:
    try:
        write()
    except RecordConflict as error:
        raise ControlConflict(f"Another role of the organization is named {name!r}.") from error
