"""Responders for `/digitaltwins/{twin_id}/components/{component}`. The ETag is the twin's."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.http.edge import Edge
from twinframe.http.messages import (
    PATCH_TYPES,
    read_conditions,
    read_json,
    write_document,
    write_no_content,
)


async def read_component(
    edge: Edge, _request: Request, response: Response, twin_id: str, component: str
) -> None:
    """GET: the component."""
    write_document(response, await edge.graph.components.read_component(twin_id, component))


async def patch_component(
    edge: Edge, request: Request, response: Response, twin_id: str, component: str
) -> None:
    """PATCH: 204 and the twin's new ETag."""
    patch = await read_json(edge, request, edge.bodies.limits.document, PATCH_TYPES)
    etag = await edge.graph.components.patch_component(
        twin_id, component, patch, *read_conditions(request)
    )
    write_no_content(response, etag)
