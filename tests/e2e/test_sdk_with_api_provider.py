"""The vendor's SDK against the Api provider: what the service says now is what counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.digitaltwins.core import DigitalTwinsClient

from tests.e2e.permission_service import PermissionService
from tests.e2e.server import Certificates, Server
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess


class Credential:
    """A `TokenCredential` that gets its tokens by client credentials."""

    def __init__(self, tokens: TokenProcess, client: Registered) -> None:
        self._tokens = tokens
        self._client = client

    def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        return AccessToken(self._tokens.get_token(self._client), int(time.time()) + 3600)


@pytest.fixture(scope="module")
def service() -> Iterator[PermissionService]:
    with PermissionService() as running:
        yield running


@pytest.fixture(scope="module")
def tokens(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[TokenProcess]:
    with TokenProcess(tmp_path_factory.mktemp("tokens"), certificates) as running:
        yield running


@pytest.fixture(scope="module")
def asking(
    tmp_path_factory: pytest.TempPathFactory,
    tokens: TokenProcess,
    certificates: Certificates,
    service: PermissionService,
) -> Iterator[Server]:
    environment = {
        "Authentication__Enabled": "true",
        "Authentication__Authority": tokens.issuer,
        "Authentication__Audience": AUDIENCE,
        "Authentication__CaFile": str(certificates.authority),
        "Authorization__Provider": "Api",
        "Authorization__ApiProvider__BaseUrl": f"http://127.0.0.1:{service.server_port}",
        "Authorization__ApiProvider__ResourceName": "building",
        "Authorization__ApiProvider__CacheExpirationMinutes": "0",
    }
    server = Server(tmp_path_factory.mktemp("asking"), certificates, environment=environment)
    with server:
        yield server
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


def read_status(client: DigitalTwinsClient) -> int | None:
    """What the service answers to a read of a twin that is nobody's."""
    with pytest.raises(HttpResponseError) as raised:
        client.get_digital_twin("nobody")
    return raised.value.status_code


def test_a_permission_that_is_taken_away_is_gone_with_the_next_call(
    asking: Server, tokens: TokenProcess, certificates: Certificates, service: PermissionService
) -> None:
    caller = tokens.add_client("caller", "digitaltwins/*")  # what its token claims does not count
    authority = str(certificates.authority)
    client = DigitalTwinsClient(asking.url, Credential(tokens, caller), connection_verify=authority)
    assert read_status(client) == 403
    user = f"{caller.client_id}@clients"
    assert service.asked[-1] == ("building", user)
    for _ in range(3):
        service.granted["building", user] = ["digitaltwins/read"]
        assert read_status(client) == 404
        service.granted["building", user] = []
        assert read_status(client) == 403
    client._client.close()
