"""The 401 answer shared by the API, the control plane and MCP."""

from __future__ import annotations

from typing import Final

import orjson

from twinframe.http.errors import JSON, ErrorAnswer
from twinframe.settings import AuthenticationSettings

REALM: Final = "mcp"

_TOKEN_TEXT = "Authentication required. Please provide a valid Bearer token."  # noqa: S105
_KEY_TEXT = "Authentication required. Please provide a valid API key in the header X-API-Key."
_BOTH_TEXT = "Authentication required. Please provide a valid Bearer token or X-API-Key."


def choose_text(authentication: AuthenticationSettings) -> str:
    """Return the text that names the kinds of credentials these settings accept."""
    if authentication.takes_tokens and authentication.takes_api_keys:
        return _BOTH_TEXT
    return _KEY_TEXT if authentication.takes_api_keys else _TOKEN_TEXT


def build_unauthorized(text: str, address: str) -> ErrorAnswer:
    """Return the 401 answer; `address` is the URL of the resource's metadata document."""
    body = {"error": "unauthorized", "error_description": text, "resource_metadata": address}
    headers = (
        ("content-type", JSON),
        ("www-authenticate", f'Bearer realm="{REALM}", resource_metadata="{address}"'),
        ("cache-control", "no-store"),
    )
    return ErrorAnswer(401, orjson.dumps(body), headers)
