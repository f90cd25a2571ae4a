"""What clients and services find without a token: metadata, keys, health; and what they do not."""

from __future__ import annotations

from pathlib import Path

import jwt
import pytest
from mcp.shared.auth import OAuthMetadata

from tests.unit.tokenserver.conftest import ISSUER, TokenServer
from twinframe.errors import SettingsError
from twinframe.settings import Settings
from twinframe.tokenserver.addresses import build_addresses, check_exposure, list_audiences
from twinframe.tokenserver.application import build_key_store

NAMES = ("oauth-authorization-server", "openid-configuration")


def test_the_metadata_stands_at_every_address_that_clients_try(server: TokenServer) -> None:
    paths = [
        form
        for name in NAMES
        for form in (
            f"/.well-known/{name}",
            f"/.well-known/{name}/tenant",
            f"/tenant/.well-known/{name}",
        )
    ]
    bodies = {server.send("GET", path).body for path in paths}
    assert len(bodies) == 1
    assert server.send("GET", "/.well-known/openid-configuration/other").status == 404
    assert server.send("GET", "/other/.well-known/openid-configuration").status == 404


def test_the_metadata_is_what_an_mcp_client_takes(server: TokenServer) -> None:
    version = [("mcp-protocol-version", "2025-11-25")]
    answer = server.send("GET", "/.well-known/oauth-authorization-server", headers=version)
    document = OAuthMetadata.model_validate_json(answer.body)
    assert str(document.issuer) == ISSUER
    assert str(document.token_endpoint) == f"{ISSUER}/oauth/token"
    assert document.grant_types_supported == ["client_credentials"]
    assert document.response_types_supported == []  # so that nobody is sent to the endpoint
    assert document.code_challenge_methods_supported is None
    assert document.scopes_supported == ["mcp:tools", "mcp:resources"]


@pytest.mark.parametrize("name", ["oauth-authorization-server", "openid-configuration"])
def test_the_metadata_offers_nothing_that_is_refused(server: TokenServer, name: str) -> None:
    answer = server.send("GET", f"/.well-known/{name}")
    document = answer.json
    assert "authorization_endpoint" not in document
    assert "code_challenge_methods_supported" not in document
    assert document["response_types_supported"] == []
    assert document["grant_types_supported"] == ["client_credentials"]
    assert answer.headers["vary"] == "MCP-Protocol-Version"


@pytest.mark.parametrize(
    "issuer", ["https://a.example", "https://a.example/", "https://a.example/t/", ISSUER]
)
def test_the_issuer_is_the_same_in_metadata_and_tokens_to_the_byte(
    tmp_path: Path, issuer: str
) -> None:
    server = TokenServer(tmp_path, issuer=issuer)
    document = server.send("GET", "/.well-known/openid-configuration").json
    assert document["issuer"] == issuer
    assert document["token_endpoint"] == f"{issuer.rstrip('/')}/oauth/token"
    token = server.ask(server.order()).json["access_token"]
    assert jwt.decode(token, options={"verify_signature": False})["iss"] == issuer


def test_the_endpoints_answer_below_the_issuers_path_too(server: TokenServer) -> None:
    assert server.send("GET", "/tenant/.well-known/jwks.json").status == 200
    for path in ("/oauth/token", "/tenant/oauth/token"):
        assert server.send("POST", path).error == "invalid_request"


def test_what_is_public_is_read_by_every_web_page_and_kept_for_a_while(server: TokenServer) -> None:
    for path in ("/.well-known/jwks.json", "/.well-known/oauth-authorization-server"):
        answer = server.send("GET", path, headers=[("origin", "https://page.example")])
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
        assert answer.headers["cache-control"].startswith("public, max-age=")
        assert answer.headers["content-type"] == "application/json"
        preflight = server.send("OPTIONS", path, headers=[("origin", "https://page.example")])
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-origin"] == "*"
        head = server.send("HEAD", path)
        assert (head.status, head.body) == (200, b"")


def test_keys_are_not_kept_longer_than_they_live(tmp_path: Path) -> None:
    server = TokenServer(tmp_path, key_lifetime=60)
    answer = server.send("GET", "/.well-known/jwks.json")
    assert answer.headers["cache-control"] == "public, max-age=60"


def test_a_rotation_is_published_without_a_restart(server: TokenServer) -> None:
    before = server.ask(server.order())
    kid = build_key_store(server.settings).rotate().active.kid
    after = server.ask(server.order())
    assert server.decode(after)["header"]["kid"] == kid
    assert server.decode(before)["header"]["kid"] != kid  # and still verifies


def test_the_authorization_endpoint_says_that_there_is_none(server: TokenServer) -> None:
    answer = server.send("GET", "/oauth/authorize?response_type=token&client_id=x")
    assert (answer.status, answer.error) == (400, "unsupported_response_type")
    assert "location" not in answer.headers


def test_health_is_public(server: TokenServer) -> None:
    for path in ("/health", "/health/live", "/health/ready"):
        assert server.send("GET", path).status == 200
    server.app.begin_drain()
    assert server.send("GET", "/health/ready").status == 503


def test_what_is_not_there_is_404_as_json(server: TokenServer) -> None:
    for path in ("/", "/keys.json", "/.well-known", "/oauth", "/.well-known/../keys.json"):
        answer = server.send("GET", path)
        assert answer.status in (400, 404)
        assert answer.json["error"]


def load(**settings: object) -> Settings:
    return Settings.model_validate({"token_server": settings})


@pytest.mark.parametrize(
    ("settings", "issuer"),
    [
        ({}, "http://127.0.0.1:8081"),
        ({"bind": "localhost:9"}, "http://localhost:9"),
        ({"bind": "[::1]:9"}, "http://[::1]:9"),
        ({"tls": {"certificate": "c", "key": "k"}}, "https://127.0.0.1:8081"),
        ({"bind": "0.0.0.0:9", "issuer": "https://a.example/"}, "https://a.example/"),
    ],
)
def test_the_issuer_follows_from_the_address_on_this_machine(
    settings: dict[str, object], issuer: str
) -> None:
    assert build_addresses(load(**settings).token_server).issuer == issuer


@pytest.mark.parametrize(
    "settings",
    [
        {"bind": "0.0.0.0:9"},
        {"bind": "unix:/run/x"},
        {"bind": "auth.example:443", "tls": {"certificate": "c", "key": "k"}},
        {"issuer": "https://a.example/?tenant=1"},
        {"issuer": "https://a.example/?"},
    ],
)
def test_an_issuer_that_cannot_be_known_must_be_set(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="TokenServer__Issuer"):
        build_addresses(load(**settings).token_server)


def test_secrets_are_not_taken_in_the_clear_from_other_machines() -> None:
    for bind in ("0.0.0.0:9", "[::]:9", "192.0.2.1:9", "auth.example:9"):
        with pytest.raises(SettingsError, match="in the clear"):
            check_exposure(load(bind=bind).token_server)
        check_exposure(load(bind=bind, issuer="https://auth.example").token_server)
        check_exposure(load(bind=bind, tls={"certificate": "c", "key": "k"}).token_server)
    check_exposure(load().token_server)


def test_audiences_are_those_of_the_services_unless_named() -> None:
    with pytest.raises(SettingsError, match="TokenServer__Audiences"):
        list_audiences(Settings())
    services = {
        "authentication": {"audience": "twinframe"},
        "mcp": {"resource_server_url": "https://m.example"},
    }
    assert list_audiences(Settings.model_validate(services)) == ("twinframe", "https://m.example")
    own = Settings.model_validate({**services, "token_server": {"audiences": ["x"]}})
    assert list_audiences(own) == ("x",)
