"""The responders of the interactive explorer: its page, its files and the document it shows.

The page runs no inline script.
"""

from __future__ import annotations

import html

import orjson
from falcon.asgi import Request, Response

from twinframe.http.api_context import ApiContext
from twinframe.http.exchange import SCOPE_KEY
from twinframe.http.explorer import ASSETS

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


async def read_document(api: ApiContext, request: Request, response: Response) -> None:
    """GET: the OpenAPI document."""
    response.data = api.explorer.render_document(request.scope[SCOPE_KEY].target.base)


async def read_page(api: ApiContext, request: Request, response: Response) -> None:
    """GET: the explorer's page."""
    api.explorer.require_files()
    base = html.escape(_find_base(request))
    response.content_type = "text/html; charset=utf-8"
    response.data = _PAGE.format(base=base).encode()
    response.set_header("content-security-policy", _POLICY)
    response.set_header("referrer-policy", "no-referrer")


async def read_asset(api: ApiContext, request: Request, response: Response, name: str) -> None:
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
