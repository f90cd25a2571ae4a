"""What `/permissions` tells a caller: all that the operations would let it do, and no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.http.test_access import ACCESS, ClaimedPermissions, NamedCaller
from twinframe.access.authentication.port import Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate
from twinframe.access.permissions import API_KEY, Caller, PermissionProvider
from twinframe.control.hosting.routes import HOSTED_ROUTES
from twinframe.http.access import list_permissions
from twinframe.http.routes import ROUTES

EVERY = [str(permission) for permission in list_permissions(ROUTES)]


class CountedPermissions(ClaimedPermissions):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        self.asked += 1
        return await super().read_permissions(caller)


class KeyHolder(Authenticator):
    """Takes anybody for the holder of one API key."""

    async def authenticate(self, headers: Headers) -> Caller:
        return Caller("key-1", kind=API_KEY, permissions=frozenset({"models/read", "query/read"}))


class BrokenProvider(PermissionProvider):
    """Fails, as code of somebody else may."""

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        raise RuntimeError("out of order")


@pytest.fixture
def trail() -> list[AuditEntry]:
    return []


@pytest.fixture
def provider() -> CountedPermissions:
    return CountedPermissions()


@pytest.fixture
def guarded(
    connect: Callable[..., Any], trail: list[AuditEntry], provider: CountedPermissions
) -> Any:
    return connect(gate=Gate(NamedCaller(), provider, trail.append), **ACCESS)


def ask(client: Any, caller: str, base: str = "") -> Any:
    return client.send("GET", f"{base}/permissions", headers={"x-caller": caller})


def test_where_nobody_is_asked_everybody_may_do_everything(client: Any) -> None:
    for base in ("", "/api"):
        answer = client.send("GET", f"{base}/permissions")
        assert answer.json == {"subject": None, "permissions": EVERY}


def test_the_names_are_those_of_the_route_table_each_once(client: Any) -> None:
    named = client.send("GET", "/permissions").json["permissions"]
    assert named == sorted(set(named))
    assert {"digitaltwins/read", "models/write", "query/read"} < set(named)
    assert "signed-in" not in named
    more = {str(permission) for permission in list_permissions(HOSTED_ROUTES)} - set(named)
    assert more == {"auditlog/read"}


def test_a_caller_learns_what_its_grants_cover(guarded: Any) -> None:
    answer = ask(guarded, "bob digitaltwins/read models/* something/else query/action")
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    covered = [name for name in EVERY if name.startswith("models/")]
    assert answer.json == {
        "subject": "bob",
        "permissions": sorted(["digitaltwins/read", *covered, "query/read"]),
    }


def test_a_caller_without_any_permission_is_told_so(guarded: Any) -> None:
    assert ask(guarded, "bob").json == {"subject": "bob", "permissions": []}


def test_who_is_not_known_is_told_nothing(guarded: Any) -> None:
    assert guarded.send("GET", "/permissions").status == 401
    assert ask(guarded, "mallory digitaltwins/read", "/api").status == 401


def test_the_provider_is_asked_once_and_the_trail_stays_empty(
    guarded: Any, provider: CountedPermissions, trail: list[AuditEntry]
) -> None:
    assert ask(guarded, "bob digitaltwins/*").status == 200
    assert provider.asked == 1
    assert trail == []


def test_an_api_key_has_the_permissions_it_holds(connect: Callable[..., Any]) -> None:
    gate = Gate(KeyHolder(), BrokenProvider(), lambda _entry: None)
    answer = connect(gate=gate, **ACCESS).send("GET", "/permissions")
    assert answer.json == {"subject": "key-1", "permissions": ["models/read", "query/read"]}


def test_where_permissions_are_not_checked_a_known_caller_may_do_everything(
    connect: Callable[..., Any],
) -> None:
    gate = Gate(NamedCaller(), None, lambda _entry: None)
    answer = ask(connect(gate=gate, **ACCESS), "bob")
    assert answer.json == {"subject": "bob", "permissions": EVERY}


def test_a_provider_that_breaks_grants_nothing_and_is_in_the_trail(
    connect: Callable[..., Any], trail: list[AuditEntry]
) -> None:
    client = connect(gate=Gate(NamedCaller(), BrokenProvider(), trail.append), **ACCESS)
    assert ask(client, "bob digitaltwins/*").status == 500
    assert [(entry.allowed, entry.request_info.action) for entry in trail] == [
        (False, "GET /permissions")
    ]


def test_what_is_told_is_what_the_operations_allow(guarded: Any) -> None:
    for granted in ("digitaltwins/read", "models/*", "query/read", "digitaltwins/*"):
        told = ask(guarded, f"bob {granted}").json["permissions"]
        reads = (("/models", "models/read"), ("/digitaltwins/a", "digitaltwins/read"))
        for path, needed in reads:
            answer = guarded.send("GET", path, headers={"x-caller": f"bob {granted}"})
            assert (answer.status != 403) == (needed in told), (granted, path)


@pytest.mark.parametrize("prefix", ["", "EXPLAIN ", "PROFILE "])
def test_a_plan_needs_the_permission_of_its_query(guarded: Any, prefix: str) -> None:
    body = json.dumps({"query": f"{prefix}MATCH (t) RETURN count(*) AS n"}).encode()
    for granted, status in (("query/read", 200), ("digitaltwins/read models/*", 403)):
        headers = {"x-caller": f"bob {granted}"}
        answer = guarded.send("POST", "/query", body, headers=headers)
        assert answer.status == status, granted
