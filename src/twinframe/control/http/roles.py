"""Responders for roles: the built-in ones and the custom ones of organizations."""

from __future__ import annotations

from twinframe.control.http import views
from twinframe.control.http.requests import Call
from twinframe.control.http.schemas import RoleChangeForm, RoleForm
from twinframe.control.records.listing import Listed
from twinframe.control.tenants.catalogue import BUILT_IN_ROLES
from twinframe.http.messages import read_flag


async def list_built_in_roles(call: Call) -> None:
    """GET: the built-in roles, which every organization has."""
    part = call.part
    roles = tuple(BUILT_IN_ROLES.values())
    listed = Listed(roles[part.offset : part.end], len(roles), part)
    call.write_page("roles", listed, views.build_built_in_role)


async def list_roles(call: Call, organization_id: str) -> None:
    """GET: the custom roles of an organization."""
    listed = await call.plane.roles.list(call.actor, organization_id, call.part)
    call.write_page("roles", listed, views.build_role)


async def create_role(call: Call, organization_id: str) -> None:
    """POST: create a custom role."""
    form = await call.read_form(RoleForm)
    found = await call.plane.roles.create(
        call.actor, organization_id, form.name, form.permissions, role=form.id, request=call.key
    )
    location = f"/api/v1/organizations/{organization_id}/roles/{found.role}"
    call.write_created(views.build_role(found), location)


async def read_role(call: Call, organization_id: str, role_id: str) -> None:
    """GET: a custom role."""
    found = await call.plane.roles.read(call.actor, organization_id, role_id)
    call.write(views.build_role(found))


async def update_role(call: Call, organization_id: str, role_id: str) -> None:
    """PUT: change the name or the permissions of a role for all its holders."""
    form = await call.read_form(RoleChangeForm)
    found = await call.plane.roles.update(
        call.actor, organization_id, role_id, name=form.name, permissions=form.permissions
    )
    call.write(views.build_role(found))


async def delete_role(call: Call, organization_id: str, role_id: str) -> None:
    """DELETE: a role that is not assigned; with `cascade` together with its assignments."""
    cascade = read_flag(call.request, "cascade")
    roles = call.plane.roles
    await roles.delete(call.actor, organization_id, role_id, cascade=cascade)
    call.write_nothing()
