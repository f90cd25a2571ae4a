"""Responders for organizations, projects and users."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.control.http import views
from twinframe.control.http.api_context import ControlApiContext, read_actor
from twinframe.control.http.requests import parse_form, parse_key, parse_slice, read_body
from twinframe.control.http.schemas import OrganizationForm, ProjectForm, RenameForm
from twinframe.http.messages import write_no_content


async def list_organizations(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: the organizations that the caller may see."""
    part = parse_slice(request, api.settings)
    listed = await api.plane.organizations.list(read_actor(request), part)
    views.write_listed(response, "organizations", listed, views.build_organization)


async def create_organization(api: ControlApiContext, request: Request, response: Response) -> None:
    """POST: create an organization; the caller becomes its owner."""
    body = await read_body(request)
    form = parse_form(body, OrganizationForm, api.json_limits)
    found = await api.plane.organizations.create(
        read_actor(request),
        form.name,
        organization_id=form.id,
        request=parse_key(request, body),
    )
    location = f"/api/v1/organizations/{found.id}"
    views.write_created(response, views.build_organization(found), location)


async def read_organization(
    api: ControlApiContext, request: Request, response: Response, organization_id: str
) -> None:
    """GET: an organization."""
    found = await api.plane.organizations.read(read_actor(request), organization_id)
    views.write_json(response, views.build_organization(found))


async def update_organization(
    api: ControlApiContext, request: Request, response: Response, organization_id: str
) -> None:
    """PUT: rename an organization."""
    form = parse_form(await read_body(request), RenameForm, api.json_limits)
    organizations = api.plane.organizations
    found = await organizations.update(read_actor(request), organization_id, form.name)
    views.write_json(response, views.build_organization(found))


async def delete_organization(
    api: ControlApiContext, request: Request, response: Response, organization_id: str
) -> None:
    """DELETE: an empty organization."""
    await api.plane.organizations.delete(read_actor(request), organization_id)
    write_no_content(response)


async def list_projects(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: the projects that the caller may see, of all organizations or of one."""
    listed = await api.plane.projects.list(
        read_actor(request),
        parse_slice(request, api.settings),
        organization_id=request.get_param("organization_id"),
    )
    views.write_listed(response, "projects", listed, views.build_project)


async def create_project(api: ControlApiContext, request: Request, response: Response) -> None:
    """POST: create a project in the organization that the body names."""
    body = await read_body(request)
    form = parse_form(body, ProjectForm, api.json_limits)
    found = await api.plane.projects.create(
        read_actor(request),
        form.organization_id,
        form.name,
        project_id=form.id,
        request=parse_key(request, body),
    )
    location = f"/api/v1/projects/{found.id}"
    views.write_created(response, views.build_project(found), location)


async def read_project(
    api: ControlApiContext, request: Request, response: Response, project_id: str
) -> None:
    """GET: a project."""
    found = await api.plane.projects.read(read_actor(request), project_id)
    views.write_json(response, views.build_project(found))


async def update_project(
    api: ControlApiContext, request: Request, response: Response, project_id: str
) -> None:
    """PUT: rename a project."""
    form = parse_form(await read_body(request), RenameForm, api.json_limits)
    found = await api.plane.projects.update(read_actor(request), project_id, form.name)
    views.write_json(response, views.build_project(found))


async def delete_project(
    api: ControlApiContext, request: Request, response: Response, project_id: str
) -> None:
    """DELETE: an empty project."""
    await api.plane.projects.delete(read_actor(request), project_id)
    write_no_content(response)


async def list_users(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: all users that have called the service."""
    listed = await api.plane.users.list(read_actor(request), parse_slice(request, api.settings))
    views.write_listed(response, "users", listed, views.build_user)


async def read_me(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: the calling user."""
    actor = read_actor(request)
    found = await api.plane.users.read(actor, actor.subject)
    views.write_json(response, views.build_user(found))


async def read_user(
    api: ControlApiContext, request: Request, response: Response, user_id: str
) -> None:
    """GET: a user."""
    found = await api.plane.users.read(read_actor(request), user_id)
    views.write_json(response, views.build_user(found))
