"""Who gets in: every route without credentials, without its permission, with it, by wildcard."""

from __future__ import annotations

import asyncio
import io
import logging
import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from twinframe.access.authentication.port import MISSING, AnyOf, Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate, RequestInfo, log_refusal
from twinframe.access.permission_grammar import parse_permission
from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.errors import PermissionMissing, ScopeMissing, Unauthenticated
from twinframe.http.access import find_public
from twinframe.http.line_log import AuditLog, render_entry
from twinframe.http.operations import SIGNED_IN
from twinframe.http.routes import ROUTES

ACCESS = {
    "authentication": {
        "enabled": True,
        "audience": "https://twins.example",
        "authority": "https://issuer.example/",
    }
}
EVENTS = "digitaltwins/read digitaltwins/relationships/read models/read"
TWINS = "digitaltwins/read"
ALSO = {
    ("GET", "/eventroutes/some/deadletters"): EVENTS,
    ("GET", "/events"): EVENTS,
    ("POST", "/events/try"): EVENTS,
    ("GET", "/changes"): EVENTS,
    ("GET", "/derivations"): TWINS,
    ("GET", "/derivations/some"): TWINS,
    ("PUT", "/derivations/some"): TWINS,
    ("GET", "/ingestion"): TWINS,
}
"""What operations need beside their own permission: what they show stands behind others too."""
RESOURCE = "/.well-known/oauth-protected-resource"


class NamedCaller(Authenticator):
    """Takes `x-caller: subject permission permission ...` for a credential."""

    async def authenticate(self, headers: Headers) -> Caller:
        found = [value.decode() for name, value in headers if name == b"x-caller"]
        if not found:
            raise Unauthenticated(MISSING)
        subject, *permissions = found[0].split()
        if subject == "mallory":
            raise Unauthenticated("the signature is wrong")
        return Caller(subject, {"permissions": list(permissions)})


class ClaimedPermissions(PermissionProvider):
    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        granted = caller.claims["permissions"]
        assert isinstance(granted, list)
        return frozenset(str(one) for one in granted)


class Trail(list[AuditEntry]):
    """Keeps the entries."""


@pytest.fixture
def trail() -> Trail:
    return Trail()


@pytest.fixture
def guarded(connect: Callable[..., Any], trail: Trail) -> Any:
    gate = Gate(NamedCaller(), ClaimedPermissions(), trail.append)
    return connect(gate=gate, **ACCESS)


def fill(path: str) -> str:
    """A path of the document with its parameters filled in."""
    values = {"model_id": "dtmi:a:B;1"}
    return re.sub(r"{(\w+)}", lambda found: values.get(found[1], "some"), path)


def list_operations(client: Any) -> list[tuple[str, str, str | None]]:
    """Every operation of the document that is served: a new route is covered when it is born."""
    paths = client.send("GET", "/openapi.json").json["paths"]
    return [
        (method.upper(), fill(path), operation.get("x-permission"))
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]


def build_wildcards(permission: str) -> list[str]:
    """`a/b/c` is covered by `a/b/*` and `a/*`."""
    parts = permission.split("/")
    return ["/".join([*parts[:count], "*"]) for count in range(1, len(parts))]


def send(client: Any, method: str, path: str, caller: str | None) -> Any:
    headers = {} if caller is None else {"x-caller": caller}
    body = b"{}" if method in ("PUT", "POST", "PATCH") else None
    return client.send(method, path, body, headers)


def test_every_operation_refuses_who_is_not_known(guarded: Any) -> None:
    for method, path, permission in list_operations(guarded):
        for caller in (None, "mallory digitaltwins/*"):
            for base in ("", "/api"):
                answer = send(guarded, method, base + path, caller)
                assert (answer.status == 401) == (permission is not None), (method, path)


def test_every_operation_refuses_who_lacks_its_permission(guarded: Any) -> None:
    operations = list_operations(guarded)
    every = {permission for _, _, permission in operations if permission}
    for method, path, permission in operations:
        if permission in (None, SIGNED_IN):
            continue
        others = " ".join(sorted(every - {permission}))
        for granted in ("", "*/* * */read", others):
            answer = send(guarded, method, path, f"bob {granted}")
            assert answer.status == 403, (method, path, granted)
            assert answer.headers["content-type"].startswith("application/problem+json")
            assert answer.json == {
                "type": "https://tools.ietf.org/html/rfc7231#section-6.5.3",
                "title": "Forbidden",
                "status": 403,
                "detail": f"User lacks required permission: {permission}",
            }


def test_every_operation_takes_who_has_its_permission_or_the_wildcard(guarded: Any) -> None:
    for method, path, permission in list_operations(guarded):
        if permission is None:
            continue
        also = ALSO.get((method, path), "")
        for granted in (permission, *build_wildcards(permission)):
            answer = send(guarded, method, path, f"bob {granted} {also}")
            assert answer.status not in (401, 403), (method, path, granted)
            assert answer.status < 500 or answer.status == 501, (method, path, answer.body)


@pytest.mark.parametrize(("method", "path"), ALSO)
def test_its_own_permission_is_not_enough_where_more_is_shown(
    guarded: Any, method: str, path: str
) -> None:
    (own,) = (p for m, at, p in list_operations(guarded) if (m, at) == (method, path))
    needed = ALSO[method, path].split()
    for missing in (one for one in needed if one != own):
        others = " ".join(one for one in needed if one != missing)
        answer = send(guarded, method, path, f"bob {own} {others}")
        assert answer.status == 403
        assert answer.json["detail"] == f"User lacks required permission: {missing}"


def test_every_operation_but_the_public_ones_has_a_permission() -> None:
    public = find_public(ROUTES)
    assert public == dict.fromkeys(
        (".well-known", "health", "openapi.json", "swagger"), frozenset()
    )
    for route in ROUTES:
        if route.permission is not None:
            assert route.permission == SIGNED_IN or parse_permission(route.permission)
            assert route.path.split("/")[1] not in public


def test_what_does_not_exist_asks_for_credentials_too(guarded: Any) -> None:
    for method, path in (("GET", "/"), ("GET", "/nothing"), ("DELETE", "/query"), ("GET", "/api")):
        assert send(guarded, method, path, None).status == 401
    assert send(guarded, "GET", "/nothing", "bob").status == 404
    assert send(guarded, "DELETE", "/query", "bob").status == 405


def test_the_methods_of_a_path_are_no_secret(guarded: Any) -> None:
    answer = guarded.send("OPTIONS", "/digitaltwins/a")
    assert (answer.status, answer.headers["allow"]) == (
        204,
        "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
    )


def test_head_needs_what_get_needs(guarded: Any) -> None:
    assert send(guarded, "HEAD", "/digitaltwins/a", None).status == 401
    assert send(guarded, "HEAD", "/digitaltwins/a", "bob").status == 403


def test_the_401_says_where_tokens_come_from_and_nothing_else(guarded: Any) -> None:
    for caller in (None, "mallory"):
        answer = send(guarded, "GET", "/digitaltwins/a?access_token=x", caller)
        address = f"https://localhost:8080{RESOURCE}"
        assert answer.status == 401
        assert answer.json == {
            "error": "unauthorized",
            "error_description": "Authentication required. Please provide a valid Bearer token.",
            "resource_metadata": address,
        }
        assert answer.headers["www-authenticate"] == (
            f'Bearer realm="mcp", resource_metadata="{address}"'
        )
        assert answer.headers["cache-control"] == "no-store"
        assert "x-request-id" in answer.headers


def test_each_401_leads_to_the_document_of_the_url_that_was_called(guarded: Any) -> None:
    for base in ("", "/api", "/API"):
        refused = guarded.send("GET", f"{base}/models")
        address = refused.json["resource_metadata"].removeprefix("https://localhost:8080")
        assert address == RESOURCE + base
        found = guarded.send("GET", address)
        assert found.status == 200
        assert found.headers["content-type"].startswith("application/json")
        assert found.headers["access-control-allow-origin"] == "*"
        assert found.json == {
            "resource": f"https://localhost:8080{base.lower()}",
            "authorization_servers": ["https://issuer.example/"],
            "scopes_supported": ["mcp:tools", "mcp:resources"],
            "bearer_methods_supported": ["header"],
            "resource_name": "twinframe",
        }


FORGED = ["evil.example", "evil.example:8080", "127.0.0.1.evil.example:8080", "localhost:80@evil"]


@pytest.mark.parametrize("host", [*FORGED, ""])
@pytest.mark.parametrize(
    ("settings", "origin", "caching"),
    [
        ({}, "https://127.0.0.1:8080", "no-store"),
        (
            {"server": {"public_url": "https://t.example"}},
            "https://t.example",
            "public, max-age=300",
        ),
        (
            {"mcp": {"resource_server_url": "https://m.example/x/mcp"}},
            "https://m.example",
            "public, max-age=300",
        ),
        (
            {
                "server": {"public_url": "https://t.example"},
                "mcp": {"resource_server_url": "https://m.example/x/mcp"},
            },
            "https://t.example",
            "public, max-age=300",
        ),
    ],
    ids=["nothing is set", "a public URL", "that of the MCP server", "both"],
)
def test_a_forged_host_stands_in_no_401_and_in_no_discovery(
    connect: Callable[..., Any],
    trail: Trail,
    settings: dict[str, Any],
    origin: str,
    caching: str,
    host: str,
) -> None:
    gate = Gate(NamedCaller(), ClaimedPermissions(), trail.append)
    client = connect(gate=gate, **{**ACCESS, **settings})
    refused = client.send("GET", "/models", headers={"host": host})
    assert refused.status == 401
    assert refused.json["resource_metadata"] == f"{origin}{RESOURCE}"
    assert f'resource_metadata="{origin}{RESOURCE}"' in refused.headers["www-authenticate"]
    found = client.send("GET", RESOURCE, headers={"host": host})
    assert found.json["resource"] == origin
    # SEC: one that depends on the Host must not be kept for others.
    assert found.headers["cache-control"] == caching


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:9999", True),
        ("127.0.0.1:8080", True),
        ("LOCALHOST", True),
        ("twins.example", True),
        ("twins.example:8443", False),
        ("any.example:1", True),
        ("any.example", False),
    ],
)
def test_a_host_that_the_settings_name_stands_in_the_401(
    connect: Callable[..., Any], trail: Trail, host: str, known: bool
) -> None:
    gate = Gate(NamedCaller(), ClaimedPermissions(), trail.append)
    allowed = ["twins.example", "any.example:*"]
    client = connect(gate=gate, mcp={"allowed_hosts": allowed}, **ACCESS)
    refused = client.send("GET", "/models", headers={"host": host})
    named = host if known else "127.0.0.1:8080"
    assert refused.json["resource_metadata"] == f"https://{named}{RESOURCE}"


def test_clients_in_browsers_may_look_for_the_issuer_with_headers_of_their_own(
    guarded: Any,
) -> None:
    asked = {
        "origin": "https://inspector.example",
        "access-control-request-method": "GET",
        "access-control-request-headers": "mcp-protocol-version",
    }
    for path in (RESOURCE, f"{RESOURCE}/api"):
        answer = guarded.send("OPTIONS", path, headers=asked)
        assert answer.status == 204
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-allow-headers"] == "*"
    assert "access-control-allow-origin" not in guarded.send("OPTIONS", "/models").headers


def test_only_known_resources_have_a_document(guarded: Any) -> None:
    for path in ("/models", "/api/models", "/%2Fapi", "/mcp"):
        assert send(guarded, "GET", RESOURCE + path, "bob").status == 404


def test_where_nobody_is_asked_nothing_is_protected(client: Any) -> None:
    answer = client.send("GET", RESOURCE)
    assert answer.status == 404
    assert "not asked for credentials" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("mode", "text"),
    [("ApiKey", "header X-API-Key."), ("Jwt,ApiKey", "Bearer token or X-API-Key.")],
)
def test_the_401_names_the_credentials_that_are_taken(
    connect: Callable[..., Any], trail: Trail, mode: str, text: str
) -> None:
    settings = {"authentication": {**ACCESS["authentication"], "mode": mode}}
    client = connect(gate=Gate(NamedCaller(), None, trail.append), **settings)
    assert client.send("GET", "/models").json["error_description"].endswith(text)
    schemes = client.send("GET", "/openapi.json").json["components"]["securitySchemes"]
    assert set(schemes) == {"apiKey", *(["bearer"] if "Jwt" in mode else [])}


def test_without_a_provider_any_known_caller_is_let_through(
    connect: Callable[..., Any], trail: Trail
) -> None:
    client = connect(gate=Gate(NamedCaller(), None, trail.append), **ACCESS)
    assert send(client, "GET", "/models", "bob").status == 200
    assert send(client, "GET", "/models", None).status == 401


def test_every_decision_is_in_the_trail(guarded: Any, trail: Trail) -> None:
    send(guarded, "GET", "/models?secret=1", "bob models/read")
    send(guarded, "PUT", "/digitaltwins/a", "bob models/*")
    send(guarded, "GET", "/models", "mallory")
    told = [(e.allowed, e.subject, e.request_info.action, e.needed, e.reason) for e in trail]
    assert told == [
        (True, "bob", "GET /models", "models/read", "models/read is covered by models/read"),
        (
            *(False, "bob", "PUT /digitaltwins/a", "digitaltwins/write"),
            "the permission digitaltwins/write is missing",
        ),
        (False, "", "GET /models", "", "the signature is wrong"),
    ]
    assert {entry.request_info.client for entry in trail} == {"192.0.2.1"}


def test_the_reason_of_a_401_is_in_the_trail_or_else_in_the_log_but_never_waits_for_both(
    connect: Callable[..., Any], trail: Trail, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "twinframe.access.gate"):
        client = connect(gate=Gate(NamedCaller(), None, trail.append), **ACCESS)
        send(client, "GET", "/models", "mallory")
        assert [entry.reason for entry in trail] == ["the signature is wrong"]
        assert caplog.messages == []
        client = connect(gate=Gate(NamedCaller(), ClaimedPermissions(), log_refusal), **ACCESS)
        send(client, "GET", "/models", "mallory")
        send(client, "GET", "/models", "bob")
        send(client, "GET", "/models", "bob models/read")
    assert caplog.messages == ["Refused: the signature is wrong."]


class BrokenProvider(PermissionProvider):
    """Breaks its promise: it raises, or answers with something else."""

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        if caller.subject == "raises":
            raise ZeroDivisionError
        return ["models/*"]  # type: ignore[return-value]  # that is what is wrong with it


@pytest.mark.parametrize("subject", ["raises", "lists"])
def test_a_broken_provider_lets_nobody_in_and_the_trail_tells(
    connect: Callable[..., Any], trail: Trail, subject: str
) -> None:
    client = connect(gate=Gate(NamedCaller(), BrokenProvider(), trail.append), **ACCESS)
    answer = send(client, "GET", "/models", subject)
    assert (answer.status, answer.json["error"]["code"]) == (500, "InternalError")
    [entry] = trail
    assert (entry.allowed, entry.subject, entry.needed) == (False, subject, "models/read")
    assert entry.reason.startswith("the permission provider failed: ")


def test_a_line_of_the_trail_is_json_whatever_a_subject_holds() -> None:
    request_info = RequestInfo("GET /models", "id-1", "192.0.2.1")
    entry = AuditEntry(1.5, False, 'a"\n\ud800', "token", request_info, "models/read", "no \ud800")
    line = render_entry(entry)
    assert line.count(b"\n") == 1
    assert orjson.loads(line) == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "warning",
        "message": "audit",
        "decision": "refused",
        "subject": 'a"\n?',
        "credential": "token",
        "action": "GET /models",
        "needed": "models/read",
        "reason": "no ?",
        "request_id": "id-1",
        "client": "192.0.2.1",
    }


def test_the_trail_is_written_whole_by_its_own_thread() -> None:
    stream = io.BytesIO()
    log = AuditLog(stream)
    log.start()
    for number in range(1000):
        log.add(AuditEntry(0.0, True, str(number), "token", RequestInfo("GET /"), "a/b", "why"))
    log.stop()
    subjects = [orjson.loads(line)["subject"] for line in stream.getvalue().splitlines()]
    assert subjects == [str(number) for number in range(1000)]


# --- the gate itself ------------------------------------------------------------------------------


def test_an_api_key_is_asked_for_no_scope_and_no_provider() -> None:
    gate = Gate(NamedCaller(), ClaimedPermissions(), lambda _entry: None)
    caller = Caller("apikey:1", kind="api key", permissions=frozenset({"models/read"}))
    gate.check_scopes(caller, ("mcp:tools",), RequestInfo("x"))
    asyncio.run(gate.authorize(caller, parse_permission("models/read"), RequestInfo("x")))
    with pytest.raises(PermissionMissing):
        asyncio.run(gate.authorize(caller, parse_permission("models/write"), RequestInfo("x")))


def test_a_token_whose_permissions_are_known_still_needs_its_scopes() -> None:
    gate = Gate(NamedCaller(), ClaimedPermissions(), lambda _entry: None)
    token = Caller("bob", {"permissions": ["mcp/*"]})
    entered = asyncio.run(gate.enter(token, lambda: RequestInfo("x")))
    assert entered is not None
    with pytest.raises(ScopeMissing):
        gate.check_scopes(entered, ("mcp:tools",), RequestInfo("x"))


def test_all_required_scopes_must_be_there_to_the_letter(trail: Trail) -> None:
    gate = Gate(NamedCaller(), None, trail.append)
    both = ("mcp:tools", "mcp:resources")
    gate.check_scopes(Caller("a", scopes=frozenset([*both, "x"])), both, RequestInfo("x"))
    for scopes in (frozenset({"mcp:tools"}), frozenset({"MCP:TOOLS", "mcp:resources"})):
        with pytest.raises(ScopeMissing, match="Required scopes: mcp:tools, mcp:resources"):
            gate.check_scopes(Caller("a", scopes=scopes), both, RequestInfo("x"))
    assert [entry.needed for entry in trail] == ["mcp:resources", "mcp:tools"]


def test_two_kinds_of_credentials_at_once_are_refused() -> None:
    class Fixed(NamedCaller):
        async def authenticate(self, headers: Headers) -> Caller:
            return Caller("fixed")

    one = [(b"x-caller", b"bob")]
    with pytest.raises(Unauthenticated) as refused:
        asyncio.run(AnyOf([NamedCaller(), Fixed()]).authenticate(one))
    assert refused.value.reason == "more than one kind of credentials was sent"
    assert asyncio.run(AnyOf([NamedCaller(), Fixed()]).authenticate([])).subject == "fixed"
    with pytest.raises(Unauthenticated) as missing:
        asyncio.run(AnyOf([NamedCaller(), NamedCaller()]).authenticate([]))
    assert missing.value.reason == MISSING
