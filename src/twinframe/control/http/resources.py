"""Responders for resources and their history."""

from __future__ import annotations

from twinframe.control.http.requests import Call
from twinframe.control.resources.documents import build_operation_view, build_view
from twinframe.control.resources.guarded import build_tag
from twinframe.control.resources.resources import ResourceFilter, parse_status


async def list_all_resources(call: Call) -> None:
    """GET: the resources of all projects that the caller may see."""
    part = call.part
    listed = await call.plane.resources.list_all(call.actor, _parse_filter(call), part)
    call.write_page("resources", listed, build_view)


async def list_resources(call: Call, project_id: str) -> None:
    """GET: the resources of a project that the caller may see."""
    part = call.part
    listed = await call.plane.resources.list(call.actor, project_id, _parse_filter(call), part)
    call.write_page("resources", listed, build_view)


def _parse_filter(call: Call) -> ResourceFilter:
    status = call.read_text("status")
    return ResourceFilter(
        type=call.read_text("type"), status=None if status is None else parse_status(status)
    )


async def create_resource(call: Call, project_id: str) -> None:
    """POST: record a new resource and start its provisioning."""
    body = await call.read_body()
    key = call.key
    found = await call.plane.resources.create(call.actor, project_id, body, key)
    call.response.set_header("etag", build_tag(found))
    location = f"/api/v1/projects/{project_id}/resources/{found.id}"
    call.write_created(build_view(found, with_url=False), location)


async def read_resource(call: Call, project_id: str, resource_id: str) -> None:
    """GET: a resource, or its tombstone."""
    found = await call.plane.resources.read(call.actor, project_id, resource_id)
    call.response.set_header("etag", build_tag(found))
    call.write(build_view(found))


async def update_resource(call: Call, project_id: str, resource_id: str) -> None:
    """PUT: record the changes and start applying them."""
    found = await call.plane.resources.update(
        call.actor,
        project_id,
        resource_id,
        await call.read_body(),
        call.request.get_header("If-Match"),
    )
    call.response.set_header("etag", build_tag(found))
    call.write(build_view(found, with_url=False))


async def delete_resource(call: Call, project_id: str, resource_id: str) -> None:
    """DELETE: start the deletion of the resource with all its data."""
    found = await call.plane.resources.delete(
        call.actor, project_id, resource_id, call.request.get_header("If-Match")
    )
    message = "The resource is being deleted."
    view = {"message": message, "resource_id": found.id, "status": found.status}
    call.write(view, 202)


async def list_operations(call: Call, project_id: str, resource_id: str) -> None:
    """GET: the operations on the resource and their outcomes, the latest first."""
    listed = await call.plane.resources.list_operations(
        call.actor, project_id, resource_id, call.part
    )
    call.write_page("operations", listed, build_operation_view)
