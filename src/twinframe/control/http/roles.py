"""Responders for roles: the built-in ones and the custom ones of organizations."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.control.http import views
from twinframe.control.http.api_context import ControlApiContext, read_actor
from twinframe.control.http.requests import parse_form, parse_key, parse_slice, read_body
from twinframe.control.http.schemas import RoleChangeForm, RoleForm
from twinframe.control.records.listing import Listed
from twinframe.control.tenants.catalogue import BUILT_IN_ROLES
from twinframe.http.messages import read_flag, write_no_content


async def list_built_in_roles(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: the built-in roles, which every organization has."""
    part = parse_slice(request, api.settings)
    roles = tuple(BUILT_IN_ROLES.values())
    listed = Listed(roles[part.offset : part.end], len(roles), part)
    views.write_listed(response, "roles", listed, views.build_built_in_role)


async def list_roles(
    api: ControlApiContext, request: Request, response: Response, organization_id: str
) -> None:
    """GET: the custom roles of an organization."""
    part = parse_slice(request, api.settings)
    listed = await api.plane.roles.list(read_actor(request), organization_id, part)
    views.write_listed(response, "roles", listed, views.build_role)


async def create_role(
    api: ControlApiContext, request: Request, response: Response, organization_id: str
) -> None:
    """POST: create a custom role."""
    body = await read_body(request)
    form = parse_form(body, RoleForm, api.json_limits)
    found = await api.plane.roles.create(
        read_actor(request),
        organization_id,
        form.name,
        form.permissions,
        role=form.id,
        request=parse_key(request, body),
    )
    location = f"/api/v1/organizations/{organization_id}/roles/{found.role}"
    views.write_created(response, views.build_role(found), location)


async def read_role(
    api: ControlApiContext, request: Request, response: Response, organization_id: str, role_id: str
) -> None:
    """GET: a custom role."""
    found = await api.plane.roles.read(read_actor(request), organization_id, role_id)
    views.write_json(response, views.build_role(found))


async def update_role(
    api: ControlApiContext, request: Request, response: Response, organization_id: str, role_id: str
) -> None:
    """PUT: change the name or the permissions of a role for all its holders."""
    form = parse_form(await read_body(request), RoleChangeForm, api.json_limits)
    found = await api.plane.roles.update(
        read_actor(request),
        organization_id,
        role_id,
        name=form.name,
        permissions=form.permissions,
    )
    views.write_json(response, views.build_role(found))


async def delete_role(
    api: ControlApiContext, request: Request, response: Response, organization_id: str, role_id: str
) -> None:
    """DELETE: a role that is not assigned; with `cascade` together with its assignments."""
    cascade = read_flag(request, "cascade")
    roles = api.plane.roles
    await roles.delete(read_actor(request), organization_id, role_id, cascade=cascade)
    write_no_content(response)
