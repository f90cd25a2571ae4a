"""Responders for `/digitaltwins/{twin_id}/components/{component}`. The ETag is the twin's."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.http.api_context import GraphApiContext
from twinframe.http.messages import (
    PATCH_TYPES,
    read_conditions,
    read_json,
    write_document,
    write_no_content,
)


async def read_component(
    api: GraphApiContext, _request: Request, response: Response, twin_id: str, component: str
) -> None:
    """GET: the component."""
    write_document(response, await api.graph.components.read_component(twin_id, component))


async def patch_component(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, component: str
) -> None:
    """PATCH: 204 and the twin's new ETag."""
    patch = await read_json(api, request, api.bodies.limits.document, PATCH_TYPES)
    etag = await api.graph.components.patch_component(
        twin_id, component, patch, *read_conditions(request)
    )
    write_no_content(response, etag)
