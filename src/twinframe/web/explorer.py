"""The interactive API explorer: its page, its files and the OpenAPI document it shows.

The files come from an installed package, never from another host; the page runs no inline script.
"""

from __future__ import annotations

import html
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from falcon.asgi import Request, Response

from twinframe.errors import ConfigurationError
from twinframe.web.errors import RouteNotFound
from twinframe.web.exchange import SCOPE_KEY

if TYPE_CHECKING:
    from twinframe.web.edge import ServiceEdge

_ASSETS = {
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}
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


class Explorer:
    """The explorer's content. `build` makes the OpenAPI document for a base path as called."""

    def __init__(self, build: Callable[[str], dict[str, Any]]) -> None:
        self._build = build
        self._documents: dict[str, bytes] = {}
        self._files: dict[str, bytes] = {}

    def render_document(self, base: str) -> bytes:
        """Return the OpenAPI document as JSON text; it is built once per base path."""
        found = self._documents.get(base)
        if found is None:
            found = orjson.dumps(self._build(base))
            if len(self._documents) < 8:  # the base path may be called in any letter case
                self._documents[base] = found
        return found

    def read_file(self, name: str) -> bytes:
        """Return a file of the explorer. Raises `RouteNotFound` for an unknown name."""
        if name not in _ASSETS:
            raise RouteNotFound(f"The explorer has no file {name!a}.")
        found = self._files.get(name)
        if found is None:
            found = self._files[name] = (_find_assets() / name).read_bytes()
        return found


def _find_assets() -> Path:
    # NOTE: only the package's files are used; importing it would load web frameworks.
    found = importlib.util.find_spec("swagger_ui")
    if found is None or not found.submodule_search_locations:
        raise ConfigurationError("The explorer's files are missing: pip install swagger-ui-py.")
    return Path(found.submodule_search_locations[0]) / "static"


async def read_document(edge: ServiceEdge, request: Request, response: Response) -> None:
    """GET: the OpenAPI document."""
    response.data = edge.explorer.render_document(request.scope[SCOPE_KEY].target.base)


async def read_page(_edge: ServiceEdge, request: Request, response: Response) -> None:
    """GET: the explorer's page."""
    base = html.escape(_find_base(request))
    response.content_type = "text/html; charset=utf-8"
    response.data = _PAGE.format(base=base).encode()
    response.set_header("content-security-policy", _POLICY)
    response.set_header("referrer-policy", "no-referrer")


async def read_asset(edge: ServiceEdge, request: Request, response: Response, name: str) -> None:
    """GET: a file of the explorer, or the script that starts it."""
    if name == _SCRIPT:
        url = orjson.dumps(f"{_find_base(request)}/openapi.json")
        response.content_type = "text/javascript; charset=utf-8"
        response.data = _INITIALIZER % url
        return
    response.data = edge.explorer.read_file(name)
    response.content_type = _ASSETS[name]
    response.set_header("cache-control", "public, max-age=86400")


def _find_base(request: Request) -> str:
    """Return the prefix of the explorer's own paths: the base path and the prefix of its route."""
    base: str = request.scope[SCOPE_KEY].target.base
    return base + str(request.uri_template).partition("/swagger")[0]
