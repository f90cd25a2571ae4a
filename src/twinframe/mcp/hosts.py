"""Checks the host and origin of requests to the MCP server, with CORS for allowed origins.

A page of another origin is refused whatever its credentials.
"""

from __future__ import annotations

from collections.abc import Iterable

from twinframe.http.errors import ErrorAnswer, render_envelope
from twinframe.http.exchange import Scope
from twinframe.http.links import KnownHosts
from twinframe.settings import Settings

Header = tuple[bytes, bytes]

_METHODS = b"GET, POST, OPTIONS"
_REQUEST_HEADERS = (
    b"Authorization, Content-Type, X-API-Key, Accept, MCP-Protocol-Version, Mcp-Session-Id, "
    b"Mcp-Method, Mcp-Name, Last-Event-ID"
)
_ANSWER_HEADERS = b"Mcp-Session-Id, WWW-Authenticate, Retry-After, x-request-id"


class Hosts:
    """The names of this server, and the origins of pages that may use it.

    `binds` are the addresses it listens on. SEC: a page that rebinds its own name to this address
    sends that name in Host, and in Origin; neither is among these.
    """

    def __init__(self, settings: Settings, binds: Iterable[str]) -> None:
        self._known = KnownHosts(settings, binds)
        self._origins = frozenset(origin.lower() for origin in settings.cors.origins)
        self._max_age = b"%d" % settings.cors.max_age

    def knows_host(self, host: str) -> bool:
        """Return whether `host`, with or without a port, is a name of this server."""
        return self._known.knows(host)

    def knows_origin(self, origin: str) -> bool:
        """Return whether a page of `origin` may use this server: its own, or one of
        `Cors__Origins`.
        """
        origin = origin.lower()
        if origin in self._origins or "*" in self._origins:
            return True
        scheme, _, authority = origin.partition("://")
        return scheme in ("http", "https") and self.knows_host(authority)

    def check(self, scope: Scope) -> ErrorAnswer | None:
        """Return the refusal of a request by its Host (421) or Origin (403); None admits it."""
        host, origin = "", None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1")
            elif name == b"origin":
                origin = value.decode("latin-1")
        if not self.knows_host(host):
            text = (
                f"The Host {host!a} is not a name of this MCP server. If it is, set "
                "MCP__ResourceServerUrl, Server__PublicUrl or MCP__AllowedHosts__0."
            )
            return build_refusal(421, "MisdirectedRequest", text)
        if origin is not None and not self.knows_origin(origin):
            text = (
                f"Pages of the origin {origin!a} may not use this MCP server. If they should, set "
                "Cors__Origins__0."
            )
            return build_refusal(403, "OriginNotAllowed", text)
        return None

    def build_preflight(self, scope: Scope) -> ErrorAnswer:
        """Build the answer to OPTIONS, CORS or not; the request itself is checked when it comes."""
        headers = [("allow", _METHODS.decode())]
        if find_header(scope, b"access-control-request-method") is not None:
            headers += [
                ("access-control-allow-methods", _METHODS.decode()),
                ("access-control-allow-headers", _REQUEST_HEADERS.decode()),
                ("access-control-max-age", self._max_age.decode()),
            ]
        return ErrorAnswer(204, b"", tuple(headers))


def build_cors_headers(scope: Scope) -> list[Header]:
    """Build the headers that let a page read the answer; call it for a known origin."""
    origin = find_header(scope, b"origin")
    if origin is None:
        return []
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _ANSWER_HEADERS),
        (b"vary", b"Origin"),
    ]


def build_refusal(status: int, code: str, text: str, *headers: tuple[str, str]) -> ErrorAnswer:
    """Build an error answer of the MCP server itself, in the envelope of the API's errors."""
    fixed = (("content-type", "application/json; charset=utf-8"),)
    return ErrorAnswer(status, render_envelope(code, text), (*fixed, *headers))


def find_header(scope: Scope, name: bytes) -> bytes | None:
    """Return the value of the first header of that lower-case name."""
    found: bytes | None = next((value for key, value in scope["headers"] if key == name), None)
    return found
