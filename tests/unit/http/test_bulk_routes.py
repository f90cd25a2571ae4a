"""Bulk writes and transactions as requests: forms, statuses, limits, permissions of each part."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.conftest import Client
from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate
from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.errors import StorageFull, Unauthenticated
from twinframe.graph import Graph
from twinframe.graph.twins.transactions import OPERATION_NAMES
from twinframe.http.application import build_application
from twinframe.http.graph.bulk import PERMISSIONS, AnyOperation
from twinframe.http.routes import ROUTES
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import (
    ROOM,
    SENSOR,
    build_building_interfaces,
    build_twin_document,
)
from twinframe.testing.faulty_store import Fault, FaultKind, FaultyStore

ACCESS = {
    "authentication": {
        "enabled": True,
        "audience": "https://twins.example",
        "authority": "https://issuer.example/",
    }
}
KEY = {"sourceId": "a", "relationshipId": "r"}
EDGE = {"$relationshipName": "relatedTo", "$targetId": "b"}
PATCH = [{"op": "add", "path": "/name", "value": "n"}]
OPERATIONS: dict[str, dict[str, Any]] = {
    "putTwin": {"twinId": "n", "document": build_twin_document(ROOM)},
    "patchTwin": {"twinId": "a", "patch": PATCH},
    "deleteTwin": {"twinId": "c"},
    "patchComponent": {"twinId": "a", "component": "thermostat", "patch": []},
    "putRelationship": {**KEY, "document": EDGE},
    "patchRelationship": {**KEY, "patch": []},
    "deleteRelationship": KEY,
}
SINGLE = {
    "putTwin": "DigitalTwins_Add",
    "patchTwin": "DigitalTwins_Update",
    "deleteTwin": "DigitalTwins_Delete",
    "patchComponent": "DigitalTwins_UpdateComponent",
    "putRelationship": "DigitalTwins_AddRelationship",
    "patchRelationship": "DigitalTwins_UpdateRelationship",
    "deleteRelationship": "DigitalTwins_DeleteRelationship",
}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def graph(store: MemoryStore) -> Graph:
    """A real graph: twins a, b and c, and a relationship from a to b."""
    graph = Graph(InlineRunner(store), Settings())

    async def seed() -> None:
        await graph.models.create_models(build_building_interfaces())  # type: ignore[arg-type]
        for twin_id in "abc":
            await graph.twins.put_twin(twin_id, build_twin_document(ROOM))
        await graph.relationships.put_relationship("a", "r", EDGE)  # type: ignore[arg-type]

    asyncio.run(seed())
    return graph


def post(client: Any, path: str, body: Any, **headers: str) -> Any:
    return client.send("POST", path, orjson.dumps(body), headers)


def transact(client: Any, *operations: Any, **headers: str) -> Any:
    return post(client, "/$transaction", {"operations": list(operations)}, **headers)


def serve(store: GraphStore, **bulk: int) -> Client:
    """A client of a graph on this store with these limits."""
    settings = Settings.model_validate({"bulk": bulk})
    return Client(build_application(Graph(InlineRunner(store), settings), settings))


def named(name: str) -> dict[str, Any]:
    return {"op": name, **OPERATIONS[name]}


def test_a_bulk_put_answers_with_what_became_of_each_twin(client: Any) -> None:
    good = {"$dtId": "new", **build_twin_document(SENSOR)}
    bad = {"$dtId": "bad", **build_twin_document(SENSOR, serial=7)}
    answer = post(client, "/digitaltwins", [good, bad, {}])
    assert answer.status == 200
    first, second, third = answer.json.pop("results")
    assert {key: answer.json[key] for key in ("successCount", "failureCount", "hasFailures")} == {
        "successCount": 1,
        "failureCount": 2,
        "hasFailures": True,
    }
    stored = client.send("GET", "/digitaltwins/new")
    assert first == {
        "digitalTwinId": "new",
        "isSuccess": True,
        "status": 200,
        "etag": stored.headers["etag"],
        "errorMessage": None,
        "error": None,
    }
    single = client.send("PUT", "/digitaltwins/bad", orjson.dumps(bad))
    assert (second["status"], second["error"]) == (single.status, single.json["error"])
    assert second["errorMessage"] == single.json["error"]["message"]
    assert second["error"]["details"]
    assert (second["isSuccess"], second["etag"]) == (False, None)
    assert (third["digitalTwinId"], third["error"]["code"]) == (None, "InvalidArgument")


def test_a_bulk_put_of_relationships_names_both_ids(client: Any) -> None:
    key = {"$sourceId": "a", "$relationshipId": "s"}
    answer = post(client, "/relationships", [{**EDGE, **key}, {**EDGE, **key, "$sourceId": "x"}])
    good, bad = answer.json["results"]
    assert (good["sourceId"], good["relationshipId"], good["status"]) == ("a", "s", 200)
    assert (bad["sourceId"], bad["status"], bad["error"]["code"]) == (
        "x",
        404,
        "DigitalTwinNotFound",
    )
    assert client.send("GET", "/digitaltwins/a/relationships/s").headers["etag"] == good["etag"]


def test_if_none_match_of_a_bulk_put_counts_for_each(client: Any) -> None:
    documents = [{"$dtId": name, **build_twin_document(ROOM)} for name in ("a", "new")]
    answer = post(client, "/digitaltwins", documents, **{"if-none-match": "*"})
    assert [result["status"] for result in answer.json["results"]] == [412, 200]
    refused = post(client, "/digitaltwins", documents, **{"if-none-match": 'W/"x"'})
    assert (refused.status, refused.code) == (400, "InvalidArgument")


def test_an_empty_bulk_put_is_no_error(client: Any) -> None:
    assert post(client, "/digitaltwins", []).json == {
        "results": [],
        "successCount": 0,
        "failureCount": 0,
        "hasFailures": False,
    }


def test_a_bulk_put_that_ends_early_is_logged(
    store: MemoryStore, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    del graph  # has put the models
    faulty = FaultyStore(store, {2: Fault(FaultKind.ROLL_BACK, StorageFull("no space"))})
    documents = [{"$dtId": name, **build_twin_document(ROOM)} for name in ("x", "y", "z")]
    answer = post(serve(faulty, group_items=1), "/digitaltwins", documents)
    assert [result["status"] for result in answer.json["results"]] == [200, 507, 507]
    assert "ended early" in caplog.text
    assert "no space" in caplog.text


def test_a_transaction_answers_with_the_status_and_etag_of_each(client: Any) -> None:
    answer = transact(client, *(named(name) for name in OPERATION_NAMES))
    assert answer.status == 200
    results = answer.json["results"]
    assert [result["status"] for result in results] == [200, 204, 204, 204, 200, 204, 204]
    deleted = [result["etag"] is None for result in results]
    assert deleted == [name.startswith("delete") for name in OPERATION_NAMES]
    assert client.send("GET", "/digitaltwins/a").headers["etag"] == results[3]["etag"]


def test_a_refused_transaction_answers_as_the_single_call_and_names_the_operation(
    client: Any,
) -> None:
    before = client.send("GET", "/digitaltwins/a")
    stale = {"if-match": 'W/"x"'}
    single = client.send("DELETE", "/digitaltwins/b", headers=stale)
    refused = transact(
        client, named("patchTwin"), {"op": "deleteTwin", "twinId": "b", "ifMatch": 'W/"x"'}
    )
    assert (refused.status, refused.code) == (412, single.code)
    assert refused.headers["x-ms-error-code"] == single.headers["x-ms-error-code"]
    assert refused.json["error"]["index"] == 1
    message = single.json["error"]["message"]
    assert refused.json["error"]["message"] == f"Operation 1 (deleteTwin): {message}"
    assert client.send("GET", "/digitaltwins/a").body == before.body


def test_details_of_what_does_not_suit_its_model_are_told(client: Any) -> None:
    hot = {"op": "add", "path": "/temperature", "value": "hot"}
    refused = transact(client, {"op": "patchTwin", "twinId": "a", "patch": [hot]})
    single = client.send("PATCH", "/digitaltwins/a", orjson.dumps([hot]))
    assert refused.status == single.status == 400
    assert refused.json["error"]["details"] == single.json["error"]["details"]


def test_a_patch_of_no_objects_has_the_envelope_in_a_transaction(client: Any) -> None:
    refused = transact(client, {"op": "patchTwin", "twinId": "a", "patch": [{}, 7]})
    assert refused.headers["content-type"].startswith("application/json")
    assert (refused.status, refused.code) == (400, "JsonPatchInvalid")
    assert refused.json["error"]["message"].endswith("These are none: 1.")


@pytest.mark.parametrize("path", ["/digitaltwins", "/relationships", "/$transaction"])
def test_larger_bodies_than_the_limit_are_refused(path: str) -> None:
    answer = post(serve(MemoryStore(), max_body_bytes=100), path, ["x" * 200])
    assert (answer.status, answer.code) == (413, "RequestBodyTooLarge")


# --- permissions ----------------------------------------------------------------------------------


class NamedCaller(Authenticator):
    """Takes `x-caller: permission permission ...` for a credential."""

    async def authenticate(self, headers: Headers) -> Caller:
        for name, value in headers:
            if name == b"x-caller":
                return Caller("bob", {"permissions": list(value.decode().split())})
        raise Unauthenticated(MISSING)


class CountedPermissions(PermissionProvider):
    def __init__(self) -> None:
        self.asked = 0

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        self.asked += 1
        granted = caller.claims["permissions"]
        assert isinstance(granted, list)
        return frozenset(str(one) for one in granted)


@pytest.fixture
def permissions() -> CountedPermissions:
    return CountedPermissions()


@pytest.fixture
def trail() -> list[AuditEntry]:
    return []


@pytest.fixture
def guarded(
    connect: Callable[..., Any], permissions: CountedPermissions, trail: list[AuditEntry]
) -> Any:
    return connect(gate=Gate(NamedCaller(), permissions, trail.append), **ACCESS)


def test_an_operation_needs_the_permission_of_its_single_call() -> None:
    by_id = {route.operation_id: route.permission for route in ROUTES}
    assert {name: by_id[SINGLE[name]] for name in OPERATION_NAMES} == PERMISSIONS


@pytest.mark.parametrize("name", OPERATION_NAMES)
def test_an_operation_is_refused_to_who_lacks_its_permission(
    guarded: Any, name: str, trail: list[AuditEntry]
) -> None:
    every = {*PERMISSIONS.values()}
    needed = PERMISSIONS[name]
    others = " ".join(every - {needed} | {"digitaltwins/read"})
    before = guarded.send("GET", "/digitaltwins/a", headers={"x-caller": "digitaltwins/read"})
    operations = [named("patchTwin"), named(name)]
    refused = transact(guarded, *operations, **{"x-caller": others})
    assert refused.status == 403
    assert refused.json["detail"] == f"User lacks required permission: {needed}"
    assert (trail[-1].allowed, trail[-1].needed) == (False, needed)
    after = guarded.send("GET", "/digitaltwins/a", headers={"x-caller": "digitaltwins/read"})
    assert before.body == after.body
    granted = " ".join({"digitaltwins/write", needed})
    assert transact(guarded, *operations, **{"x-caller": granted}).status == 200


def test_the_permissions_of_a_transaction_are_read_once_beside_the_routes(
    guarded: Any, permissions: CountedPermissions, trail: list[AuditEntry]
) -> None:
    operations = [named(name) for name in OPERATION_NAMES]
    answer = transact(guarded, *operations, **{"x-caller": "digitaltwins/*"})
    assert answer.status == 200
    assert permissions.asked == 2
    parts = dict.fromkeys(PERMISSIONS.values())
    assert [entry.needed for entry in trail] == ["digitaltwins/write", *parts]


def test_bulk_routes_refuse_who_may_write_only_the_other_kind(guarded: Any) -> None:
    relationships = {"x-caller": "digitaltwins/relationships/write"}
    assert post(guarded, "/digitaltwins", [], **relationships).status == 403
    assert post(guarded, "/relationships", [], **relationships).status == 200
    twins = {"x-caller": "digitaltwins/write"}
    assert post(guarded, "/digitaltwins", [], **twins).status == 200
    assert post(guarded, "/relationships", [], **twins).status == 403


# --- the document ---------------------------------------------------------------------------------


def test_the_document_has_a_shape_for_every_operation() -> None:
    union = get_args(get_args(AnyOperation)[0])
    shapes = {get_args(shape.model_fields["op"].annotation)[0]: shape for shape in union}
    assert set(shapes) == set(OPERATION_NAMES)
    for name, shape in shapes.items():
        members = {field.alias or key for key, field in shape.model_fields.items()}
        assert set(OPERATIONS[name]) <= members
        shape.model_validate(named(name))
