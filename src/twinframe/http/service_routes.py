"""Responders and routes that every plane has, open to everybody: health, discovery, the OpenAPI
document and the explorer, whose page runs no inline script.
"""

from __future__ import annotations

import html
from typing import Any, Final

import orjson
from falcon.asgi import Request, Response

from twinframe.http import discovery
from twinframe.http.api_context import ApiContext
from twinframe.http.exchange import SCOPE_KEY, Exchange
from twinframe.http.explorer import ASSETS
from twinframe.http.graph import schemas
from twinframe.http.operations import Answer, Route

_SCRIPT = "initializer.js"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>twinframe</title>
<link rel="stylesheet" href="{base}/swagger/assets/swagger-ui.css">
<link rel="icon" type="image/png" href="{base}/swagger/assets/favicon-32x32.png">
</head>
<body>
<div id="explorer"></div>
<script src="{base}/swagger/assets/swagger-ui-bundle.js"></script>
<script src="{base}/swagger/assets/initializer.js"></script>
</body>
</html>
"""

_INITIALIZER = (
    b'SwaggerUIBundle({url: %b, dom_id: "#explorer", deepLinking: true, validatorUrl: null, '
    b"tryItOutEnabled: true, displayRequestDuration: true});\n"
)


async def _read_document(api: ApiContext, request: Request, response: Response) -> None:
    """GET: the OpenAPI document."""
    response.data = api.explorer.render_document(request.scope[SCOPE_KEY].target.base)


async def _read_page(api: ApiContext, request: Request, response: Response) -> None:
    """GET: the explorer's page."""
    api.explorer.require_files()
    base = html.escape(_find_base(request))
    response.content_type = "text/html; charset=utf-8"
    response.data = _PAGE.format(base=base).encode()
    response.set_header("content-security-policy", _POLICY)
    response.set_header("referrer-policy", "no-referrer")


async def _read_asset(api: ApiContext, request: Request, response: Response, name: str) -> None:
    """GET: a file of the explorer, or the script that starts it."""
    if name == _SCRIPT:
        url = orjson.dumps(f"{_find_base(request)}/openapi.json")
        response.content_type = "text/javascript; charset=utf-8"
        response.data = _INITIALIZER % url
        return
    response.data = api.explorer.read_file(name)
    response.content_type = ASSETS[name]
    response.set_header("cache-control", "public, max-age=86400")


def _find_base(request: Request) -> str:
    """Return the prefix of the explorer's own paths: the base path and the prefix of its route."""
    base: str = request.scope[SCOPE_KEY].target.base
    return base + str(request.uri_template).partition("/swagger")[0]


async def read_protected_resource(
    api: ApiContext, request: Request, response: Response, **_none: Any
) -> None:
    """GET: the metadata document of a protected resource, without credentials."""
    exchange: Exchange = request.scope[SCOPE_KEY]
    segments = exchange.target.segments[2:]
    path = "".join(f"/{segment}" for segment in segments) or exchange.target.base
    response.data = api.discovery.render_document(exchange, path)
    response.set_header("access-control-allow-origin", "*")
    response.set_header("cache-control", api.discovery.choose_caching(path))


_READY: Final = b'{"status":"ready"}'
_FULL: Final = b'{"status":"ready","writes":"refused","reason":"No space is left in the storage."}'


async def _read_live(_api: ApiContext, _request: Request, response: Response) -> None:
    """GET: 200 as long as the worker answers at all."""
    response.data = b'{"status":"live"}'
    response.set_header("cache-control", "no-store")


async def _read_ready(api: ApiContext, _request: Request, response: Response) -> None:
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


_FOUND_FIRST: tuple[Route, ...] = (
    Route(
        "GET /health/live",
        "Health_Live",
        "Whether the worker answers",
        None,
        _read_live,
        Answer(200, "It does.", schemas.Health),
        "Service",
    ),
    Route(
        "GET /health/ready",
        "Health_Ready",
        "Whether the service should get requests",
        None,
        _read_ready,
        Answer(200, "It should.", schemas.Health),
        "Service",
        errors={503: ""},
    ),
    Route(
        f"GET /{discovery.WELL_KNOWN}/{discovery.DOCUMENT}",
        "Service_ProtectedResource",
        "Who signs tokens for this service (RFC 9728)",
        None,
        read_protected_resource,
        Answer(200, "The document.", dict[str, Any]),
        "Service",
        errors={404: "NotFound"},
    ),
)


def build_explorer_routes(prefix: str = "", name: str = "Service") -> tuple[Route, ...]:
    """Return the routes of the document and the explorer; `name` begins their ids."""
    return (
        Route(
            f"GET {prefix}/openapi.json",
            f"{name}_OpenApi",
            "This document",
            None,
            _read_document,
            Answer(200, "An OpenAPI 3.1 document.", dict[str, Any]),
            "Service",
        ),
        Route(
            f"GET {prefix}/swagger",
            f"{name}_Explorer",
            "The interactive explorer",
            None,
            _read_page,
            Answer(200, "A page.", str, media_type="text/html"),
            "Service",
            errors={404: "NotFound"},
        ),
        Route(
            f"GET {prefix}/swagger/assets/{{name}}",
            f"{name}_ExplorerAsset",
            "A file of the explorer",
            None,
            _read_asset,
            Answer(200, "The file.", str, media_type="application/octet-stream"),
            "Service",
            errors={400: "InvalidArgument", 404: "NotFound"},
        ),
    )


SERVICE_ROUTES: tuple[Route, ...] = (*_FOUND_FIRST, *build_explorer_routes())
