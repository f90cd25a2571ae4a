"""Responders for telemetry."""

from __future__ import annotations

import uuid

from falcon.asgi import Request, Response

from twinframe.http.edge import Edge
from twinframe.http.messages import read_json, write_no_content


async def publish_telemetry(
    edge: Edge, request: Request, response: Response, twin_id: str, component: str | None = None
) -> None:
    """POST: 204 once the message is accepted.

    A message without `Message-Id` gets a new one: the vendor's clients always send it, people with
    curl do not.
    """
    payload = await read_json(edge, request, edge.bodies.limits.document)
    message_id = request.get_header("message-id") or str(uuid.uuid4())
    source_time = request.get_header("telemetry-source-time")
    await edge.graph.telemetry.publish(twin_id, component, payload, message_id, source_time)
    write_no_content(response)
