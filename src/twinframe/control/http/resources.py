"""Responders for resources and their history."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.control.http import views
from twinframe.control.http.api_context import ControlApiContext, read_actor
from twinframe.control.http.requests import parse_key, parse_slice, read_body
from twinframe.control.resources.documents import build_operation_view, build_view
from twinframe.control.resources.guarded import build_tag
from twinframe.control.resources.resources import ResourceFilter, parse_status


async def list_all_resources(api: ControlApiContext, request: Request, response: Response) -> None:
    """GET: the resources of all projects that the caller may see."""
    part = parse_slice(request, api.settings)
    listed = await api.plane.resources.list_all(read_actor(request), _parse_filter(request), part)
    views.write_listed(response, "resources", listed, build_view)


async def list_resources(
    api: ControlApiContext, request: Request, response: Response, project_id: str
) -> None:
    """GET: the resources of a project that the caller may see."""
    part = parse_slice(request, api.settings)
    listed = await api.plane.resources.list(
        read_actor(request), project_id, _parse_filter(request), part
    )
    views.write_listed(response, "resources", listed, build_view)


def _parse_filter(request: Request) -> ResourceFilter:
    status = request.get_param("status")
    return ResourceFilter(
        type=request.get_param("type"), status=None if status is None else parse_status(status)
    )


async def create_resource(
    api: ControlApiContext, request: Request, response: Response, project_id: str
) -> None:
    """POST: record a new resource and start its provisioning."""
    body = await read_body(request)
    key = parse_key(request, body)
    found = await api.plane.resources.create(read_actor(request), project_id, body, key)
    response.set_header("etag", build_tag(found))
    location = f"/api/v1/projects/{project_id}/resources/{found.id}"
    views.write_created(response, build_view(found, with_url=False), location)


async def read_resource(
    api: ControlApiContext, request: Request, response: Response, project_id: str, resource_id: str
) -> None:
    """GET: a resource, or its tombstone."""
    found = await api.plane.resources.read(read_actor(request), project_id, resource_id)
    response.set_header("etag", build_tag(found))
    views.write_json(response, build_view(found))


async def update_resource(
    api: ControlApiContext, request: Request, response: Response, project_id: str, resource_id: str
) -> None:
    """PUT: record the changes and start applying them."""
    found = await api.plane.resources.update(
        read_actor(request),
        project_id,
        resource_id,
        await read_body(request),
        request.get_header("If-Match"),
    )
    response.set_header("etag", build_tag(found))
    views.write_json(response, build_view(found, with_url=False))


async def delete_resource(
    api: ControlApiContext, request: Request, response: Response, project_id: str, resource_id: str
) -> None:
    """DELETE: start the deletion of the resource with all its data."""
    found = await api.plane.resources.delete(
        read_actor(request), project_id, resource_id, request.get_header("If-Match")
    )
    message = "The resource is being deleted."
    view = {"message": message, "resource_id": found.id, "status": found.status}
    views.write_json(response, view, 202)


async def list_operations(
    api: ControlApiContext, request: Request, response: Response, project_id: str, resource_id: str
) -> None:
    """GET: the operations on the resource and their outcomes, the latest first."""
    part = parse_slice(request, api.settings)
    listed = await api.plane.resources.list_operations(
        read_actor(request), project_id, resource_id, part
    )
    views.write_listed(response, "operations", listed, build_operation_view)
