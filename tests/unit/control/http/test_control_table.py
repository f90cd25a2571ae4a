"""The table of the control plane's routes: its document, and that each needs what it says.

All operations are found in the OpenAPI document, so that a new route is covered as it comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.unit.control.http.control_world import Answered, World
from twinframe.control.http.routes import CONTROL_ROUTES, STANDALONE_ROUTES
from twinframe.control.tenants.catalogue import CONTROL_PERMISSIONS
from twinframe.http.operations import SIGNED_IN

Operation = tuple[str, str, dict[str, Any]]

EXPECTED = {
    "DELETE /organizations/{organization_id}": [409],  # it holds a project
    "DELETE /projects/{project_id}": [409],  # it holds a resource
    "POST /organizations/{organization_id}/billing-accounts": [409],  # there is one
    "GET /billing-accounts/{account_id}/statements/{month}/delivery": [404],  # nothing was billed
}
"""What cannot succeed in the worlds of these tests."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.fixture(scope="module")
def document(world: World) -> Any:
    return world.send("GET", "/openapi.json", None).json


def list_operations(document: Any) -> list[Operation]:
    """Method, path template and operation of everything that asks for a token."""
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if "x-permission" in operation
    ]


def build_sample(schema: Any, document: Any, name: str = "") -> Any:
    """A value that a schema allows, with what is needed alone; texts are told by their name."""
    if "$ref" in schema:
        return build_sample(
            document["components"]["schemas"][schema["$ref"].split("/")[-1]], document
        )
    if "anyOf" in schema:
        return build_sample(schema["anyOf"][0], document, name)
    if schema.get("type") == "object" and "properties" in schema:
        return {
            member: build_sample(schema["properties"][member], document, member)
            for member in schema.get("required", [])
        }
    known = {
        "id": "sample",
        "organization_id": "acme",
        "role_id": "viewer",
        "type": "Platform.Graph",
        "email": "guest@example.com",
        "expires_at": "2099-01-01T00:00:00Z",
        "permissions": ["projects/read"],
    }
    return known.get(name, "sample" if schema.get("type") == "string" else None)


def send(
    world: World, operation: Operation, names: dict[str, str], caller: str | None, document: Any
) -> Answered:
    """Send a request that is well-formed, with these ids in its path, query and body."""
    method, path, described = operation
    body = None
    if "requestBody" in described:
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        body = build_sample(schema, document)
        if "organization_id" in body:
            body["organization_id"] = names["organization_id"]
        if path.endswith("/role-assignments"):
            body["user_id"] = "guest"
        if path.endswith("/resources/{resource_id}"):
            body["name"] = "Other"
        if path.endswith("/roles/{role_id}"):
            body["name"] = "Other"
    target = path.removeprefix("/api/v1").format_map(names)
    if path.endswith("/permissions/check"):
        target += f"?scopeType=resource&scopeId={names['resource_id']}"
    return world.send(method, target, caller, body)


def build_names(world: World, tenant: str) -> dict[str, str]:
    """The ids of everything that a fresh tenant has, by the names that paths have for them."""
    owner = world.build_tenant(tenant)
    world.create_resource(f"{tenant}-prj", owner, f"{tenant}-graph")
    world.provision()
    role = {"id": f"{tenant}-role", "name": "Own", "permissions": ["projects/read"]}
    world.send("POST", f"/organizations/{tenant}/roles", owner, role)
    account = {"name": tenant, "email": "pay@example.com"}
    opened = world.send("POST", f"/organizations/{tenant}/billing-accounts", owner, account)
    guest = world.grant(f"/projects/{tenant}-prj", f"{tenant}-guest", "viewer", owner)
    return {
        "organization_id": tenant,
        "project_id": f"{tenant}-prj",
        "resource_id": f"{tenant}-graph",
        "role_id": f"{tenant}-role",
        "assignment_id": guest,
        "account_id": opened.json["account_id"],
        "user_id": owner,
        "month": "2024-02",
        "service_id": f"{tenant}-service",
    }


def test_every_route_states_a_permission_that_there_is() -> None:
    public = {
        *("/health/live", "/health/ready", "/.well-known/oauth-protected-resource"),
        *("/openapi.json", "/swagger", "/swagger/assets/{name}"),
        *("/api/v1/openapi.json", "/api/v1/swagger", "/api/v1/swagger/assets/{name}"),
    }
    for route in STANDALONE_ROUTES:
        if route.permission is None:
            assert (route.method, route.path in public) == ("GET", True), route.path
        else:
            assert route.permission == SIGNED_IN or route.permission in CONTROL_PERMISSIONS, route
            assert route.path.startswith("/api/v1/")


def test_operation_ids_are_unique_and_both_documents_are_valid(world: World) -> None:
    ids = [route.operation_id for route in STANDALONE_ROUTES]
    assert len(set(ids)) == len(ids)
    for target in ("//openapi.json", "/openapi.json"):
        answer = world.send("GET", target, None).json
        OpenAPIV31SpecValidator(answer).validate()
        assert {route.path for route in CONTROL_ROUTES} <= set(answer["paths"])


def test_every_operation_asks_for_a_token_and_its_scope(world: World, document: Any) -> None:
    names = build_names(world, "scoped")
    operations = list_operations(document)
    assert len(operations) == len([route for route in CONTROL_ROUTES if route.permission])
    for operation in operations:
        refused = send(world, operation, names, None, document)
        assert refused.status == 401, operation[:2]
        assert refused.json == {
            "error": "unauthorized",
            "error_description": "Authentication required. Please provide a valid Bearer token.",
            "resource_metadata": "https://localhost/.well-known/oauth-protected-resource/api/v1",
        }
        assert refused.headers["www-authenticate"].startswith('Bearer realm="mcp", resource_metad')
        for scope in ("mcp:tools", "access:platforms", "ACCESS:PLATFORM"):
            refused = send(world, operation, names, f"scoped-owner;scope={scope}", document)
            assert (refused.status, set(refused.json)) == (403, {"error"}), operation[:2]
            assert 'scope="access:platform"' in refused.headers["www-authenticate"]


def test_who_lacks_the_stated_permission_alone_changes_and_reads_nothing(
    world: World, document: Any
) -> None:
    names = build_names(world, "lacking")
    for number, operation in enumerate(list_operations(document)):
        needed = operation[2]["x-permission"]
        if needed == SIGNED_IN:
            continue
        caller = f"lacks-{number}"
        role = {
            "id": f"role-{number}",
            "name": caller,
            "permissions": sorted(set(CONTROL_PERMISSIONS) - {needed}),
        }
        made = world.send("POST", "/organizations/lacking/roles", "root", role)
        assert made.status == 201, made.body
        world.grant("/organizations/lacking", caller, f"role-{number}")
        world.send("GET", "/users/me", caller)
        before = world.store_state()
        answer = send(world, operation, names, caller, document)
        assert answer.status in (403, 404), (operation[:2], answer.status, answer.body)
        assert set(answer.json) == {"error"}
        assert world.store_state() == before, operation[:2]


def test_an_owner_of_the_platform_may_do_all_that_the_table_has(document: Any) -> None:
    # NOTE: a world of its own for each: what deletes must not be in the way of what reads.
    for operation in list_operations(document):
        world = World()
        try:
            answer = send(world, operation, build_names(world, "acme"), "root", document)
        finally:
            world.close()
        done = [int(status) for status in operation[2]["responses"] if status[0] == "2"]
        expected = EXPECTED.get(f"{operation[0]} {operation[1].removeprefix('/api/v1')}", done)
        assert answer.status in expected, (operation[:2], answer.status, answer.body)
        check_shape(answer, operation, document)


def check_shape(answer: Answered, operation: Operation, document: Any) -> None:
    """The body is what the document says, and has no member that it does not name."""
    described = operation[2]["responses"][str(answer.status)]
    if "content" not in described:
        assert answer.body == b"", operation[:2]
        return
    schema = described["content"]["application/json"]["schema"]
    Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json)
    if "$ref" in schema:
        named = document["components"]["schemas"][schema["$ref"].split("/")[-1]]["properties"]
        assert set(answer.json) <= set(named), operation[:2]
    for name in described.get("headers", {}):
        assert name.lower() in answer.headers, (operation[:2], name)


def test_what_belongs_to_another_tenant_answers_as_what_does_not_exist(
    world: World, document: Any
) -> None:
    theirs = build_names(world, "theirs")
    mine = build_names(world, "mine")
    for operation in list_operations(document):
        used = list_used(operation)
        for replaced in {(name,) for name in used} | ({used} if used else set()):
            check_same(world, operation, mine, theirs, replaced, document)


def test_what_names_no_tenant_shows_nothing_of_another(world: World, document: Any) -> None:
    build_names(world, "hidden")
    seen = build_names(world, "seen")
    looked_at = 0
    for operation in list_operations(document):
        if operation[0] == "GET" and not list_used(operation):
            answer = send(world, operation, seen, "seen-owner", document)
            assert b"hidden" not in answer.body, operation[:2]
            looked_at += 1
    assert looked_at > 5
    for query in ("organization_id=hidden", "limit=1000"):
        assert b"hidden" not in world.send("GET", f"/projects?{query}", "seen-owner").body


def list_used(operation: Operation) -> tuple[str, ...]:
    """The names of ids that a request for this operation has, in path, query or body."""
    method, path, _ = operation
    used = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    if (method, path) == ("POST", "/api/v1/projects"):
        used.append("organization_id")
    if path.endswith("/permissions/check"):
        used.append("resource_id")
    return tuple(name for name in used if name != "month")


def check_same(
    world: World,
    operation: Operation,
    mine: dict[str, str],
    theirs: dict[str, str],
    replaced: tuple[str, ...],
    document: Any,
) -> None:
    """With these ids of another, and with such as nobody has: the same answer, and no change."""
    foreign = {**mine, **{name: theirs[name] for name in replaced}}
    unknown = {**mine, **{name: mask(theirs[name]) for name in replaced}}
    before = world.store_state()
    first = send(world, operation, foreign, "mine-owner", document)
    second = send(world, operation, unknown, "mine-owner", document)
    hidden = first.body
    for name in replaced:
        hidden = hidden.replace(theirs[name].encode(), mask(theirs[name]).encode())
    place = (operation[:2], replaced, first.body)
    if operation[1].endswith("/permissions/check"):
        assert first.json == {"permissions": []}, place
    else:
        assert first.status in (403, 404), place
    assert (first.status, hidden) == (second.status, second.body), place
    assert sorted(first.headers) == sorted(second.headers), place
    assert world.store_state() == before, place


def mask(name: str) -> str:
    """An id of the same form that nobody has."""
    return name.replace("theirs", "nobody") if "theirs" in name else f"{name[:-1]}z"
