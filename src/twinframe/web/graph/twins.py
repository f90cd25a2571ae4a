"""Responders of `/digitaltwins/{twin_id}`. What a twin may hold is decided by the use cases."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.web.edge import Edge
from twinframe.web.messages import PATCH_TYPES, read_json, write_document, write_no_content


async def read_twin(edge: Edge, _request: Request, response: Response, twin_id: str) -> None:
    """GET: the twin and its ETag."""
    write_document(response, await edge.graph.twins.read_twin(twin_id))


async def put_twin(edge: Edge, request: Request, response: Response, twin_id: str) -> None:
    """PUT: create or replace; always 200 with the stored twin."""
    document = await read_json(edge, request)
    if_none_match = request.get_header("if-none-match")
    write_document(response, await edge.graph.twins.put_twin(twin_id, document, if_none_match))


async def patch_twin(edge: Edge, request: Request, response: Response, twin_id: str) -> None:
    """PATCH: 204 and the new ETag."""
    patch = await read_json(edge, request, PATCH_TYPES)
    if_match = request.get_header("if-match")
    write_no_content(response, await edge.graph.twins.patch_twin(twin_id, patch, if_match))


async def delete_twin(edge: Edge, request: Request, response: Response, twin_id: str) -> None:
    """DELETE: 204 without an ETag."""
    await edge.graph.twins.delete_twin(twin_id, request.get_header("if-match"))
    write_no_content(response)
