"""Responders for telemetry."""

from __future__ import annotations

import uuid

from falcon.asgi import Request, Response

from twinframe.http.api_context import GraphApiContext
from twinframe.http.messages import read_json, write_no_content


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
