"""Responders of `/health`. What makes the service ready is asked, not decided, here."""

from __future__ import annotations

from typing import Final

from falcon.asgi import Request, Response

from twinframe.web.edge import ServiceEdge

_READY: Final = b'{"status":"ready"}'
_FULL: Final = b'{"status":"ready","writes":"refused","reason":"No space is left in the storage."}'


async def read_live(_edge: ServiceEdge, _request: Request, response: Response) -> None:
    """GET: 200 as long as the worker answers at all."""
    response.data = b'{"status":"live"}'
    response.set_header("cache-control", "no-store")


async def read_ready(edge: ServiceEdge, _request: Request, response: Response) -> None:
    """GET: 200 when the store answers and no drain has begun, else 503.

    NOTE: a store without room stays ready, and says so: another status would take from callers the
    reads and deletions that it still does, and there is no second pod to do its writes.
    """
    ready = await edge.is_ready()
    response.status = 200 if ready else 503
    response.data = _READY if ready else b'{"status":"not ready"}'
    if ready and edge.is_full():
        response.data = _FULL
    response.set_header("cache-control", "no-store")
