"""Responders for organizations, projects and users."""

from __future__ import annotations

from twinframe.control.http import views
from twinframe.control.http.requests import Call
from twinframe.control.http.schemas import OrganizationForm, ProjectForm, RenameForm


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
