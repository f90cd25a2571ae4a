"""Decides what a caller may do at a scope, by its unexpired roles there and at the scopes above.

SEC: an object that a caller may not read does not exist for this caller: the error, its text
included, is the same.

PERF: a check is one read by id and one look-up of at most eight keys, however many users, scopes
and roles there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from twinframe.access.permission_grammar import Grant
from twinframe.control.records.actors import Actor, Principal, build_principals
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import (
    ASSIGNMENTS,
    ROLES,
    USERS,
    build_holder,
    build_reach_key,
)
from twinframe.control.records.scopes import (
    PLATFORM,
    PLATFORM_PATH,
    Scope,
    ScopePath,
    ScopeType,
    find_path,
)
from twinframe.control.tenants.catalogue import (
    BUILT_IN_ROLES,
    build_grants,
    build_permission,
    is_within,
)
from twinframe.errors import ControlNotFound, PermissionMissing
from twinframe.storage.control import ControlSession, Record, one_of

_READ: Final[Mapping[ScopeType, str]] = {
    "organization": "organizations/read",
    "project": "projects/read",
    "resource": "resources/read",
    "service": "access/read",
}
"""The permission to see that a scope exists."""
_EMAIL_COUNTS: Final = 7 * 86_400 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Holding:
    """One role that a caller holds: `scope` is a scope's key, `permissions` are the role's current
    ones.
    """

    scope: str
    role: str
    permissions: tuple[str, ...]
    expires_at: int | None

    @property
    def grants(self) -> tuple[Grant, ...]:
        """The permissions, parsed."""
        return build_grants(self.permissions)

    def lasts(self, until: int | None) -> bool:
        """Return whether it is held until then; None is for ever."""
        return self.expires_at is None or (until is not None and until <= self.expires_at)


@dataclass(frozen=True, slots=True)
class Holdings:
    """All roles that a caller holds at a scope, inherited ones included."""

    roles: tuple[Holding, ...]

    def allow(self, permission: str) -> bool:
        """Whether one of them gives the permission."""
        needed = build_permission(permission)
        return any(grant.covers(needed) for role in self.roles for grant in role.grants)

    def list_permissions(self) -> tuple[str, ...]:
        """Return the union of their permissions, as grants in the order of their names."""
        return tuple(sorted({text for role in self.roles for text in role.permissions}))

    def list_missing(self, permissions: Iterable[str], until: int | None) -> tuple[str, ...]:
        """Return those of these grants that are not held until then (None: for ever)."""
        held = [grant for role in self.roles if role.lasts(until) for grant in role.grants]
        wanted = build_grants(tuple(permissions))
        return tuple(
            str(each) for each in wanted if not any(is_within(each, grant) for grant in held)
        )

    def at(self, scopes: Iterable[Scope]) -> Holdings:
        """Return those held at one of these scopes."""
        keys = {scope.key for scope in scopes}
        return Holdings(tuple(role for role in self.roles if role.scope in keys))


@dataclass(frozen=True, slots=True)
class Admission:
    """A granted check: `path` leads to the scope, `holdings` are all that the caller holds
    there.
    """

    path: ScopePath
    holdings: Holdings

    def list_allowed(self, permission: str) -> tuple[Scope, ...]:
        """The scopes of the path, this one first, at which the caller has the permission."""
        scopes = self.path.scopes
        return tuple(
            each
            for position, each in enumerate(scopes)
            if self.holdings.at(scopes[position:]).allow(permission)
        )


def find_holdings(
    session: ControlSession, path: ScopePath, principals: Sequence[Principal], now: int
) -> Holdings:
    """Return what these principals, all of one person, hold at a scope at this moment."""
    holders = tuple(build_holder(scope, each) for scope in path.scopes for each in principals)
    found = session.find(ASSIGNMENTS.kind, [one_of("holder", *holders)])
    return Holdings(
        tuple(
            Holding(
                str(record.keys["scope"]),
                str(record.keys["role"]),
                find_role_permissions(session, str(record.keys["role"])),
                _read_expiry(record),
            )
            for record in found
            if is_lasting(record, now)
        )
    )


def require_permission(
    session: ControlSession, actor: Actor, scope: Scope, permission: str, now: int
) -> Admission:
    """Check that the actor has `permission` at `scope`.

    Raises `ControlNotFound` when there is no such scope or the actor may not read it;
    `PermissionMissing` when the actor may read it, but not do this. Call it in the transaction of
    the change itself.
    """
    path = find_path(session, scope)
    if path is not None:
        holdings = find_holdings(session, path, actor.principals, now)
        if holdings.allow(permission):
            return Admission(path, holdings)
        if scope == PLATFORM or holdings.allow(_READ[scope.type]):
            raise PermissionMissing(permission)
    raise ControlNotFound(scope.type, scope.id)


def reads_everything(session: ControlSession, actor: Actor, permission: str, now: int) -> bool:
    """Return whether the actor holds the permission at the platform."""
    return find_holdings(session, PLATFORM_PATH, actor.principals, now).allow(permission)


def list_own_scopes(
    session: ControlSession,
    actor: Actor,
    scope_type: ScopeType,
    permission: str,
    now: int,
    *,
    project_id: str = "",
) -> list[Record]:
    """List the assignments of the actor at scopes of this type whose roles give the permission.

    Those at resources are of one project, or of all if none is given. They are records, with keys.
    """
    if scope_type == "resource" and not project_id:
        mine = tuple(each.key for each in actor.principals)
        held = session.find(ASSIGNMENTS.kind, [one_of("principal", *mine)])
        found = [record for record in held if str(record.keys["scope"]).startswith("resource:")]
    else:
        places = tuple(build_reach_key(scope_type, project_id, each) for each in actor.principals)
        found = list(session.find(ASSIGNMENTS.kind, [one_of("place", *places)]))
    needed = build_permission(permission)
    roles = {str(record.keys["role"]) for record in found}
    giving = {
        role
        for role in roles
        if any(grant.covers(needed) for grant in build_grants(find_role_permissions(session, role)))
    }
    return [record for record in found if record.keys["role"] in giving and is_lasting(record, now)]


def find_readable_resources(
    session: ControlSession, actor: Actor, project_id: str, now: int
) -> frozenset[str] | None:
    """Return the resources of a project that the actor may read: None is all, an empty set none.

    It is empty too for a project that does not exist.
    """
    path = find_path(session, Scope("project", project_id))
    if path is None:
        return frozenset()
    if find_holdings(session, path, actor.principals, now).allow("resources/read"):
        return None
    own = list_own_scopes(session, actor, "resource", "resources/read", now, project_id=project_id)
    return frozenset(str(record.keys["scope"]).partition(":")[2] for record in own)


@dataclass(frozen=True, slots=True)
class ReadableScopes:
    """Where a caller may read resources: at all organizations, or at these scopes.

    None of them is inside another one.
    """

    everywhere: bool
    organizations: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


def find_readable_scopes(session: ControlSession, actor: Actor, now: int) -> ReadableScopes:
    """Return where the actor may read resources, in all organizations."""
    permission = "resources/read"
    if reads_everything(session, actor, permission, now):
        return ReadableScopes(everywhere=True)

    def list_keys(scope_type: ScopeType) -> Iterable[Mapping[str, object]]:
        records = list_own_scopes(session, actor, scope_type, permission, now)
        return [record.keys for record in records]

    organizations = {str(keys["organization"]) for keys in list_keys("organization")}
    projects = {
        str(keys["project"])
        for keys in list_keys("project")
        if keys["organization"] not in organizations
    }
    resources = {
        str(keys["scope"]).partition(":")[2]
        for keys in list_keys("resource")
        if keys["organization"] not in organizations and keys["project"] not in projects
    }
    return ReadableScopes(
        False, tuple(sorted(organizations)), tuple(sorted(projects)), tuple(sorted(resources))
    )


def find_role_permissions(session: ControlSession, role: str) -> tuple[str, ...]:
    """Return the grants of a role by its name in an assignment; none for a deleted role."""
    built_in = BUILT_IN_ROLES.get(role)
    if built_in is not None:
        return built_in.permissions
    custom = ROLES.read(session, role)
    return () if custom is None else custom.permissions


def is_lasting(record: Record, now: int) -> bool:
    """Whether an assignment, as a record, has not expired."""
    expires = _read_expiry(record)
    return expires is None or expires > now


def _read_expiry(record: Record) -> int | None:
    expires = record.keys["expires"]
    return expires if isinstance(expires, int) else None


class Access:
    """Answers what a user may do at a scope; graph servers use this check."""

    def __init__(self, context: ControlContext) -> None:
        self._context = context

    async def permissions(
        self, actor: Actor, scope: Scope, user_id: str | None = None
    ) -> tuple[str, ...]:
        """Return the union of the permissions held at the scope, as grants in the order of their
        names.

        Without `user_id` they are the actor's own; for a scope that does not exist those held at
        the platform, as for one without grants. Asking about another user requires `access/check`
        at the scope, else `ControlNotFound` or `PermissionMissing`; roles held above the scopes
        that the actor may check are not included. An unknown subject has none.
        """
        now = self._context.clock()

        def read(session: ControlSession) -> tuple[str, ...]:
            if user_id is None or user_id == actor.subject:
                # SEC: a missing scope gets the same answer as another tenant's: that of the
                # platform.
                path = find_path(session, scope) or PLATFORM_PATH
                principals = actor.principals
            else:
                path = _find_checked(session, actor, scope, now)
                principals = find_principals(session, user_id, now)
            return find_holdings(session, path, principals, now).list_permissions()

        return await self._context.runner.read(read)


def _find_checked(session: ControlSession, actor: Actor, scope: Scope, now: int) -> ScopePath:
    """Return the scope and those above it at which the actor may see the roles of others.

    SEC: a checker for one organization does not learn who has a role at the platform.
    """
    admission = require_permission(session, actor, scope, "access/check", now)
    return ScopePath(admission.list_allowed("access/check"))


def find_principals(session: ControlSession, subject: str, now: int) -> tuple[Principal, ...]:
    """Return all principals by which this subject may have been granted something.

    NOTE: the email that it showed the control plane counts, so that an invitation of a known user
    counts at once. SEC: for a week: an address may have been given to another person since.
    """
    user = USERS.read(session, subject)
    is_theirs = user is not None and now - user.email_shown < _EMAIL_COUNTS
    return build_principals(subject, user.email if user is not None and is_theirs else "")
