"""A token server in this process, called as an HTTP server would call it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import orjson
import pytest

from twinframe.settings import Settings
from twinframe.tokenserver.application import build_key_store, build_token_server
from twinframe.tokenserver.clients import Client, Clients

FORM = "application/x-www-form-urlencoded"
ISSUER = "https://auth.example/tenant"
AUDIENCES = ("twinframe", "https://mcp.example")

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Answered:
    """What the server sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> str:
        assert self.status >= 400
        assert "access_token" not in self.json
        return str(self.json["error"])


class TokenServer:
    """A server with one client, `demo`."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        own = {"issuer": ISSUER, "audiences": AUDIENCES, **settings}
        self.settings = Settings.model_validate(
            {"token_server": {"directory": str(directory), **own}, "logging": {"access": False}}
        )
        build_key_store(self.settings).maintain()
        self.clients = Clients(directory)
        self.client, self.secret = self.add("demo", "mcp:tools", "mcp:resources")
        self.app = build_token_server(self.settings)

    def add(self, name: str, *scopes: str) -> tuple[Client, str]:
        return self.clients.add(name, ["digitaltwins/*", "models/read"], scopes)

    def send(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        headers: Headers = (),
        address: str = "192.0.2.1",
    ) -> Answered:
        path, _, query = target.partition("?")
        sent = [("host", "auth.example"), ("content-length", str(len(body))), *headers]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent],
            "client": (address, 50000),
            "server": ("127.0.0.1", 8081),
        }
        answered: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def collect(message: Any) -> None:
            answered.append(message)

        asyncio.run(self.app(scope, receive, collect))  # type: ignore[arg-type]
        given = [(name.decode(), value.decode()) for name, value in answered[0]["headers"]]
        assert len({name for name, _ in given}) == len(given), "a header was sent twice"
        content = b"".join(message.get("body", b"") for message in answered[1:])
        return Answered(answered[0]["status"], dict(given), content)

    def ask(
        self,
        body: Mapping[str, Any] | bytes,
        *headers: tuple[str, str],
        kind: str = "application/json",
        address: str = "192.0.2.1",
    ) -> Answered:
        """Send a body to the token endpoint."""
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        fields = [("content-type", kind), *headers]
        return self.send("POST", "/oauth/token", content, fields, address)

    def order(self, **changes: Any) -> dict[str, Any]:
        """A right request of `demo`, with changes; None leaves a parameter out."""
        right = {
            "grant_type": "client_credentials",
            "client_id": self.client.id,
            "client_secret": self.secret,
            "audience": "twinframe",
        }
        return {name: value for name, value in (right | changes).items() if value is not None}

    def decode(self, answer: Answered) -> dict[str, Any]:
        """Header and claims of the token of an answer, verified by the published keys."""
        assert answer.status == 200, answer.body
        token = answer.json["access_token"]
        header = jwt.get_unverified_header(token)
        keys = jwt.PyJWKSet.from_dict(self.send("GET", "/.well-known/jwks.json").json)
        claims = jwt.decode(
            token,
            keys[header["kid"]].key,
            algorithms=[self.settings.token_server.algorithm],
            audience=AUDIENCES,
            issuer=ISSUER,
        )
        return {"header": header, "claims": claims}


@pytest.fixture
def server(tmp_path: Path) -> TokenServer:
    """A token server with its own directory."""
    return TokenServer(tmp_path)
