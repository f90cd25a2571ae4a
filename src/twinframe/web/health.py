"""Responders of `/health`. What makes the service ready is asked, not decided, here."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.web.edge import ServiceEdge


async def read_live(_edge: ServiceEdge, _request: Request, response: Response) -> None:
    """GET: 200 as long as the worker answers at all."""
    response.data = b'{"status":"live"}'
    response.set_header("cache-control", "no-store")


async def read_ready(edge: ServiceEdge, _request: Request, response: Response) -> None:
    """GET: 200 when the store answers and no drain has begun, else 503."""
    ready = await edge.is_ready()
    response.status = 200 if ready else 503
    response.data = b'{"status":"ready"}' if ready else b'{"status":"not ready"}'
    response.set_header("cache-control", "no-store")
