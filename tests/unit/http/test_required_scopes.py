"""Scopes that the settings require of every token: at the API, and at hosted graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.unit.http.conftest import Client
from tests.unit.http.test_access import ACCESS, list_operations, send
from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate
from twinframe.access.permissions import API_KEY, Caller
from twinframe.control.hosting.endpoint import HostedService
from twinframe.control.hosting.graphs import HostedGraphs
from twinframe.control.hosting.routes import HOSTED_ROUTES
from twinframe.errors import Unauthenticated
from twinframe.http.application import build_application
from twinframe.settings import Settings

REQUIRED = {"authorization": {"required_scopes": ["twins", "mcp:tools", "platform"]}}


class ScopedCaller(Authenticator):
    """Takes `x-caller: scope scope ...` for a token with these scopes, `key` for an API key."""

    async def authenticate(self, headers: Headers) -> Caller:
        found = [value.decode() for name, value in headers if name == b"x-caller"]
        if not found:
            raise Unauthenticated(MISSING)
        if found == ["key"]:
            return Caller("key-1", kind=API_KEY)
        return Caller("bob", scopes=frozenset(found[0].split()))


class NoTenants:
    """Hosts no graph."""

    def find(self, resource_id: str) -> None:
        del resource_id


@pytest.fixture
def trail() -> list[AuditEntry]:
    return []


@pytest.fixture
def gate(trail: list[AuditEntry]) -> Gate:
    return Gate(ScopedCaller(), None, trail.append)


def test_every_operation_refuses_a_token_without_all_of_them(
    connect: Callable[..., Any], gate: Gate
) -> None:
    client = connect(gate=gate, **ACCESS, **REQUIRED)
    for method, path, permission in list_operations(client):
        for scopes in ("mcp:tools", "mcp:tools twins", "TWINS PLATFORM"):
            answer = send(client, method, path, scopes)
            assert (answer.status == 403) == (permission is not None), (method, path, scopes)
            if permission is not None:
                assert answer.json["error"] == "insufficient_scope"
                assert answer.json["scope"] == "twins platform"


def test_whoever_carries_them_or_holds_a_key_gets_on(
    connect: Callable[..., Any], gate: Gate, trail: list[AuditEntry]
) -> None:
    client = connect(gate=gate, **ACCESS, **REQUIRED)
    for caller in ("platform twins other", "key"):
        assert send(client, "GET", "/permissions", caller).status == 200
    assert send(client, "GET", "/permissions", "twins").status == 403
    assert [entry.needed for entry in trail if not entry.allowed] == ["platform"]


def test_those_of_the_mcp_server_are_not_asked_for_by_the_api(
    connect: Callable[..., Any], gate: Gate
) -> None:
    client = connect(gate=gate, **ACCESS, authorization={"required_scopes": ["mcp:tools"]})
    assert send(client, "GET", "/permissions", "any").status == 200


def test_a_hosted_graph_is_not_even_looked_for_without_them(graph: Any, gate: Gate) -> None:
    settings = Settings.model_validate({**ACCESS, **REQUIRED, "hosting": {"enabled": True}})
    hosted = HostedService(cast("HostedGraphs", NoTenants()), settings, gate, HOSTED_ROUTES)
    client = Client(build_application(graph, settings, gate=gate, mounted=[hosted]))
    path = "/graphs/0123456789abcdef/digitaltwins/a"
    assert send(client, "GET", path, "twins").json["error"] == "insufficient_scope"
    assert send(client, "GET", path, "twins platform").status == 404
