"""The relationships' rows of the wire, one request each against a running server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote, urlparse

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.e2e.wire_world import (
    CLIMATE,
    ETAG,
    JSON_TYPE,
    VERSION,
    check_no_content,
    check_refusal,
    climate,
    edge_path,
    must,
    put_edge,
    put_room,
    twin_path,
)

Json = Any
HAS = {"$relationshipName": "has", "$targetId": "rel2"}


# NOTE: as long as the server it fills: a module's fixture is set up again when tests come back to
# the module, as they do where processes take tests from each other.
@pytest.fixture(autouse=True, scope="session")
def twins(wire_server: Server) -> Iterator[None]:
    """Two rooms and a climate."""
    wire = Wire(wire_server.port)
    put_room(wire, "rel1")
    put_room(wire, "rel2")
    must(wire.call("PUT", twin_path("rel3"), climate()))
    yield
    wire.close()


def test_a_relationship_has_the_vendors_layout_and_takes_its_ids_from_the_url(wire: Wire) -> None:
    body = {
        "restricted": True,
        **HAS,
        "$relationshipId": None,
        "$sourceId": "another",
        "$etag": "stale",
    }
    status, headers, made = wire.call("PUT", edge_path("rel1", "layout"), body)
    assert (status, headers["content-type"]) == (200, JSON_TYPE)
    assert headers["etag"] == made["$etag"]
    assert ETAG.fullmatch(made["$etag"])
    assert list(made.items()) == [
        ("$relationshipId", "layout"),
        ("$etag", made["$etag"]),
        ("$sourceId", "rel1"),
        ("$relationshipName", "has"),
        ("$targetId", "rel2"),
        ("restricted", True),
    ]
    status, headers, read = wire.call("GET", edge_path("rel1", "layout"))
    assert (status, headers["etag"], read) == (200, made["$etag"], made)


@pytest.mark.parametrize(
    ("source", "body", "status", "code"),
    [
        ("rel1", {}, 400, "InvalidArgument"),
        ("rel1", {"$targetId": "rel2"}, 400, "InvalidArgument"),
        ("rel1", {"$relationshipName": "has"}, 400, "InvalidArgument"),
        ("rel1", [HAS], 400, "InvalidArgument"),
        ("rel1", b"", 400, "BadRequest"),
        ("nobody", HAS, 404, "DigitalTwinNotFound"),
        ("rel1", {**HAS, "$targetId": "nobody"}, 404, "TargetDigitalTwinNotFound"),
        ("rel1", {**HAS, "$relationshipName": "unknown"}, 400, "InvalidRelationship"),
        ("rel1", {**HAS, "$targetId": "rel3"}, 400, "InvalidRelationship"),
        ("rel1", {**HAS, "$relationshipName": "part"}, 400, "InvalidRelationship"),
        ("rel3", HAS, 400, "InvalidRelationship"),
        ("rel1", {**HAS, "$targetId": "rel1"}, 400, "OperationNotAllowed"),
        ("rel1", {**HAS, "unknown": 1}, 400, "ValidationFailed"),
        ("rel1", {**HAS, "restricted": 1}, 400, "ValidationFailed"),
    ],
)
def test_a_bad_relationship_is_refused_and_not_stored(
    wire: Wire, source: str, body: Json, status: int, code: str
) -> None:
    check_refusal(wire.call("PUT", edge_path(source, "bad"), body), status, code)
    answer = wire.call("GET", edge_path(source, "bad"))
    missing = "DigitalTwinNotFound" if source == "nobody" else "RelationshipNotFound"
    check_refusal(answer, 404, missing)


def test_a_definition_without_target_takes_any_twin(wire: Wire) -> None:
    assert put_edge(wire, "rel1", "any", "knows", "rel3")["$targetId"] == "rel3"


def test_an_id_is_unique_for_its_source_only(wire: Wire) -> None:
    put_edge(wire, "rel1", "same", "has", "rel2")
    put_edge(wire, "rel2", "same", "has", "rel1")
    assert must(wire.call("GET", edge_path("rel1", "same")))["$targetId"] == "rel2"
    assert must(wire.call("GET", edge_path("rel2", "same")))["$targetId"] == "rel1"


def test_if_none_match_creates_and_never_replaces(wire: Wire) -> None:
    path = edge_path("rel1", "once")
    answer = wire.call("PUT", path, HAS, If_None_Match="XXX")
    check_refusal(answer, 400, "InvalidArgument")
    first = must(wire.call("PUT", path, HAS, If_None_Match="*"))
    answer = wire.call("PUT", path, {**HAS, "restricted": True}, If_None_Match="*")
    check_refusal(answer, 412, "PreconditionFailed")
    assert must(wire.call("GET", path)) == first


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "BadRequest"),
        ([{}], "JsonPatchInvalid"),
        (["restricted"], "problem"),
        ([{"op": "move", "from": "/restricted", "path": "/since"}], "JsonPatchInvalid"),
        ([{"op": "remove", "path": "/since"}], "JsonPatchInvalid"),
        ([{"op": "replace", "path": "/since", "value": "x"}], "JsonPatchInvalid"),
        ([{"op": "replace", "path": "/$targetId", "value": "rel3"}], "JsonPatchInvalid"),
        ([{"op": "replace", "path": "/$relationshipName", "value": "knows"}], "JsonPatchInvalid"),
        ([{"op": "replace", "path": "/$etag", "value": "x"}], "JsonPatchInvalid"),
        ([{"op": "add", "path": "/unknown", "value": 1}], "ValidationFailed"),
        ([{"op": "add", "path": "/restricted", "value": 1}], "ValidationFailed"),
    ],
)
def test_a_bad_patch_is_refused_and_changes_nothing(wire: Wire, body: Json, code: str) -> None:
    path = edge_path("rel1", "patched")
    before = must(wire.call("PUT", path, {**HAS, "restricted": True}))
    check_refusal(wire.call("PATCH", path, body), 400, code)
    assert must(wire.call("GET", path)) == before


def test_a_patch_changes_properties_and_always_the_etag_but_never_the_twins(wire: Wire) -> None:
    path = edge_path("rel1", "patched")
    before = must(wire.call("PUT", path, {**HAS, "restricted": True}))
    ends = [must(wire.call("GET", twin_path(twin))) for twin in ("rel1", "rel2")]
    for operations, properties in (
        ([], {"restricted": True}),
        ([{"op": "add", "path": "/since", "value": "x"}], {"restricted": True, "since": "x"}),
        ([{"op": "remove", "path": "/restricted"}], {"since": "x"}),
    ):
        answer = wire.call("PATCH", path, operations)
        check_no_content(answer, etag=True)
        after = must(wire.call("GET", path))
        assert after["$etag"] == answer[1]["etag"] != before["$etag"]
        assert {key: after[key] for key in after if key[0] != "$"} == properties
        before = after
    assert ends == [must(wire.call("GET", twin_path(twin))) for twin in ("rel1", "rel2")]


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_missing_relationship_is_not_found(wire: Wire, method: str) -> None:
    body: Json = [] if method == "PATCH" else None
    answer = wire.call(method, edge_path("rel1", "missing"), body)
    check_refusal(answer, 404, "RelationshipNotFound")
    assert answer[2]["error"]["message"] == "Relationship missing not found on twin rel1."


def follow(wire: Wire, first: Json, *, as_python: bool = False) -> list[Json]:
    """All items of a listing, page by page, as a client finds them."""
    items, page = list(first["value"]), first
    while page["nextLink"]:
        link = urlparse(page["nextLink"])
        query = link.query
        if as_python:  # parsed, decoded and put together anew, as the vendor's SDK does
            pairs = parse_qs(query)
            pairs["api-version"] = ["2023-10-31"]
            query = "&".join(f"{key}={quote(value)}" for key in pairs for value in pairs[key])
        page = must(wire.call("GET", f"{link.path}?{query}"))
        assert page["value"], "an empty page would stop some clients"
        items += page["value"]
    return items


@pytest.mark.parametrize("as_python", [False, True])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_lists_go_on_page_by_page_under_the_size_of_the_first(
    wire: Wire, size: int, as_python: bool
) -> None:
    source, target = "hub +/ü;1", "spoke"
    put_room(wire, source)
    put_room(wire, target)
    ids = [f"e/{number} +%" for number in range(4)]
    for name in ids:
        put_edge(wire, source, name, "has", target)
    put_edge(wire, source, "other", "knows", target)

    path = f"{twin_path(source, 'relationships')}&relationshipName=has"
    page = must(wire.call("GET", path, max_items_per_page=str(size)))
    assert list(page) == ["nextLink", "value"]
    assert len(page["value"]) == size
    items = follow(wire, page, as_python=as_python)
    assert [item["$relationshipId"] for item in items] == ids
    for item in items:
        assert item == must(wire.call("GET", edge_path(source, item["$relationshipId"])))

    page = must(
        wire.call("GET", twin_path(target, "incomingrelationships"), max_items_per_page=str(size))
    )
    items = follow(wire, page, as_python=as_python)
    assert {item["$relationshipId"] for item in items} == {*ids, "other"}
    assert len(items) == 5


def test_an_incoming_relationship_has_four_keys_and_an_absolute_link_that_works(
    wire: Wire, wire_server: Server
) -> None:
    put_room(wire, "link/ü")
    put_edge(wire, "link/ü", "a/b c", "has", "rel2")
    for base in ("", "/api"):
        path = base + twin_path("rel2", "incomingrelationships")
        listed = must(wire.call("GET", path, max_items_per_page="500"))
        assert listed["nextLink"] is None
        item = next(item for item in listed["value"] if item["$sourceId"] == "link/ü")
        link = item["$relationshipLink"]
        assert list(item.items()) == [
            ("$relationshipId", "a/b c"),
            ("$sourceId", "link/ü"),
            ("$relationshipName", "has"),
            ("$relationshipLink", link),
        ]
        assert link == (
            f"{wire_server.url}{base}/digitaltwins/link%2F%C3%BC/relationships/a%2Fb%20c?{VERSION}"
        )
        found = must(wire.call("GET", link.removeprefix(wire_server.url)))
        assert found["$relationshipId"] == "a/b c"


def test_lists_of_nothing_are_empty_and_tokens_bound_to_their_list(wire: Wire) -> None:
    put_room(wire, "lonely")
    for below in ("relationships", "incomingrelationships"):
        empty = must(wire.call("GET", twin_path("lonely", below)))
        assert empty == {"nextLink": None, "value": []}
    path = f"{twin_path('rel1', 'relationships')}&relationshipName=unknown"
    assert must(wire.call("GET", path))["value"] == []

    for target in ("token1", "token2"):
        put_room(wire, target)
        put_edge(wire, "rel1", target, "has", target)
    page = must(wire.call("GET", twin_path("rel1", "relationships"), max_items_per_page="1"))
    token = quote(parse_qs(urlparse(page["nextLink"]).query)["continuationToken"][0])
    for path in (twin_path("rel2", "relationships"), twin_path("rel1", "incomingrelationships")):
        answer = wire.call("GET", f"{path}&continuationToken={token}")
        check_refusal(answer, 400, "BadRequest")


@pytest.mark.parametrize(
    ("model", "is_allowed"),
    [("Target;1", True), ("Target;2", True), ("Target;3", True), ("Heir;1", True), ("", False)],
)
def test_a_target_is_of_the_named_model_in_any_version_or_of_an_heir(
    wire: Wire, model: str, is_allowed: bool
) -> None:
    stem = "dtmi:com:wire:targets:"
    if wire.call("GET", f"/models/{stem}Source;1?{VERSION}")[0] == 404:
        bodies: list[Json] = [
            {"@id": f"{stem}Target;{version}", "contents": []} for version in (1, 2, 3)
        ]
        bodies.append({"@id": f"{stem}Heir;1", "extends": f"{stem}Target;2"})
        relation = {"@type": "Relationship", "name": "to", "target": f"{stem}Target;2"}
        bodies.append({"@id": f"{stem}Source;1", "contents": [relation]})
        fixed = {"@context": "dtmi:dtdl:context;2", "@type": "Interface"}
        models = [{**fixed, **body} for body in bodies]
        must(wire.call("POST", f"/models?{VERSION}", models), 201)
    source = {"$metadata": {"$model": f"{stem}Source;1"}}
    must(wire.call("PUT", twin_path("targets"), source))
    body = {"$metadata": {"$model": stem + model if model else CLIMATE}}
    must(wire.call("PUT", twin_path("targeted"), body))
    edge = {"$relationshipName": "to", "$targetId": "targeted"}
    answer = wire.call("PUT", edge_path("targets", "e"), edge)
    if is_allowed:
        must(answer)
        check_no_content(wire.call("DELETE", edge_path("targets", "e")), etag=False)
    else:
        check_refusal(answer, 400, "InvalidRelationship")
