"""The responders of role assignments, permission checks by graph servers, and the audit log."""

from __future__ import annotations

from typing import Any

from twinframe.control.http import views
from twinframe.control.http.requests import Call
from twinframe.control.http.schemas import AssignmentChangeForm, AssignmentForm
from twinframe.control.records.actors import parse_principal
from twinframe.control.records.names import parse_moment
from twinframe.control.records.scopes import PLATFORM, Scope, parse_scope
from twinframe.control.tenants.assignments import Reach
from twinframe.errors import InvalidArgument

_REACHES = {each.value: each for each in Reach}


async def list_assignments(call: Call, **names: str) -> None:
    """GET: the role assignments at the scope in the path."""
    scope = await _find_scope(call, names)
    reach = _REACHES[call.read_choice("reach", _REACHES, Reach.HERE.value)]
    listed = await call.plane.assignments.list(call.actor, scope, call.part, reach=reach)
    call.write_page("role_assignments", listed, views.build_assignment)


async def create_assignment(call: Call, **names: str) -> None:
    """POST: assign a role at the scope in the path."""
    form = await call.read_form(AssignmentForm)
    principal = parse_principal(subject=form.user_id, email=form.email)
    expires = None if form.expires_at is None else parse_moment(form.expires_at)
    found = await call.plane.assignments.grant(
        call.actor,
        await _find_scope(call, names),
        principal,
        form.role_id,
        expires_at=expires,
        request=call.key,
    )
    location = f"/api/v1/role-assignments/{found.id}"
    call.write_created(views.build_assignment(found), location)


async def list_own_assignments(call: Call) -> None:
    """GET: the caller's own assignments."""
    listed = await call.plane.assignments.list_own(call.actor, call.part)
    call.write_page("role_assignments", listed, views.build_assignment)


async def read_assignment(call: Call, assignment_id: str) -> None:
    """GET one."""
    found = await call.plane.assignments.read(call.actor, assignment_id)
    call.write(views.build_assignment(found))


async def update_assignment(call: Call, assignment_id: str) -> None:
    """PUT: change the expiry."""
    form = await call.read_form(AssignmentChangeForm)
    expires = None if form.expires_at is None else parse_moment(form.expires_at)
    assignments = call.plane.assignments
    found = await assignments.change(call.actor, assignment_id, expires)
    call.write(views.build_assignment(found))


async def delete_assignment(call: Call, assignment_id: str) -> None:
    """DELETE: revoke it."""
    await call.plane.assignments.revoke(call.actor, assignment_id)
    call.write_nothing()


async def check_permissions(call: Call) -> None:
    """GET: the permissions of the caller, or of `userId`, at a scope.

    SEC: a service asks about its own graph by the parameters for resources, and by `graph`:
    otherwise anybody who creates a resource of that name would own it.
    """
    scope = parse_scope(call.read_required("scopeType"), call.read_required("scopeId"))
    if call.read_text("graph") is not None:
        call.read_choice("graph", ("service",), "")
        if scope.type not in ("resource", "service"):
            raise InvalidArgument("graph=service goes with scopeType=resource or service.")
        scope = Scope("service", scope.id)
    user = call.read_text("userId")
    permissions = await call.plane.access.permissions(call.actor, scope, user)
    view: dict[str, Any] = {"permissions": list(permissions)}
    call.write(view)


async def list_audit(call: Call, **names: str) -> None:
    """GET: the changes at the scope in the path, and below it."""
    scope = await _find_scope(call, names)
    before = call.read_position("before")
    listed = await call.plane.audit.list(call.actor, scope, call.part, before=before)
    call.write_page("entries", listed, views.build_audit_line)


async def _find_scope(call: Call, names: dict[str, str]) -> Scope:
    """Return the scope in a path; the platform if there is none."""
    if "resource_id" in names:
        return await call.plane.resources.find_scope(names["project_id"], names["resource_id"])
    for type_ in ("project", "organization", "service"):
        if f"{type_}_id" in names:
            return parse_scope(type_, names[f"{type_}_id"])
    return PLATFORM
