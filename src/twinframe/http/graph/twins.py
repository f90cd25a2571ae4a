"""Responders for twins, their components and their telemetry; components share the twin's ETag."""

from __future__ import annotations

import uuid

from falcon.asgi import Request, Response

from twinframe.http.api_context import GraphApiContext
from twinframe.http.messages import (
    PATCH_TYPES,
    read_as_of,
    read_conditions,
    read_json,
    write_document,
    write_no_content,
)
from twinframe.model.etags import parse_condition, parse_put_condition


async def read_twin(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """GET: the twin and its ETag."""
    as_of = await read_as_of(api, request)
    write_document(response, await api.graph.twins.read_twin(twin_id, as_of))


async def put_twin(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """PUT: create or replace; always 200 with the stored twin."""
    document = await read_json(api, request, api.bodies.limits.document)
    condition = parse_put_condition(*read_conditions(request))
    stored = await api.graph.twins.put_twin(twin_id, document, condition)
    write_document(response, stored)


async def patch_twin(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """PATCH: 204 and the new ETag."""
    patch = await read_json(api, request, api.bodies.limits.document, PATCH_TYPES)
    etag = await api.graph.twins.patch_twin(
        twin_id, patch, parse_condition(*read_conditions(request))
    )
    write_no_content(response, etag)


async def delete_twin(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """DELETE: 204 without an ETag."""
    await api.graph.twins.delete_twin(twin_id, parse_condition(*read_conditions(request)))
    write_no_content(response)


async def read_component(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, component: str
) -> None:
    """GET: the component."""
    as_of = await read_as_of(api, request)
    found = await api.graph.components.read_component(twin_id, component, as_of)
    write_document(response, found)


async def patch_component(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, component: str
) -> None:
    """PATCH: 204 and the twin's new ETag."""
    patch = await read_json(api, request, api.bodies.limits.document, PATCH_TYPES)
    etag = await api.graph.components.patch_component(
        twin_id, component, patch, parse_condition(*read_conditions(request))
    )
    write_no_content(response, etag)


async def publish_telemetry(
    api: GraphApiContext,
    request: Request,
    response: Response,
    twin_id: str,
    component: str | None = None,
) -> None:
    """POST: 204 once the message is accepted.

    A message without `Message-Id` gets a new one: the vendor's clients always send it, people with
    curl do not.
    """
    payload = await read_json(api, request, api.bodies.limits.document)
    message_id = request.get_header("message-id") or str(uuid.uuid4())
    source_time = request.get_header("telemetry-source-time")
    await api.graph.telemetry.publish(twin_id, component, payload, message_id, source_time)
    write_no_content(response)
