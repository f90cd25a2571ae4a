"""Responders for `/health`."""

from __future__ import annotations

from typing import Final

from falcon.asgi import Request, Response

from twinframe.http.api_context import ApiContext

_READY: Final = b'{"status":"ready"}'
_FULL: Final = b'{"status":"ready","writes":"refused","reason":"No space is left in the storage."}'


async def read_live(_api: ApiContext, _request: Request, response: Response) -> None:
    """GET: 200 as long as the worker answers at all."""
    response.data = b'{"status":"live"}'
    response.set_header("cache-control", "no-store")


async def read_ready(api: ApiContext, _request: Request, response: Response) -> None:
    """GET: 200 if the store answers and no drain has begun, else 503.

    NOTE: a store without disk space stays ready and says so in the answer: another status would
    stop the reads and deletions that it still serves, and no second pod could do its writes.
    """
    ready = await api.is_ready()
    response.status = 200 if ready else 503
    response.data = _READY if ready else b'{"status":"not ready"}'
    if ready and api.is_full():
        response.data = _FULL
    response.set_header("cache-control", "no-store")
