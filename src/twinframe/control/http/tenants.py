"""Responders for organizations, projects, users and roles."""

from __future__ import annotations

from twinframe.control.http import views
from twinframe.control.http.requests import Call
from twinframe.control.http.schemas import (
    OrganizationForm,
    ProjectForm,
    RenameForm,
    RoleChangeForm,
    RoleForm,
)
from twinframe.control.records.listing import Listed
from twinframe.control.tenants.catalogue import BUILT_IN_ROLES
from twinframe.http.messages import read_flag


async def list_organizations(call: Call) -> None:
    """GET: the organizations that the caller may see."""
    listed = await call.plane.organizations.list(call.actor, call.part)
    call.write_page("organizations", listed, views.build_organization)


async def create_organization(call: Call) -> None:
    """POST: create an organization; the caller becomes its owner."""
    form = await call.read_form(OrganizationForm)
    found = await call.plane.organizations.create(
        call.actor, form.name, organization_id=form.id, request=call.key
    )
    location = f"/api/v1/organizations/{found.id}"
    call.write_created(views.build_organization(found), location)


async def read_organization(call: Call, organization_id: str) -> None:
    """GET: an organization."""
    found = await call.plane.organizations.read(call.actor, organization_id)
    call.write(views.build_organization(found))


async def update_organization(call: Call, organization_id: str) -> None:
    """PUT: rename an organization."""
    form = await call.read_form(RenameForm)
    organizations = call.plane.organizations
    found = await organizations.update(call.actor, organization_id, form.name)
    call.write(views.build_organization(found))


async def delete_organization(call: Call, organization_id: str) -> None:
    """DELETE: an empty organization."""
    await call.plane.organizations.delete(call.actor, organization_id)
    call.write_nothing()


async def list_projects(call: Call) -> None:
    """GET: the projects that the caller may see, of all organizations or of one."""
    listed = await call.plane.projects.list(
        call.actor, call.part, organization_id=call.read_text("organization_id")
    )
    call.write_page("projects", listed, views.build_project)


async def create_project(call: Call) -> None:
    """POST: create a project in the organization that the body names."""
    form = await call.read_form(ProjectForm)
    found = await call.plane.projects.create(
        call.actor, form.organization_id, form.name, project_id=form.id, request=call.key
    )
    location = f"/api/v1/projects/{found.id}"
    call.write_created(views.build_project(found), location)


async def read_project(call: Call, project_id: str) -> None:
    """GET: a project."""
    found = await call.plane.projects.read(call.actor, project_id)
    call.write(views.build_project(found))


async def update_project(call: Call, project_id: str) -> None:
    """PUT: rename a project."""
    form = await call.read_form(RenameForm)
    found = await call.plane.projects.update(call.actor, project_id, form.name)
    call.write(views.build_project(found))


async def delete_project(call: Call, project_id: str) -> None:
    """DELETE: an empty project."""
    await call.plane.projects.delete(call.actor, project_id)
    call.write_nothing()


async def list_users(call: Call) -> None:
    """GET: all users that have called the service."""
    listed = await call.plane.users.list(call.actor, call.part)
    call.write_page("users", listed, views.build_user)


async def read_me(call: Call) -> None:
    """GET: the calling user."""
    actor = call.actor
    found = await call.plane.users.read(actor, actor.subject)
    call.write(views.build_user(found))


async def read_user(call: Call, user_id: str) -> None:
    """GET: a user."""
    found = await call.plane.users.read(call.actor, user_id)
    call.write(views.build_user(found))


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
