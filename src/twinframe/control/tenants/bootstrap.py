"""Creates the first owner of a control plane, from the command line on its machine."""

from __future__ import annotations

from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import ASSIGNMENTS, ORGANIZATIONS, Assignment, Organization
from twinframe.control.records.names import build_id, parse_id, parse_name
from twinframe.control.records.scopes import PLATFORM, PLATFORM_PATH, Scope, ScopePath
from twinframe.control.tenants.assignments import build_assignment, find_holder
from twinframe.control.tenants.audit import AuditTrail, find_time
from twinframe.control.tenants.catalogue import OWNER
from twinframe.control.tenants.organizations import check_never_used
from twinframe.storage.control import ControlTransaction

_OPERATOR = Actor("operator", kind="operator")


async def bootstrap(context: ControlContext, owner: Principal) -> Assignment:
    """Make `owner` an Owner of the platform, without expiry, and so of all organizations.

    It may be called again, for the same owner or another, and checks no permission, because the
    caller can write the store's file anyway. An email belongs to the first user who signs in with
    it.
    """
    assignment_id = build_id("asg")

    def apply(transaction: ControlTransaction) -> Assignment:
        now = context.clock()
        path = PLATFORM_PATH
        before = find_holder(transaction, PLATFORM, owner, OWNER)
        if before is not None and before.expires_at is None:
            return before
        told = find_time(transaction, now)
        after = build_assignment(assignment_id, path, owner, OWNER, _OPERATOR, told)
        if before is not None:
            ASSIGNMENTS.delete(transaction, before.id)
        ASSIGNMENTS.insert(transaction, after)
        AuditTrail(transaction, _OPERATOR, now).add(
            "role-assignments/create", PLATFORM.key, path, before=before, after=after
        )
        return after

    return await context.runner.write(apply)


async def found_organization(
    context: ControlContext, owner: Principal, organization_id: str, name: str
) -> Organization:
    """Create an organization with this Owner; an existing one of this id is not changed.

    Raises `ControlConflict` for an id that was deleted once.
    """
    wanted = parse_id("an organization", organization_id)
    title = parse_name("an organization", name)
    assignment_id = build_id("asg")

    def apply(transaction: ControlTransaction) -> Organization:
        now = context.clock()
        present = ORGANIZATIONS.read(transaction, wanted)
        if present is not None:
            return present
        path = ScopePath((Scope("organization", wanted), PLATFORM))
        check_never_used(transaction, path.scopes[0])
        told = find_time(transaction, now)
        found = Organization(wanted, title, told, told)
        ORGANIZATIONS.insert(transaction, found)
        held = build_assignment(assignment_id, path, owner, OWNER, _OPERATOR, told)
        ASSIGNMENTS.insert(transaction, held)
        trail = AuditTrail(transaction, _OPERATOR, now)
        target = path.scopes[0].key
        trail.add("organizations/create", target, path, after=found)
        trail.add("role-assignments/create", target, path, after=held)
        return found

    return await context.runner.write(apply)
