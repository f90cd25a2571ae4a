"""Responders for `/digitaltwins/{twin_id}`."""

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


async def read_twin(
    api: GraphApiContext, _request: Request, response: Response, twin_id: str
) -> None:
    """GET: the twin and its ETag."""
    write_document(response, await api.graph.twins.read_twin(twin_id))


async def put_twin(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """PUT: create or replace; always 200 with the stored twin."""
    document = await read_json(api, request, api.bodies.limits.document)
    if_match, if_none_match = read_conditions(request)
    stored = await api.graph.twins.put_twin(twin_id, document, if_none_match, if_match)
    write_document(response, stored)


async def patch_twin(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """PATCH: 204 and the new ETag."""
    patch = await read_json(api, request, api.bodies.limits.document, PATCH_TYPES)
    etag = await api.graph.twins.patch_twin(twin_id, patch, *read_conditions(request))
    write_no_content(response, etag)


async def delete_twin(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """DELETE: 204 without an ETag."""
    await api.graph.twins.delete_twin(twin_id, *read_conditions(request))
    write_no_content(response)
