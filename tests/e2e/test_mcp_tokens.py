"""The tokens of assistants on a running service: the matrix, refusals, login by the SDK."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.auth import TokenStorage
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.e2e.assistants import Kind, connect
from tests.e2e.server import Server, free_port
from tests.e2e.token_server import AUDIENCE, TokenProcess
from tests.unit.access.authentication.token_cases import CASES, Case
from tests.unit.access.authentication.token_factory import TokenFactory

FACTORY = TokenFactory()
ALL = ["mcp/*", "digitaltwins/*", "models/*", "query/*"]
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "query_digital_twins", "arguments": {"query": "RETURN 1 AS x"}},
}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`twinframe mcp` that takes the factory's tokens."""
    folder = tmp_path_factory.mktemp("closed")
    keys = folder / "keys.json"
    keys.write_text(json.dumps(FACTORY.jwks()), encoding="utf-8")
    environment = {
        "Authentication__Enabled": "true",
        "Authentication__Audience": FACTORY.audience,
        "Authentication__Issuer": FACTORY.issuer,
        "Authentication__KeysFile": str(keys),
        "Authentication__MaxTokenLifetime": str(24 * 3600 + 300),
        "Authentication__Leeway": "30",
        "MCP__ResourceServerUrl": FACTORY.resource,
        "MCP__ServerName": "Our twins",
        "MCP__Version": "7.1",
    }
    server = Server(folder, environment=environment, workers=2, command="mcp")
    with server:
        yield server
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]
    assert "eyJ" not in log, "a token stands in the log"


def ask(
    server: Server, token: bytes | None, method: str = "POST", path: str = "/mcp", body: Any = CALL
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a request with a token."""
    headers: dict[str, Any] = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Connection": "close",
    }
    if token is not None:
        headers["Authorization"] = b"Bearer " + token
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.request(method, path, json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, answer.read()
    finally:
        connection.close()


def judge(answer: tuple[int, dict[str, str], bytes]) -> str:
    """The outcome in the words of the matrix: 200, 401, 403s for scopes, 403p for permissions."""
    status, headers, _body = answer
    if status != 403:
        return str(status)
    return "403p" if headers["content-type"].startswith("application/problem+json") else "403s"


# What no header can carry is refused before anybody looks at it; the API's matrix has those.
SENDABLE = [
    case
    for case in CASES
    if len(case.build(FACTORY)) < 16_000 and all(32 <= byte != 127 for byte in case.build(FACTORY))
]


@pytest.mark.parametrize("case", SENDABLE, ids=lambda case: f"{case.number} {case.name}")
def test_a_token_of_the_matrix(closed: Server, case: Case) -> None:
    token = case.build(FACTORY)
    answer = ask(closed, token)
    assert judge(answer) in case.expected
    assert len(token) < 20 or token not in answer[2]


def test_each_refusal_is_said_in_its_own_words(closed: Server) -> None:
    metadata = "https://twinframe.test/.well-known/oauth-protected-resource/mcp"
    for path in ("/mcp", "/sse", "/messages/00000000/", "/"):
        status, headers, body = ask(closed, None, path=path)
        assert status == 401
        assert json.loads(body)["resource_metadata"] == metadata
        assert headers["www-authenticate"] == f'Bearer realm="mcp", resource_metadata="{metadata}"'
    status, headers, body = ask(closed, FACTORY.token(scope="other", permissions=ALL))
    assert json.loads(body) == {
        "error": "insufficient_scope",
        "error_description": "Required scopes: mcp:tools",
        "scope": "mcp:tools",
    }
    assert headers["cache-control"] == "no-store"
    status, headers, body = ask(closed, FACTORY.token(scope="mcp:tools", permissions=ALL[1:]))
    assert json.loads(body)["detail"] == "User lacks required permission: mcp/*"


def test_discovery_names_the_urls_that_clients_use(closed: Server) -> None:
    documents = {
        path: json.loads(
            ask(closed, None, "GET", f"/.well-known/oauth-protected-resource{path}")[2]
        )
        for path in ("", "/mcp", "/sse")
    }
    assert {path: document["resource"] for path, document in documents.items()} == {
        "": "https://twinframe.test/mcp",
        "/mcp": "https://twinframe.test/mcp",
        "/sse": "https://twinframe.test/sse",
    }
    for document in documents.values():
        assert document["authorization_servers"] == [FACTORY.issuer]
        assert document["scopes_supported"] == ["mcp:tools", "mcp:resources"]
        assert document["bearer_methods_supported"] == ["header"]
        assert document["resource_name"] == "Our twins"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(("kind", "path"), [("sse", "/sse"), ("streamable", "/mcp")])
def test_the_handshake_names_the_server_as_it_is_set(
    closed: Server, kind: Kind, path: str, mode: str
) -> None:
    token = FACTORY.token(scope="mcp:tools", permissions=ALL).decode()

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with connect(kind, closed.url + path, mode, headers) as client:
            return client.server_info

    found = asyncio.run(run())
    assert (found.name, found.version) == ("Our twins", "7.1")


def test_a_stream_ends_with_its_token(closed: Server) -> None:
    token = FACTORY.token(
        scope="mcp:tools", permissions=ALL, exp=int(time.time()) - 28, iat=int(time.time()) - 60
    )
    status, headers, body = ask(closed, token, "GET", "/sse")  # until the server ends it
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert body.startswith(b"event: endpoint")


class Storage(TokenStorage):
    """Keeps what the client got."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def test_the_sdks_client_finds_its_issuer_logs_in_and_calls(tmp_path: Path) -> None:
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    issuer = TokenProcess(
        tmp_path, environment={"TokenServer__Audiences": json.dumps([AUDIENCE, origin])}
    )
    with issuer:
        known = issuer.add_client("assistant", *ALL)
        environment = {
            "Authentication__Enabled": "true",
            "Authentication__Audience": AUDIENCE,
            "Authentication__Authority": issuer.issuer,
            "MCP__ResourceServerUrl": origin,
        }
        server = Server(tmp_path, environment=environment, workers=2, port=port, command="mcp")

        async def use(kind: Kind, url: str) -> tuple[set[str], OAuthToken | None]:
            storage = Storage()
            provider = ClientCredentialsOAuthProvider(
                url, storage, known.client_id, known.client_secret, issuer=issuer.issuer
            )
            async with connect(kind, url, auth=provider) as client:
                names = {tool.name for tool in (await client.list_tools()).tools}
            return names, storage.tokens

        with server:
            for kind, path in (("streamable", "/mcp"), ("sse", "/sse"), ("sse", "")):
                names, tokens = asyncio.run(use(kind, origin + path))  # type: ignore[arg-type]
                assert "describe_graph" in names
                assert tokens is not None
                assert tokens.access_token not in server.log.read_text(encoding="utf-8")
        assert "Traceback" not in server.log.read_text(encoding="utf-8")
