"""Workspaces, which the vendor does not have: named documents that pages keep beside the graph."""

from __future__ import annotations

from typing import Final

from falcon.asgi import Request, Response
from pydantic import Field, JsonValue

from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph import schemas
from twinframe.http.graph.schemas import ETAG_EXAMPLE, Shape
from twinframe.http.messages import (
    read_conditions,
    read_json,
    read_page_request,
    write_document,
    write_no_content,
    write_page,
)
from twinframe.http.operations import PAGE_SIZE, TOKEN, Answer, Body, Parameter, Route
from twinframe.model.etags import parse_condition, parse_put_condition


class WorkspaceBody(Shape):
    """A workspace as it is put."""

    name: str = Field(examples=["North Wing"])
    content: dict[str, JsonValue] = Field(
        description="What the page keeps. The service reads no more of it than its text `kind`."
    )


class WorkspaceHead(Shape):
    """A workspace without its content."""

    id: str
    name: str
    kind: str | None = Field(
        examples=["picture"], description="The `kind` of the content, null where it gives none."
    )
    etag: str = Field(examples=[ETAG_EXAMPLE])
    created_time: str = Field(alias="createdTime")
    created_by: str | None = Field(
        alias="createdBy", description="Null where callers are not kept."
    )
    last_update_time: str = Field(alias="lastUpdateTime")
    last_update_by: str | None = Field(alias="lastUpdateBy")


class Workspace(WorkspaceHead):
    """A workspace."""

    content: dict[str, JsonValue]


async def put_workspace(
    api: GraphApiContext, request: Request, response: Response, workspace_id: str
) -> None:
    """PUT: 200 with the workspace and its ETag."""
    document = await read_json(api, request, api.bodies.limits.document)
    condition = parse_put_condition(*read_conditions(request))
    write_document(response, await api.graph.workspaces.put(workspace_id, document, condition))


async def read_workspace(
    api: GraphApiContext, _request: Request, response: Response, workspace_id: str
) -> None:
    """GET: the workspace and its ETag."""
    write_document(response, await api.graph.workspaces.read(workspace_id))


async def list_workspaces(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a page of workspaces without their contents."""
    page = await api.graph.workspaces.list_all(read_page_request(request))
    write_page(api, request, response, page, [each.render() for each in page.items])


async def delete_workspace(
    api: GraphApiContext, request: Request, response: Response, workspace_id: str
) -> None:
    """DELETE: 204."""
    condition = parse_condition(*read_conditions(request))
    await api.graph.workspaces.delete(workspace_id, condition)
    write_no_content(response)


_TAG: Final = "Workspaces"
_WORKSPACE: Final = "/workspaces/{workspace_id}"
_MISSING: Final = "WorkspaceNotFound"
_STALE: Final = "PreconditionFailed"
_SHOWN: Final = Answer(200, "The workspace.", Workspace, {"ETag": "The version of the workspace."})

WORKSPACE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET /workspaces",
        "Workspaces_List",
        "List workspaces",
        "workspaces/read",
        list_workspaces,
        Answer(200, "A page.", schemas.Listing[WorkspaceHead]),
        _TAG,
        (PAGE_SIZE, TOKEN),
        errors={400: "BadRequest, InvalidArgument"},
        is_strict=True,
    ),
    Route(
        f"GET {_WORKSPACE}",
        "Workspaces_Read",
        "Read a workspace",
        "workspaces/read",
        read_workspace,
        _SHOWN,
        _TAG,
        errors={404: _MISSING},
        is_strict=True,
    ),
    Route(
        f"PUT {_WORKSPACE}",
        "Workspaces_Put",
        "Create or replace a workspace",
        "workspaces/write",
        put_workspace,
        _SHOWN,
        _TAG,
        (
            Parameter("If-None-Match", "header", "`*`: only create, never replace."),
            Parameter("If-Match", "header", "`*`, or the ETag it must have: only replace."),
        ),
        Body(WorkspaceBody),
        {400: "InvalidArgument, LimitExceeded", 412: _STALE},
        is_strict=True,
    ),
    Route(
        f"DELETE {_WORKSPACE}",
        "Workspaces_Delete",
        "Delete a workspace",
        "workspaces/delete",
        delete_workspace,
        Answer(204, "Done."),
        _TAG,
        (Parameter("If-Match", "header", "`*`, or the ETag the workspace must have."),),
        errors={400: "InvalidArgument", 404: _MISSING, 412: _STALE},
        is_strict=True,
    ),
)
