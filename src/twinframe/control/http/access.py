"""The responders of role assignments, permission checks by graph servers, and the audit log."""

from __future__ import annotations

from typing import Any

from falcon.asgi import Request, Response

from twinframe.control.http import views
from twinframe.control.http.api_context import ControlApiContext, read_actor
from twinframe.control.http.requests import (
    parse_form,
    parse_key,
    parse_position,
    parse_slice,
    read_body,
    read_choice,
    read_required,
)
from twinframe.control.http.schemas import AssignmentChangeForm, AssignmentForm
from twinframe.control.records.actors import parse_principal
from twinframe.control.records.names import parse_moment
from twinframe.control.records.scopes import PLATFORM, Scope, parse_scope
from twinframe.control.tenants.assignments import Reach
from twinframe.errors import InvalidArgument
from twinframe.http.messages import write_no_content

_REACHES = {each.value: each for each in Reach}


async def list_assignments(
    api: ControlApiContext, request: Request, response: Response, **names: str
) -> None:
    """GET: the role assignments at the scope in the path."""
    scope = await _find_scope(api, names)
    reach = _REACHES[read_choice(request, "reach", _REACHES, Reach.HERE.value)]
    part = parse_slice(request, api.settings)
    listed = await api.plane.assignments.list(read_actor(request), scope, part, reach=reach)
    views.write_listed(response, "role_assignments", listed, views.build_assignment)


async def create_assignment(
    api: ControlApiContext, request: Request, response: Response, **names: str
) -> None:
    """POST: assign a role at the scope in the path."""
    body = await read_body(request)
    form = parse_form(body, AssignmentForm, api.json_limits)
    principal = parse_principal(subject=form.user_id, email=form.email)
    expires = None if form.expires_at is None else parse_moment(form.expires_at)
    found = await api.plane.assignments.grant(
        read_actor(request),
        await _find_scope(api, names),
        principal,
        form.role_id,
        expires_at=expires,
        request=parse_key(request, body),
    )
    location = f"/api/v1/role-assignments/{found.id}"
    views.write_created(response, views.build_assignment(found), location)


async def list_own_assignments(
    api: ControlApiContext, request: Request, response: Response
) -> None:
    """GET: the caller's own assignments."""
    part = parse_slice(request, api.settings)
    listed = await api.plane.assignments.list_own(read_actor(request), part)
    views.write_listed(response, "role_assignments", listed, views.build_assignment)


async def read_assignment(
    api: ControlApiContext, request: Request, response: Response, assignment_id: str
) -> None:
    """GET one."""
    found = await api.plane.assignments.read(read_actor(request), assignment_id)
    views.write_json(response, views.build_assignment(found))


async def update_assignment(
    api: ControlApiContext, request: Request, response: Response, assignment_id: str
) -> None:
    """PUT: change the expiry."""
    form = parse_form(await read_body(request), AssignmentChangeForm, api.json_limits)
    expires = None if form.expires_at is None else parse_moment(form.expires_at)
    assignments = api.plane.assignments
    found = await assignments.change(read_actor(request), assignment_id, expires)
    views.write_json(response, views.build_assignment(found))


async def delete_assignment(
    api: ControlApiContext, request: Request, response: Response, assignment_id: str
) -> None:
    """DELETE: revoke it."""
    await api.plane.assignments.revoke(read_actor(request), assignment_id)
    write_no_content(response)


async def check_permissions(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: the permissions of the caller, or of `userId`, at a scope.

    SEC: a service asks about its own graph by the parameters for resources, and by `graph`:
    otherwise anybody who creates a resource of that name would own it.
    """
    scope = parse_scope(read_required(request, "scopeType"), read_required(request, "scopeId"))
    if request.get_param("graph") is not None:
        read_choice(request, "graph", ("service",), "")
        if scope.type not in ("resource", "service"):
            raise InvalidArgument("graph=service goes with scopeType=resource or service.")
        scope = Scope("service", scope.id)
    user = request.get_param("userId")
    permissions = await api.plane.access.permissions(read_actor(request), scope, user)
    view: dict[str, Any] = {"permissions": list(permissions)}
    views.write_json(response, view)


async def list_audit(
    api: ControlApiContext, request: Request, response: Response, **names: str
) -> None:
    """GET: the changes at the scope in the path, and below it."""
    scope = await _find_scope(api, names)
    part = parse_slice(request, api.settings)
    before = parse_position(request, "before")
    listed = await api.plane.audit.list(read_actor(request), scope, part, before=before)
    views.write_listed(response, "entries", listed, views.build_audit_line)


async def _find_scope(api: ControlApiContext, names: dict[str, str]) -> Scope:
    """Return the scope in a path; the platform if there is none."""
    if "resource_id" in names:
        return await api.plane.resources.find_scope(names["project_id"], names["resource_id"])
    for type_ in ("project", "organization", "service"):
        if f"{type_}_id" in names:
            return parse_scope(type_, names[f"{type_}_id"])
    return PLATFORM
