"""Authenticates and authorizes use of the MCP server, and sends the 401 that starts a client's
login.

The gate decides about credentials, scopes and `mcp/*`. Each tool checks its further permissions
itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import orjson
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from twinframe.access.gate import Gate, RequestInfo
from twinframe.access.permission_grammar import WILDCARD, Permission
from twinframe.access.permissions import Caller
from twinframe.http.discovery import REALM, build_unauthorized, choose_text
from twinframe.http.errors import JSON, ErrorAnswer
from twinframe.http.exchange import SCOPE_KEY, Exchange, Scope, find_traceparent
from twinframe.http.guard import read_raw_path
from twinframe.mcp.access import CURRENT_CALLER, CURRENT_REQUEST_INFO
from twinframe.runtime.instruments.base import CURRENT_REQUEST, CURRENT_SUBJECT, CURRENT_TRACE
from twinframe.settings import Settings

USE_MCP = Permission(("mcp", WILDCARD))
"""The permission that every caller needs.

SEC: only a grant of all of `mcp` covers it, `mcp/read` does not.
"""

DEFAULT_SCOPES = ("mcp:tools",)

REQUEST_ID_KEY = "twinframe.request_id"
"""The key of a relayed request's id in its scope."""

CARRIED_KEY = "twinframe.carried"
"""The key in a message's scope of the texts that are sent with it to another worker."""

GRAPH = "graph"
"""The key of the id of the message's hosted graph."""

METADATA = "metadata"
"""The key of the message's discovery URL, if the settings do not give it."""

_WELL_KNOWN = "/.well-known/oauth-protected-resource"


class AccessGuard:
    """Admits callers to the MCP server. `gate` None admits everybody, anonymously."""

    def __init__(self, gate: Gate | None, settings: Settings) -> None:
        self._gate = gate
        self._scopes = settings.authorization.required_scopes or DEFAULT_SCOPES
        self._text = choose_text(settings.authentication)
        self._leeway = settings.authentication.leeway
        self._resource = settings.mcp.resource_server_url
        self._origin = settings.server.public_url

    async def identify(self, scope: Scope) -> Caller | None:
        """Return the caller of a request. Raises `Unauthenticated`."""
        if self._gate is None:
            return None
        return await self._gate.authenticate(scope["headers"], lambda: build_request_info(scope))

    async def admit(self, caller: Caller | None, scope: Scope) -> Caller | None:
        """Raise `ScopeMissing` or `PermissionMissing` unless the caller may use MCP.

        The returned caller has its permissions, so that they are read once for all that a message
        needs. SEC: it is for this message alone; for the next one they are read again.
        """
        if self._gate is None or caller is None:
            return None
        request_info = build_request_info(scope)
        self._gate.check_scopes(caller, self._scopes, request_info)
        return await self._gate.admit(caller, USE_MCP, request_info)

    def read_rest(self, caller: Caller | None) -> float | None:
        """Return the seconds until the caller's credential expires, including the leeway; None is
        never.
        """
        if caller is None or caller.expires is None:
            return None
        return max(0.0, caller.expires + self._leeway - time.time())

    def build_unauthorized(self, scope: Scope) -> ErrorAnswer:
        """Build the 401. SEC: it does not say what was wrong; the log does."""
        return build_unauthorized(self._text, self._find_metadata(scope))

    def build_scope_missing(self, scope: Scope) -> ErrorAnswer:
        """Build the 403 for scopes; its header lets a client request more from its issuer."""
        names = " ".join(self._scopes)
        body = {
            "error": "insufficient_scope",
            "error_description": f"Required scopes: {', '.join(self._scopes)}",
            "scope": names,
        }
        challenge = (
            f'Bearer realm="{REALM}", error="insufficient_scope", scope="{names}", '
            f'resource_metadata="{self._find_metadata(scope)}"'
        )
        headers = (
            ("content-type", JSON),
            ("www-authenticate", challenge),
            ("cache-control", "no-store"),
        )
        return ErrorAnswer(403, orjson.dumps(body), headers)

    def _find_metadata(self, scope: Scope) -> str:
        carried: Mapping[str, str] = scope.get(CARRIED_KEY, {})
        if METADATA in carried:
            return carried[METADATA]
        # SPEC: RFC 9728 section 3.1: the suffix is between host and path.
        if self._resource:
            parts = urlsplit(self._resource)
            path = parts.path.removesuffix("/") if parts.path == "/" else parts.path
            return f"{parts.scheme}://{parts.netloc}{_WELL_KNOWN}{path}"
        if self._origin:
            return f"{self._origin}{_WELL_KNOWN}"
        # NOTE: `Hosts` has admitted this name before any answer uses it.
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        return f"{scope['scheme']}://{host.decode('latin-1')}{_WELL_KNOWN}"


@contextmanager
def acting_as(caller: Caller | None, scope: Scope) -> Iterator[None]:
    """Set caller and request for the tools inside."""
    request_info = build_request_info(scope)
    tokens = (CURRENT_CALLER.set(caller), CURRENT_REQUEST_INFO.set(request_info))
    request = CURRENT_REQUEST.set(request_info.request_id)
    trace = find_traceparent(scope["headers"])
    traced = CURRENT_TRACE.set("" if trace is None else trace.text)
    subject = CURRENT_SUBJECT.set("" if caller is None else caller.shown)
    user = None if caller is None else build_user(caller)
    if user is not None:
        scope["user"] = user
    sdk_token = auth_context_var.set(user)
    try:
        yield
    finally:
        auth_context_var.reset(sdk_token)
        CURRENT_SUBJECT.reset(subject)
        CURRENT_TRACE.reset(traced)
        CURRENT_REQUEST.reset(request)
        CURRENT_REQUEST_INFO.reset(tokens[1])
        CURRENT_CALLER.reset(tokens[0])


def build_user(caller: Caller) -> AuthenticatedUser:
    """Build the caller for the SDK: a session only serves the caller that opened it.

    SEC: the credential itself is not passed on.
    """
    client = caller.claims.get("client_id") or caller.claims.get("azp")
    return AuthenticatedUser(
        AccessToken(
            token="",
            client_id=client if isinstance(client, str) else caller.kind,
            scopes=[],
            subject=caller.subject,
            claims={"iss": caller.claims.get("iss")},
        )
    )


def build_request_info(scope: Scope) -> RequestInfo:
    """Build the action for the audit log: method and path.

    SEC: without the query, which may contain what is not for a log.
    """
    client = scope.get("client")
    path = read_raw_path(scope).decode("ascii", "backslashreplace")
    return RequestInfo(
        f"{scope['method']} {path}", read_request_id(scope), client[0] if client else ""
    )


def read_request_id(scope: Scope) -> str:
    """Return the request's id: the guard's, or that of the other worker that sent it."""
    exchange: Exchange | None = scope.get(SCOPE_KEY)
    if exchange is not None:
        return exchange.request_id.decode("ascii")
    return str(scope.get(REQUEST_ID_KEY, ""))
