"""The OAuth authorization server, which turns a token request into a token or an OAuth error.

Authlib defines the grant's order of checks and the forms of answers; what it leaves open or too
permissive (audiences, client enumeration, key ids, two ways to authenticate) is decided here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import jwt
from authlib.oauth2.base import OAuth2Error
from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Request
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6749.models import ClientMixin
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator

from twinframe.access.back_off import BackOff
from twinframe.settings.section import is_origin
from twinframe.tokenserver.clients import Client, Clients
from twinframe.tokenserver.signing_keys import SigningKey
from twinframe.tokenserver.token_requests import ClientRefused, TokenRequest, build_request_error

_LOG = logging.getLogger("twinframe.tokenserver")
_GRANT = "client_credentials"
# SEC: failed ids are remembered and logged; ids are 24 characters, longer ones are invented.
_LONGEST_ID = 64
# NOTE: Authlib refuses http:// here, which is right for a network and wrong for loopback; the check
# at the start has decided that. The text is not sent anywhere.
_URI = "https://token-server.invalid/oauth/token"

# SEC: Authlib writes whole tokens to its log at level debug.
logging.getLogger("authlib").setLevel(logging.INFO)


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """An answer of the token endpoint."""

    status: int
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TokenPolicy:
    """The contents of tokens: `iss`, the possible audiences, and their lifetime in seconds."""

    issuer: str
    audiences: tuple[str, ...]
    lifetime: int


class InvalidTargetError(OAuth2Error):  # type: ignore[misc]  # authlib has no types
    """The audience is unknown, or not allowed for this client (RFC 8707 section 2)."""

    error = "invalid_target"


class UnsupportedGrant(OAuth2Error):  # type: ignore[misc]  # authlib has no types
    """A grant that this server does not support. SEC: the request is not echoed."""

    error = "unsupported_grant_type"
    description = f"The grant_type must be {_GRANT}."


class HeldBack(OAuth2Error):  # type: ignore[misc]  # authlib has no types
    """Too many failures; `wait` is in seconds."""

    error = "temporarily_unavailable"
    description = "Too many failed attempts to authenticate; try again later."
    status_code = 429

    def __init__(self, wait: float) -> None:
        super().__init__()
        self._wait = wait

    def get_headers(self) -> list[tuple[str, str]]:
        """Return the headers with the time to wait."""
        headers: list[tuple[str, str]] = [*super().get_headers()]
        return [*headers, ("Retry-After", str(int(self._wait) + 1))]


class _Request(OAuth2Request):  # type: ignore[misc]  # authlib has no types
    def __init__(self, sent: TokenRequest, address: str) -> None:
        super().__init__("POST", _URI)
        self.sent = sent
        self.address = address
        self.payload = BasicOAuth2Payload(dict(sent.parameters))


class _TokenClient(ClientMixin):  # type: ignore[misc]  # authlib has no types
    """A client in one request; `audience` is that of its token."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.audience = ""

    def get_client_id(self) -> str:
        return self.client.id

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == _GRANT

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """Return those of the requested scopes that the client has; None if it has none of them.

        SPEC: RFC 6749 section 3.3. Clients request all scopes that a resource's metadata names, so
        the others are left out, not refused. Without a request, all are granted.
        """
        if scope is None:
            return " ".join(self.client.scopes)
        # SPEC: one blank between two names; authlib and `str.split` accept line ends as well.
        wanted = set(scope.split(" "))
        return " ".join(name for name in self.client.scopes if name in wanted) or None


class _Grant(ClientCredentialsGrant):  # type: ignore[misc]  # authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post")

    def validate_token_request(self) -> None:
        super().validate_token_request()
        client: _TokenClient = self.request.client
        client.audience = self.server.choose_audience(client.client, self.request.payload.data)


class TokenIssuer(AuthorizationServer):  # type: ignore[misc]  # authlib has no types
    """Issues access tokens (RFC 9068) to clients by their credentials (RFC 6749 section 4.4).

    `read_key` returns the present signing key.
    """

    def __init__(
        self, clients: Clients, policy: TokenPolicy, read_key: Callable[[], SigningKey]
    ) -> None:
        super().__init__()
        self._clients = clients
        self._policy = policy
        self._read_key = read_key
        self._back_off = BackOff()
        self.register_grant(_Grant)
        self.register_token_generator(
            "default", BearerTokenGenerator(self._sign, expires_generator=policy.lifetime)
        )

    def answer(self, sent: TokenRequest, address: str) -> TokenAnswer:
        """Return the answer to a token request from this network address. Raises `OAuth2Error`."""
        grant_type = sent.parameters.get("grant_type")
        if grant_type is None:
            raise build_request_error("grant_type is missing.")
        if grant_type != _GRANT:
            raise UnsupportedGrant
        answer: TokenAnswer = self.create_token_response(_Request(sent, address))
        return answer

    # --- what Authlib asks of a server ------------------------------------------------------------

    def create_oauth2_request(self, request: _Request) -> _Request:
        """Return the request as it was built."""
        return request

    def handle_response(
        self, status: int, body: dict[str, Any], headers: Sequence[tuple[str, str]]
    ) -> TokenAnswer:
        """Return the answer as a value."""
        return TokenAnswer(status, body, tuple(headers))

    def authenticate_client(
        self, request: _Request, _methods: Sequence[str], _endpoint: str = "token"
    ) -> _TokenClient:
        """Return the client of a request; an unknown one and a wrong secret get the same refusal.

        SEC: the right secret is accepted at any time. Behind a proxy all callers have one address,
        and otherwise any caller that knows a client's id, which is no secret, could lock it out.
        """
        shown = request.sent.credentials
        name = shown.client_id[:_LONGEST_ID]
        key = (request.address, name)
        client = self._clients.authenticate(shown.client_id, shown.client_secret)
        if client is not None:
            self._back_off.forget(key)
            return _TokenClient(client)
        wait = self._back_off.read_wait(key)
        if wait > 0:
            raise HeldBack(wait)
        self._back_off.add_failure(key)
        _LOG.warning(
            "A client could not be authenticated.",
            extra={"client_id": name, "address": request.address},
        )
        raise ClientRefused

    def validate_requested_scope(self, scope: str | None) -> None:
        """Accept any scope: the grant includes those that the client has."""

    def save_token(self, token: dict[str, Any], request: _Request) -> None:
        """Log that a token was issued; tokens are signed, not stored."""
        client: _TokenClient = request.client
        _LOG.info(
            "A token was issued.",
            extra={
                "client_id": client.client.id,
                "client": client.client.name,
                "audience": client.audience,
                "scope": token.get("scope", ""),
                "address": request.address,
            },
        )

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Do nothing: there is no listener."""

    # --- what Authlib has not ---------------------------------------------------------------------

    def choose_audience(self, client: Client, parameters: dict[str, str]) -> str:
        """Return the audience requested by `audience` or `resource`, else the only one."""
        audience, resource = parameters.get("audience"), parameters.get("resource")
        allowed = [name for name in self._policy.audiences if name in (client.audiences or (name,))]
        named = [name for name in (audience, resource) if name is not None]
        found = {_find_audience(name, allowed) for name in named}
        if len(named) == 2 and len(found) > 1:
            raise InvalidTargetError("audience and resource name different targets.")
        if not named and len(allowed) == 1:
            return allowed[0]
        if not named:
            raise InvalidTargetError("audience or resource must say what the token is for.")
        target = found.pop()
        if target is None:
            raise InvalidTargetError("This client gets no tokens for that audience.")
        return target

    def _sign(self, client: _TokenClient, scope: str, **_more: object) -> str:
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self._policy.issuer,
            # SEC: no user's `sub` has this form (RFC 9700 section 4.15).
            "sub": f"{client.client.id}@clients",
            "aud": client.audience,
            "iat": now,
            "exp": now + self._policy.lifetime,
            "jti": uuid4().hex,
            "client_id": client.client.id,
            "permissions": list(client.client.permissions),
        }
        if scope:
            claims["scope"] = scope
        key = self._read_key()
        header = {"typ": "at+jwt", "kid": key.kid}
        return jwt.encode(claims, key.private_key, algorithm=key.algorithm, headers=header)


def _find_audience(name: str, allowed: Sequence[str]) -> str | None:
    """Return the allowed audience that `name` denotes.

    NOTE: clients add a slash to a URL that is an origin alone (RFC 3986 section 6.2.3 says both are
    the same); the token has the service's configured form.
    """
    if name in allowed:
        return name
    origin = name.removesuffix("/")
    if not is_origin(origin):
        return None
    return next((known for known in allowed if known.removesuffix("/") == origin), None)
