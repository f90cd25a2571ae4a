"""The token server as an ASGI application: its routes, documents and errors.

`grants` decides about tokens.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import falcon
import orjson
from authlib.oauth2.base import OAuth2Error
from falcon.asgi import App, Request, Response

from twinframe.errors import ConfigurationError, StorageError, TwinframeError
from twinframe.http.errors import MethodNotAllowed, build_status
from twinframe.http.exchange import Asgi
from twinframe.http.guard import Guard
from twinframe.http.line_log import open_access_log
from twinframe.http.messages import read_exchange, write_no_content
from twinframe.http.routing import BoundResponder, TableRouter
from twinframe.settings import ServerSettings, Settings
from twinframe.tokenserver.addresses import (
    AUTHORIZE,
    JWKS,
    TOKEN,
    Addresses,
    build_addresses,
    check_exposure,
    list_audiences,
)
from twinframe.tokenserver.clients import Clients
from twinframe.tokenserver.grants import TokenAnswer, TokenIssuer, TokenPolicy
from twinframe.tokenserver.key_ring import KeyRing
from twinframe.tokenserver.key_store import KeyPolicy, KeyStore
from twinframe.tokenserver.signing_keys import Algorithm
from twinframe.tokenserver.token_requests import build_request_error, parse_token_request

_LOG = logging.getLogger("twinframe.tokenserver")
_JSON = "application/json"
_BODY_BYTES = 16 * 1024
_MCP_HEADER = "MCP-Protocol-Version"
"""A header that MCP clients send with every request, including these."""
_KEYS_AGE = 300
_METADATA_AGE = 3600
_LONGEST_CHECK_SECONDS = 60.0
_NO_STORE = (("cache-control", "no-store"), ("pragma", "no-cache"))


def build_token_server(settings: Settings) -> Guard:
    """The outermost ASGI application. Raises `SettingsError`; it opens no file yet."""
    own = settings.token_server
    check_exposure(own)
    addresses = build_addresses(own)
    store = build_key_store(settings)
    policy = TokenPolicy(addresses.issuer, list_audiences(settings), own.token_lifetime)
    issuer = TokenIssuer(Clients(Path(own.directory)), policy, read_key=lambda: store.read().active)
    facts = addresses, settings.authorization.scopes_supported, own.algorithm
    metadata = render_metadata(*facts), render_metadata(*facts, for_mcp=True)
    lifespan = _Upkeep(store, min(_LONGEST_CHECK_SECONDS, own.key_lifetime / 4))
    responders = _Responders(store, issuer, metadata, min(_KEYS_AGE, own.key_lifetime))
    app = App(media_type=_JSON, router=_build_router(responders, addresses), middleware=[lifespan])
    app.add_error_handler(OAuth2Error, _write_oauth_error)
    app.add_error_handler(TwinframeError, _write_error)
    app.add_error_handler(falcon.HTTPError, _write_http_error)
    app.add_error_handler(Exception, _raise_on)
    log = open_access_log(settings.logging)
    responders.guard = Guard(cast("Asgi", app), build_server_settings(settings), access_log=log)
    return responders.guard


def build_key_store(settings: Settings) -> KeyStore:
    """Build the store of the signing keys from the settings."""
    own = settings.token_server
    policy = KeyPolicy(own.algorithm, own.token_lifetime, own.key_lifetime)
    return KeyStore(Path(own.directory), policy)


def build_server_settings(settings: Settings) -> ServerSettings:
    """Build the settings of listening: its own address and TLS, one worker, the time-outs of
    `Server`.
    """
    own = settings.token_server
    return settings.server.model_copy(
        update={
            "bind": own.bind,
            "tls": own.tls,
            "workers": 1,
            "base_path": "",
            "public_url": "",
            "max_body_bytes": _BODY_BYTES,
        }
    )


class _Responders:
    """The responders of the token server, one method each, and the state that they share."""

    guard: Guard

    def __init__(
        self, store: KeyStore, issuer: TokenIssuer, metadata: tuple[bytes, bytes], keys_age: int
    ) -> None:
        self._store = store
        self._issuer = issuer
        self._metadata = metadata
        self._keys_age = keys_age
        self._keys: tuple[KeyRing | None, bytes] = (None, b"")

    async def issue_token(self, request: Request, response: Response) -> None:
        """POST: issue a token for a client's credentials."""
        if request.query_string:
            # SEC: URLs end up in logs; RFC 6749 section 2.3.1 forbids credentials in them.
            raise build_request_error("Parameters belong into the body, not into the URL.")
        exchange = read_exchange(request)
        body = await exchange.read_body()
        headers: list[tuple[bytes, bytes]] = exchange.scope["headers"]
        authorization = [value for name, value in headers if name == b"authorization"]
        sent = parse_token_request(request.content_type, body, authorization)
        client = exchange.scope.get("client")
        _write_answer(response, self._issuer.answer(sent, client[0] if client else ""))

    async def refuse_authorization(self, _request: Request, response: Response) -> None:
        """GET and POST: refuse, as no grant sends a browser here."""
        body = {
            "error": "unsupported_response_type",
            "error_description": "This server has the grant client_credentials alone.",
        }
        _write_answer(response, TokenAnswer(400, body, ()))

    async def read_keys(self, _request: Request, response: Response) -> None:
        """GET: the JWK Set."""
        ring = self._store.read()
        if ring is not self._keys[0]:
            self._keys = (ring, render_jwks(ring))
        _write_public(response, self._keys[1], self._keys_age)

    async def read_metadata(self, request: Request, response: Response) -> None:
        """GET: the metadata document, for MCP clients in the form that they accept."""
        for_mcp = request.get_header(_MCP_HEADER) is not None
        _write_public(response, self._metadata[for_mcp], _METADATA_AGE)
        response.set_header("vary", _MCP_HEADER)

    async def read_live(self, _request: Request, response: Response) -> None:
        """GET: 200 as long as the worker answers."""
        response.data = b'{"status":"live"}'
        response.set_header("cache-control", "no-store")

    async def read_ready(self, _request: Request, response: Response) -> None:
        """GET: 200 while the keys can be read and no drain has begun, else 503."""
        ready = not self.guard.draining
        try:
            self._store.read()
        except ConfigurationError:
            ready = False
        response.status = 200 if ready else 503
        response.data = b'{"status":"ready"}' if ready else b'{"status":"not ready"}'
        response.set_header("cache-control", "no-store")


class _Upkeep:
    """Keeps the keys maintained while the server runs."""

    def __init__(self, store: KeyStore, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    async def process_startup(self, _scope: Any, _event: Any) -> None:
        """Prepare the keys; an error stops the start."""
        await asyncio.to_thread(self._store.maintain)
        self._task = asyncio.create_task(self._run())

    async def process_shutdown(self, _scope: Any, _event: Any) -> None:
        """Stop the maintenance.

        A rotation running in its thread is finished or has not happened.
        """
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                if await asyncio.to_thread(self._store.maintain):
                    _LOG.info("The keys have changed: rotated, or one was dropped.")
            except (ConfigurationError, OSError) as error:
                _LOG.error("The keys cannot be maintained: %s", error)


def _build_router(responders: _Responders, addresses: Addresses) -> TableRouter:
    public: dict[str, BoundResponder] = dict.fromkeys(
        addresses.list_metadata_paths(), responders.read_metadata
    )
    public |= dict.fromkeys(addresses.list_paths(JWKS), responders.read_keys)
    router = TableRouter()
    for path, responder in public.items():
        router.add(path, "GET", responder)
        router.add(path, "HEAD", responder)
        router.add(path, "OPTIONS", _allow_reading)
    for path in addresses.list_paths(TOKEN):
        router.add(path, "POST", responders.issue_token)
    for path in addresses.list_paths(AUTHORIZE):
        router.add(path, "GET", responders.refuse_authorization)
        router.add(path, "POST", responders.refuse_authorization)
    probes = {
        "/health": responders.read_ready,
        "/health/live": responders.read_live,
        "/health/ready": responders.read_ready,
    }
    for path, probe in probes.items():
        router.add(path, "GET", probe)
        router.add(path, "HEAD", probe)
    for _, methods in router.paths():
        methods.setdefault("OPTIONS", _build_options(", ".join(sorted({*methods, "OPTIONS"}))))
    return router


def _build_options(allowed: str) -> BoundResponder:
    async def name_methods(_request: Request, response: Response) -> None:
        write_no_content(response)
        response.set_header("allow", allowed)

    return name_methods


async def _allow_reading(_request: Request, response: Response) -> None:
    """OPTIONS of documents that every web page may read."""
    write_no_content(response)
    response.set_header("access-control-allow-origin", "*")
    response.set_header("access-control-allow-methods", "GET, HEAD, OPTIONS")
    response.set_header("access-control-allow-headers", "*")
    response.set_header("access-control-max-age", "600")


# --- answers --------------------------------------------------------------------------------------


def _write_public(response: Response, body: bytes, age: int) -> None:
    response.data = body
    response.content_type = _JSON
    response.set_header("access-control-allow-origin", "*")
    response.set_header("cache-control", f"public, max-age={age}")


def _write_answer(response: Response, answer: TokenAnswer) -> None:
    response.status = answer.status
    response.data = orjson.dumps(answer.body)
    for name, value in (*answer.headers, *_NO_STORE):
        response.set_header(name, value)
    response.content_type = _JSON


async def _write_oauth_error(
    _request: Request, response: Response, error: OAuth2Error, _params: dict[str, Any]
) -> None:
    status, body, headers = error()
    _write_answer(response, TokenAnswer(status, body, tuple(headers)))


async def _write_error(
    _request: Request, response: Response, error: TwinframeError, _params: dict[str, Any]
) -> None:
    status = build_status(error)
    headers: list[tuple[str, str]] = []
    description = error.message
    if isinstance(error, MethodNotAllowed):
        headers.append(("allow", ", ".join(error.allowed)))
    if isinstance(error, (StorageError, ConfigurationError)):
        _LOG.error("%s", error.message)
        status, description = 503, "The server cannot read its files; its log says why."
        headers.append(("retry-after", "1"))
    code = "server_error" if status >= 500 else "invalid_request"
    body = {"error": code, "error_description": description}
    _write_answer(response, TokenAnswer(status, body, tuple(headers)))


async def _write_http_error(
    request: Request, response: Response, error: falcon.HTTPError, _params: dict[str, Any]
) -> None:
    description = error.description or error.title or ""
    if error.status_code == 404:
        description = f"Nothing is at {request.path!a}."
    body = {"error": "invalid_request", "error_description": description}
    _write_answer(response, TokenAnswer(error.status_code, body, ()))


async def _raise_on(
    _request: Request, _response: Response, error: Exception, _params: dict[str, Any]
) -> None:
    """Let an unexpected error reach the guard, which logs it and answers."""
    raise error


def render_metadata(
    addresses: Addresses, scopes: tuple[str, ...], algorithm: Algorithm, *, for_mcp: bool = False
) -> bytes:
    """Render the metadata document; one text for both standards.

    SPEC: RFC 8414 section 2: a server without a grant that uses it names no authorization endpoint.
    NOTE: the SDKs of MCP (Python 2.0 and TypeScript 1.20) accept no document without one, whatever
    the grant: they get its address, and no response type for it.
    """
    document: dict[str, object] = {
        "issuer": addresses.issuer,
        **({"authorization_endpoint": addresses.base + AUTHORIZE} if for_mcp else {}),
        "token_endpoint": addresses.token_endpoint,
        "jwks_uri": addresses.base + JWKS,
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "response_types_supported": [],  # SPEC: a required member, without values here
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [algorithm],
    }
    if scopes:  # SPEC: RFC 8414 section 3.2: no empty arrays
        document["scopes_supported"] = list(scopes)
    return orjson.dumps(document)


def render_jwks(ring: KeyRing) -> bytes:
    """Render the published keys as a JWK Set (RFC 7517 section 5): public halves only."""
    return orjson.dumps({"keys": [key.public_jwk for key in ring.list_published()]})
