"""OAuth protected resource metadata (RFC 9728), and the 401 that points to it.

The documents are built from settings. The request gives only the origin, if no public one is set,
and only if its Host is a known name of the service.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from twinframe.http.errors import JSON, ErrorAnswer, RouteNotFound
from twinframe.http.exchange import Exchange
from twinframe.http.links import Links
from twinframe.settings import AuthenticationSettings, Settings

WELL_KNOWN = ".well-known"
DOCUMENT = "oauth-protected-resource"

MCP_PATHS = ("/mcp", "/sse")
"""The path of an MCP server below the address of its graph."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A protected resource: its path below the origin, and its own URL if settings name it.

    `name` is for people; `scopes` are those its tokens need, None for those that settings name.
    """

    path: str
    url: str = ""
    name: str = "twinframe"
    scopes: tuple[str, ...] | None = None


class Discovery:
    """The metadata documents of this service's protected resources, and the 401 answer.

    The API is a resource at the origin and one at the base path, since clients compare the URL they
    called. `extra` are those of other servers in this process, such as `/mcp`. Refusals point to
    the resource at `home`, None for the base path as called.
    """

    def __init__(
        self,
        settings: Settings,
        links: Links,
        extra: tuple[Resource, ...] = (),
        home: str | None = None,
    ) -> None:
        self._links = links
        self._home = home
        self._authentication = settings.authentication
        self._scopes = settings.authorization.scopes_supported
        base = settings.server.base_path
        known = [Resource(""), *([Resource(base)] if base else []), *extra]
        self._known = {resource.path.casefold(): resource for resource in known}
        self._text = choose_text(self._authentication)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all resources; the empty text is the origin."""
        return tuple(resource.path for resource in self._known.values())

    def find(self, path: str) -> Resource | None:
        """Return the resource at a path (empty: the origin), in any letter case."""
        return self._known.get(path.casefold())

    def render_document(self, exchange: Exchange, path: str) -> bytes:
        """Return the document of the resource at `path` (empty: the origin).

        Raises `RouteNotFound` for an unknown path, and if authentication is off.
        """
        resource = self.find(path)
        if resource is None or not self._authentication.asks:
            raise RouteNotFound(
                f"There is no protected resource at {path or '/'!a}."
                if self._authentication.asks
                else "Nothing here is protected: callers are not asked for credentials."
            )
        document: dict[str, object] = {
            "resource": resource.url or self._links.build_origin(exchange) + resource.path
        }
        # SPEC: RFC 9728 section 3.2: members without values are left out.
        if self._authentication.takes_tokens:
            document["authorization_servers"] = [self._authentication.expected_issuer]
            scopes = self._scopes if resource.scopes is None else resource.scopes
            if scopes:
                document["scopes_supported"] = scopes
        document["bearer_methods_supported"] = ["header"]
        document["resource_name"] = resource.name
        return orjson.dumps(document)

    def choose_caching(self, path: str) -> str:
        """Return the Cache-Control of the document at `path`.

        SEC: a document that repeats the request's Host must not be cached for others.
        """
        resource = self.find(path)
        is_fixed = self._links.is_fixed or (resource is not None and bool(resource.url))
        return "public, max-age=300" if is_fixed else "no-store"

    def build_address(self, exchange: Exchange, path: str) -> str:
        """Return the URL of a resource's document, with the well-known suffix before its path."""
        return f"{self._links.build_origin(exchange)}/{WELL_KNOWN}/{DOCUMENT}{path}"

    def build_unauthorized(self, exchange: Exchange) -> ErrorAnswer:
        """Return the answer to all requests without valid credentials.

        SEC: it does not say what was wrong; the log does.
        """
        home = exchange.target.base if self._home is None else self._home
        address = self.build_address(exchange, home)
        return build_unauthorized(self._text, address)


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
