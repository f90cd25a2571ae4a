"""The responder of discovery: the documents of the protected resources, for everybody."""

from __future__ import annotations

from typing import Any

from falcon.asgi import Request, Response

from twinframe.http.api_context import ApiContext
from twinframe.http.exchange import SCOPE_KEY, Exchange


async def read_document(
    api: ApiContext, request: Request, response: Response, **_none: Any
) -> None:
    """GET: the metadata document of a protected resource, without credentials."""
    exchange: Exchange = request.scope[SCOPE_KEY]
    segments = exchange.target.segments[2:]
    path = "".join(f"/{segment}" for segment in segments) or exchange.target.base
    response.data = api.discovery.render_document(exchange, path)
    response.set_header("access-control-allow-origin", "*")
    response.set_header("cache-control", api.discovery.choose_caching(path))
