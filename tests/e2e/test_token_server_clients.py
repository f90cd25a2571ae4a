"""Who uses the token server: the service, the vendor's SDK, an MCP client; and API keys."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.digitaltwins.core import DigitalTwinsClient
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.e2e.server import Certificates, Server
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess, fetch
from tests.waiting import PATIENCE, join, start

MODEL = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Thing;1",
    "@type": "Interface",
    "contents": [{"@type": "Property", "name": "value", "schema": "long"}],
}


@pytest.fixture(scope="module")
def tokens(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[TokenProcess]:
    """A token server over TLS."""
    folder = tmp_path_factory.mktemp("tokens")
    keys = {"Authentication__ApiKeys__File": str(folder / "keys.sqlite")}
    with TokenProcess(folder, certificates, keys) as running:
        yield running


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates, tokens: TokenProcess
) -> Iterator[Server]:
    """The service over TLS with two workers, which takes its tokens and API keys."""
    settings = {
        "Authentication__Enabled": "true",
        "Authentication__Mode": "Jwt,ApiKey",
        "Authentication__Authority": tokens.issuer,
        "Authentication__Audience": AUDIENCE,
        "SSL_CERT_FILE": str(certificates.authority),
        **tokens.environment,
    }
    with Server(tmp_path_factory.mktemp("service"), certificates, 2, settings) as running:
        yield running
    assert "Traceback" not in running.log.read_text(encoding="utf-8")


class Credential:
    """A credential of the SDK that asks the token server each time."""

    def __init__(self, tokens: TokenProcess, client: Registered) -> None:
        self._tokens = tokens
        self._client = client

    def get_token(self, *_scopes: str, **_options: object) -> AccessToken:
        _status, _headers, answer = self._tokens.ask(self._client)
        return AccessToken(answer["access_token"], int(time.time()) + answer["expires_in"])


def build_sdk(service: Server, tokens: TokenProcess, *permissions: str) -> DigitalTwinsClient:
    client = tokens.add_client("sdk", *permissions)
    assert service.certificates is not None
    authority = str(service.certificates.authority)
    return DigitalTwinsClient(service.url, Credential(tokens, client), connection_verify=authority)


def test_the_vendors_sdk_works_with_tokens_of_this_server_over_tls(
    service: Server, tokens: TokenProcess
) -> None:
    writer = build_sdk(service, tokens, "digitaltwins/*", "models/*", "query/read")
    writer.create_models([MODEL])
    twin: dict[str, Any] = {"$metadata": {"$model": MODEL["@id"]}, "value": 7}
    writer.upsert_digital_twin("thing", twin)
    assert writer.get_digital_twin("thing")["value"] == 7
    assert len(list(writer.query_twins("SELECT * FROM DIGITALTWINS"))) == 1
    reader = build_sdk(service, tokens, "digitaltwins/read")
    assert reader.get_digital_twin("thing")["value"] == 7
    with pytest.raises(HttpResponseError) as caught:
        reader.upsert_digital_twin("thing", twin)
    assert caught.value.status_code == 403
    writer.delete_digital_twin("thing")


def test_a_token_of_another_server_is_refused(
    service: Server, tmp_path: Path, certificates: Certificates
) -> None:
    with TokenProcess(tmp_path, certificates) as stranger:
        sdk = build_sdk(service, stranger, "digitaltwins/*")
        with pytest.raises(ClientAuthenticationError):
            sdk.get_digital_twin("thing")


def test_a_rotation_of_keys_is_followed_by_the_service_and_old_tokens_stay_valid(
    service: Server, tokens: TokenProcess, certificates: Certificates
) -> None:
    client = tokens.add_client("lister", "models/read")
    url, ca = f"{service.url}/models", certificates.authority
    shown = [tokens.get_token(client)]
    for _ in range(2):
        assert tokens.run("auth-server", "--rotate-key").exit_code == 0
        shown.append(tokens.get_token(client))
    statuses = [fetch(url, ca, Authorization=f"Bearer {token}") for token in shown * 2]
    assert statuses == [200] * 6
    assert fetch(url, ca) == 401


def test_an_api_key_is_taken_until_it_is_revoked_by_every_worker(
    service: Server, tokens: TokenProcess, certificates: Certificates
) -> None:
    done = tokens.run(
        "apikey", "create", "--name", "ci", "--permission", "models/read", "--expires", "1d"
    )
    key, ca = done.stdout.strip(), certificates.authority
    models, query = f"{service.url}/models", f"{service.url}/digitaltwins/x"
    assert [fetch(models, ca, X_API_Key=key) for _ in range(8)] == [200] * 8
    assert fetch(query, ca, X_API_Key=key) == 403
    assert fetch(models, ca, X_API_Key=key[:-1] + "x") == 401
    [listed] = json.loads(tokens.run("apikey", "list", "--json").stdout)
    assert listed["state"] == "valid"
    assert tokens.run("apikey", "revoke", listed["id"]).exit_code == 0
    # Each request is a connection of its own, so both workers are asked.
    assert [fetch(models, ca, X_API_Key=key) for _ in range(16)] == [401] * 16


class Storage:
    """Where the MCP client keeps what it got."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("a client of client credentials registers nothing")


@contextmanager
def protected_resource(issuer: str) -> Iterator[str]:
    """A resource that answers 401 and names the token server, as the MCP server does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            origin = f"http://127.0.0.1:{self.server.server_address[1]}"
            if self.path.startswith("/.well-known/oauth-protected-resource"):
                document = {
                    "resource": origin,
                    "authorization_servers": [issuer],
                    "scopes_supported": ["mcp:tools", "mcp:resources"],
                }
                self.answer(200, document)
            elif self.headers.get("Authorization", "").startswith("Bearer "):
                self.answer(200, {})
            else:
                self.answer(401, {}, f"{origin}/.well-known/oauth-protected-resource")

        def answer(self, status: int, document: object, metadata: str = "") -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            if metadata:
                challenge = f'Bearer realm="mcp", resource_metadata="{metadata}"'
                self.send_header("WWW-Authenticate", challenge)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as resource:
        thread = start(resource.serve_forever)
        try:
            yield f"http://127.0.0.1:{resource.server_address[1]}"
        finally:
            resource.shutdown()
            join(thread)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("path", ["", "/tenant"])
def test_the_mcp_sdk_finds_the_server_and_gets_its_token(
    tmp_path: Path, method: Any, path: str
) -> None:
    server = TokenProcess(tmp_path)
    issuer = server.issuer + path
    with protected_resource(issuer) as resource:
        server.environment = {
            "TokenServer__Issuer": issuer,
            "TokenServer__Audiences": json.dumps([resource]),
        }
        with server:
            client = server.add_client("assistant", scope="mcp:tools")
            storage = Storage()
            provider = ClientCredentialsOAuthProvider(
                resource,
                storage,
                client.client_id,
                client.client_secret,
                token_endpoint_auth_method=method,
                issuer=issuer,
            )

            async def call() -> int:
                async with httpx2.AsyncClient(auth=provider, timeout=PATIENCE) as caller:
                    return (await caller.get(resource)).status_code

            assert asyncio.run(call()) == 200
    assert storage.tokens is not None
    assert storage.tokens.scope == "mcp:tools"  # of all that the resource names, what is its own
