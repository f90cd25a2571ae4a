"""Role assignments: which principal holds which role at which scope, granted, listed, changed and
revoked.

`catalogue` and `roles` define the permissions of a role; `access` evaluates the assignments.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import replace

from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import ASSIGNMENTS, USERS, Assignment, build_holder
from twinframe.control.records.idempotency import RequestKey
from twinframe.control.records.listing import FIRST, Listed, Slice
from twinframe.control.records.names import build_id
from twinframe.control.records.scopes import PLATFORM, Scope, ScopePath, find_path, is_terminated
from twinframe.control.tenants.access import (
    Admission,
    find_holdings,
    find_role_permissions,
    require_permission,
)
from twinframe.control.tenants.audit import AuditTrail, find_time
from twinframe.control.tenants.catalogue import OWNER
from twinframe.control.tenants.delegation import check_held, check_revocable
from twinframe.control.tenants.roles import find_role_key
from twinframe.errors import (
    ControlConflict,
    ControlNotFound,
    InvalidArgument,
    LastOwner,
    PermissionMissing,
)
from twinframe.storage.control import (
    Condition,
    ControlSession,
    ControlTransaction,
    equal,
    one_of,
)


class Reach(enum.Enum):
    """Which assignments a listing shows: of the scope itself, also from above, also from below."""

    HERE = "here"
    INHERITED = "inherited"
    BELOW = "below"


class Assignments:
    """Grants and revokes roles. All moments are nanoseconds since the epoch."""

    def __init__(self, context: ControlContext) -> None:
        self._context = context

    async def grant(
        self,
        actor: Actor,
        scope: Scope,
        principal: Principal,
        role: str,
        *,
        expires_at: int | None = None,
        request: RequestKey | None = None,
    ) -> Assignment:
        """Give a role, built-in or of the scope's organization, to a principal at a scope.

        Needs `access/write` there, and all that the role gives for as long: `GrantExceedsOwn`. An
        email need not be known yet: the first caller to show it gets the role. Raises
        `ControlConflict` when the principal holds the role there already, unless it has expired,
        and at a deleted resource.
        """
        assignment_id = build_id("asg")

        def apply(transaction: ControlTransaction) -> Assignment:
            now = self._context.clock()
            admission = require_permission(transaction, actor, scope, "access/write", now)

            def create() -> Assignment:
                path = admission.path
                if is_terminated(transaction, scope):
                    # SEC: a grant would outlive the tombstone, and apply to the id's next owner.
                    raise ControlConflict(f"The resource {scope.id!r} was deleted.")
                key = find_role_key(transaction, path.organization_id, role)
                _check_expiry(expires_at, now)
                granted = find_role_permissions(transaction, key)
                check_held(admission.holdings, granted, expires_at)
                _clear_holder(transaction, scope, principal, key, now)
                told = find_time(transaction, now)
                assignment = build_assignment(
                    assignment_id, path, principal, key, actor, told, expires_at
                )
                ASSIGNMENTS.insert(transaction, assignment)
                trail = AuditTrail(transaction, actor, now)
                trail.add("role-assignments/create", scope.key, path, after=assignment)
                return assignment

            return self._context.idempotency.run_once(
                transaction, actor, request, now, ASSIGNMENTS, create
            )

        return await self._context.runner.write(apply)

    async def list(
        self, actor: Actor, scope: Scope, wanted: Slice = FIRST, *, reach: Reach = Reach.HERE
    ) -> Listed[Assignment]:
        """List assignments of a scope by their ids, including expired ones. Needs `access/read`
        there.

        Of those from above only what the actor could list there itself.
        """
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[Assignment]:
            admission = require_permission(session, actor, scope, "access/read", now)
            conditions = _build_conditions(scope, admission, reach)
            return ASSIGNMENTS.list_page(session, wanted, *conditions)

        return await self._context.runner.read(read)

    async def list_own(self, actor: Actor, wanted: Slice = FIRST) -> Listed[Assignment]:
        """List what the actor itself was granted, by id, including expired assignments."""
        mine = one_of("principal", *(principal.key for principal in actor.principals))
        return await self._context.runner.read(
            lambda session: ASSIGNMENTS.list_page(session, wanted, mine)
        )

    async def read(self, actor: Actor, assignment_id: str) -> Assignment:
        """One assignment. Needs `access/read` at its scope, unless it is the actor's own."""
        now = self._context.clock()

        def read(session: ControlSession) -> Assignment:
            return _find(session, actor, assignment_id, now)[0]

        return await self._context.runner.read(read)

    async def change(self, actor: Actor, assignment_id: str, expires_at: int | None) -> Assignment:
        """Change an assignment's expiry, None for none.

        It needs what granting it until then needs, and what revoking it needs, as it may end
        sooner. Raises `LastOwner` when it would end the only ownership without expiry.
        """

        def apply(transaction: ControlTransaction) -> Assignment:
            now = self._context.clock()
            before, admission = _find(transaction, actor, assignment_id, now)
            if not admission.holdings.allow("access/write"):
                raise PermissionMissing("access/write")
            _check_expiry(expires_at, now)
            granted = find_role_permissions(transaction, before.role)
            check_held(admission.holdings, granted, expires_at)
            check_revocable(transaction, actor, [before], now)
            after = replace(before, expires_at=expires_at)
            ASSIGNMENTS.replace(transaction, after)
            if expires_at is not None:
                _check_owner_stays(transaction, before)
            AuditTrail(transaction, actor, now).add(
                "role-assignments/update",
                before.scope.key,
                admission.path,
                before=before,
                after=after,
            )
            return after

        return await self._context.runner.write(apply)

    async def revoke(self, actor: Actor, assignment_id: str) -> None:
        """Revoke a role, which needs the same role's permissions for as long; or give up one's own.

        Raises `LastOwner` when nobody else would own the organization (or the platform) for good.
        """

        def apply(transaction: ControlTransaction) -> None:
            now = self._context.clock()
            before, admission = _find(transaction, actor, assignment_id, now)
            if before.grantee not in actor.principals:
                if not admission.holdings.allow("access/write"):
                    raise PermissionMissing("access/write")
                check_revocable(transaction, actor, [before], now)
            ASSIGNMENTS.delete(transaction, before.id)
            _check_owner_stays(transaction, before)
            trail = AuditTrail(transaction, actor, now)
            trail.add("role-assignments/delete", before.scope.key, admission.path, before=before)

        await self._context.runner.write(apply)


def build_assignment(
    assignment_id: str,
    path: ScopePath,
    principal: Principal,
    role: str,
    actor: Actor,
    now: int,
    expires_at: int | None = None,
) -> Assignment:
    """Build an assignment at the scope that `path` leads to."""
    scope = path.scopes[0]
    return Assignment(
        id=assignment_id,
        scope_type=scope.type,
        scope_id=scope.id,
        organization_id=path.organization_id,
        project_id=path.project_id,
        principal_kind=principal.kind,
        principal=principal.name,
        role=role,
        expires_at=expires_at,
        created_at=now,
        created_by=actor.subject,
    )


def withdraw_assignments(
    transaction: ControlTransaction, trail: AuditTrail, path: ScopePath
) -> None:
    """Delete all assignments at a scope that is removed, and below it.

    SEC: call it in the transaction that frees an id, or its next owner's object would be open to
    the principals of the former one.
    """
    for before in find_assignments(transaction, path.scopes[0]):
        ASSIGNMENTS.delete(transaction, before.id)
        trail.add("role-assignments/delete", before.scope.key, path, before=before)


def find_assignments(session: ControlSession, scope: Scope) -> tuple[Assignment, ...]:
    """All assignments at a scope below the platform, and below it."""
    key = "scope" if scope.type == "resource" else scope.type
    value = scope.key if scope.type == "resource" else scope.id
    return ASSIGNMENTS.find(session, equal(key, value))


def find_holder(
    session: ControlSession, scope: Scope, principal: Principal, role: str
) -> Assignment | None:
    """Return the assignment of this role to this principal at this scope, expired or not."""
    holder = equal("holder", build_holder(scope, principal))
    return ASSIGNMENTS.find_first(session, holder, equal("role", role))


def _find(
    session: ControlSession, actor: Actor, assignment_id: str, now: int
) -> tuple[Assignment, Admission]:
    """Return an assignment that the actor may read, else raise `ControlNotFound` as if it were
    missing.
    """
    found = ASSIGNMENTS.read(session, assignment_id)
    path = None if found is None else find_path(session, found.scope)
    if found is None or path is None:
        raise ControlNotFound("role assignment", assignment_id)
    holdings = find_holdings(session, path, actor.principals, now)
    if found.grantee not in actor.principals and not holdings.allow("access/read"):
        raise ControlNotFound("role assignment", assignment_id)
    return found, Admission(path, holdings)


def _build_conditions(scope: Scope, admission: Admission, reach: Reach) -> Sequence[Condition]:
    if reach is Reach.BELOW and scope.type in ("organization", "project"):
        return [equal(scope.type, scope.id)]
    if reach is Reach.BELOW and scope == PLATFORM:
        return []
    if reach is not Reach.INHERITED:
        return [equal("scope", scope.key)]
    return [one_of("scope", *(each.key for each in admission.list_allowed("access/read")))]


def _check_expiry(expires_at: int | None, now: int) -> None:
    if expires_at is not None and expires_at <= now:
        raise InvalidArgument("The time when a role expires must be in the future.")


def _clear_holder(
    transaction: ControlTransaction, scope: Scope, principal: Principal, role: str, now: int
) -> None:
    """Make room for a grant: delete the same one if expired, raise if it is not."""
    held = find_holder(transaction, scope, principal, role)
    if held is None:
        return
    if held.holds(now):
        raise ControlConflict(
            f"{principal.name!r} holds the role {role.rpartition('/')[2]!r} there already."
        )
    ASSIGNMENTS.delete(transaction, held.id)


def _check_owner_stays(session: ControlSession, before: Assignment) -> None:
    """Check that an owner stays after a change or deletion; `before` is the old assignment.

    Raises `LastOwner` when it was an ownership without expiry, of an organization or the platform,
    and none of the same is left: one without expiry, of a user who has called (an invitation may
    never be accepted, a subject may be mistyped).
    """
    if not _is_lasting(before) or before.scope_type not in ("organization", "platform"):
        return
    left = ASSIGNMENTS.find(
        session, equal("scope", before.scope.key), equal("role", OWNER), equal("expires", None)
    )
    if not any(_is_lasting(each) and session.read(USERS.kind, each.principal) for each in left):
        raise LastOwner(
            f"This is the last Owner of the {before.scope_type} whose role does not expire. Make "
            "somebody else an Owner first, who has signed in already."
        )


def _is_lasting(assignment: Assignment) -> bool:
    return (
        assignment.role == OWNER
        and assignment.expires_at is None
        and assignment.principal_kind == "subject"
    )
