"""Conditions on writes: one that does not hold never writes, whatever the operation."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.wire import Wire
from tests.e2e.wire_world import (
    CLIMATE,
    OTHER_ETAG,
    check_no_content,
    check_refusal,
    climate,
    edge_path,
    must,
    put_edge,
    put_room,
    room,
    twin_path,
)

Json = Any
EDGE = {"$relationshipName": "has", "$targetId": "condition2"}


@pytest.fixture
def twin(wire: Wire) -> Json:
    """The stored twin `condition`, related to `condition2` by `e`."""
    put_room(wire, "condition2")
    return put_room(wire, "condition", Temperature=1)


@pytest.fixture
def edge(wire: Wire, twin: Json) -> Json:
    del twin
    return put_edge(wire, "condition", "e", "has", "condition2")


# --- puts of twins and relationships ---


def test_a_put_of_a_twin_replaces_only_the_version_that_is_meant(wire: Wire, twin: Json) -> None:
    path, body = twin_path("condition"), room(Temperature=2)
    check_refusal(wire.call("PUT", path, body, If_Match=OTHER_ETAG), 412, "PreconditionFailed")
    check_refusal(wire.call("PUT", path, body, If_Match="XXX"), 400, "InvalidArgument")
    assert must(wire.call("GET", path)) == twin
    replaced = must(wire.call("PUT", path, body, If_Match=f"{OTHER_ETAG}, {twin['$etag']}"))
    assert replaced["Temperature"] == 2
    check_refusal(wire.call("PUT", path, body, If_Match=twin["$etag"]), 412, "PreconditionFailed")
    assert must(wire.call("PUT", path, body, If_Match="*"))["$etag"] != replaced["$etag"]


def test_a_put_of_a_relationship_replaces_only_the_version_that_is_meant(
    wire: Wire, edge: Json
) -> None:
    path, body = edge_path("condition", "e"), {**EDGE, "restricted": True}
    check_refusal(wire.call("PUT", path, body, If_Match=OTHER_ETAG), 412, "PreconditionFailed")
    check_refusal(wire.call("PUT", path, body, If_Match="XXX"), 400, "InvalidArgument")
    assert must(wire.call("GET", path)) == edge
    replaced = must(wire.call("PUT", path, body, If_Match=edge["$etag"]))
    assert replaced["restricted"] is True
    check_refusal(wire.call("PUT", path, body, If_Match=edge["$etag"]), 412, "PreconditionFailed")


@pytest.mark.parametrize("header", ["*", OTHER_ETAG])
def test_a_put_with_if_match_creates_nothing(wire: Wire, twin: Json, header: str) -> None:
    del twin
    for path, body in (
        (twin_path("condition-none"), room()),
        (edge_path("condition", "none"), EDGE),
    ):
        check_refusal(wire.call("PUT", path, body, If_Match=header), 412, "PreconditionFailed")
        assert wire.call("GET", path)[0] == 404
    path = edge_path("condition-none", "e")
    check_refusal(wire.call("PUT", path, EDGE, If_Match=header), 404, "DigitalTwinNotFound")


def test_a_put_with_both_conditions_never_writes(wire: Wire, twin: Json) -> None:
    for name in ("condition", "condition-none"):
        answer = wire.call("PUT", twin_path(name), room(), If_Match="*", If_None_Match="*")
        check_refusal(answer, 412, "PreconditionFailed")
    assert must(wire.call("GET", twin_path("condition"))) == twin


# --- patches and deletions ---


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_patches_and_deletions_look_at_if_none_match(wire: Wire, edge: Json, method: str) -> None:
    twin = must(wire.call("GET", twin_path("condition")))
    places = [(edge_path("condition", "e"), edge["$etag"], edge)]
    if method == "PATCH":
        part = must(wire.call("GET", twin_path("condition", "components", "Climate")))
        places.append((twin_path("condition"), twin["$etag"], twin))
        places.append((twin_path("condition", "components", "Climate"), twin["$etag"], part))
    body: Json = [] if method == "PATCH" else None
    for path, etag, before in places:
        for header in ("*", etag, etag.removeprefix("W/"), f"{OTHER_ETAG}, {etag}"):
            answer = wire.call(method, path, body, If_None_Match=header)
            check_refusal(answer, 412, "PreconditionFailed")
        check_refusal(wire.call(method, path, body, If_None_Match="XXX"), 400, "InvalidArgument")
        assert must(wire.call("GET", path)) == before
    for path, _, _ in places[:1] if method == "DELETE" else places:
        answer = wire.call(method, path, body, If_None_Match=OTHER_ETAG)
        check_no_content(answer, etag=method == "PATCH")
    check_refusal(
        wire.call(method, twin_path("condition-none"), body, If_None_Match="*"),
        404,
        "DigitalTwinNotFound",
    )


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_date_is_no_condition_that_can_be_shown_to_hold(
    wire: Wire, edge: Json, method: str
) -> None:
    body: Json = {"PUT": room(), "PATCH": [], "DELETE": None}[method]
    date = {"If_Unmodified_Since": "Sun, 06 Nov 1994 08:49:37 GMT"}
    for path in (twin_path("condition"), edge_path("condition", "e")):
        before = must(wire.call("GET", path))
        if method == "PUT" and "relationships" in path:
            body = EDGE
        check_refusal(wire.call(method, path, body, **date), 412, "PreconditionFailed")
        assert must(wire.call("GET", path)) == before
        if method != "DELETE":  # SPEC: RFC 9110 section 13.1.4: If-Match goes before it
            answer = wire.call(method, path, body, If_Match=before["$etag"], **date)
            assert answer[0] in (200, 204), answer


# --- many at once ---


def test_a_bulk_write_replaces_only_the_versions_that_are_meant(wire: Wire, edge: Json) -> None:
    twin = must(wire.call("GET", twin_path("condition")))
    twins = [{"$dtId": name, **room()} for name in ("condition", "condition2", "condition-none")]
    answer = must(wire.call("POST", "/digitaltwins", twins, If_Match=twin["$etag"]))
    assert [each["status"] for each in answer["results"]] == [200, 412, 412]
    answer = must(wire.call("POST", "/digitaltwins", twins, If_Match="*"))
    assert [each["status"] for each in answer["results"]] == [200, 200, 412]
    check_refusal(wire.call("POST", "/digitaltwins", twins, If_Match="X"), 400, "InvalidArgument")
    edges = [{"$sourceId": "condition", "$relationshipId": name, **EDGE} for name in ("e", "none")]
    answer = must(wire.call("POST", "/relationships", edges, If_Match=OTHER_ETAG))
    assert [each["status"] for each in answer["results"]] == [412, 412]
    assert must(wire.call("GET", edge_path("condition", "e"))) == edge
    answer = must(wire.call("POST", "/relationships", edges, If_Match=edge["$etag"]))
    assert [each["status"] for each in answer["results"]] == [200, 412]


def test_a_transaction_puts_only_the_versions_that_are_meant(wire: Wire, edge: Json) -> None:
    twin = must(wire.call("GET", twin_path("condition")))
    put_twin = {"op": "putTwin", "twinId": "condition", "document": room(Temperature=9)}
    put = {
        "op": "putRelationship",
        "sourceId": "condition",
        "relationshipId": "e",
        "document": {**EDGE, "restricted": True},
    }
    for operations in (
        [{**put_twin, "ifMatch": OTHER_ETAG}],
        [{**put_twin, "ifMatch": twin["$etag"]}, {**put, "ifMatch": OTHER_ETAG}],
        [{**put, "ifMatch": edge["$etag"]}, {**put_twin, "ifMatch": "*", "twinId": "nobody"}],
    ):
        answer = wire.call("POST", "/$transaction", {"operations": operations})
        assert (answer[0], answer[2]["error"]["code"]) == (412, "PreconditionFailed")
    whole = {"operations": [put_twin]}
    for headers in ({"If_Match": "*"}, {"If_Match": twin["$etag"]}, {"If_None_Match": "*"}):
        answer = wire.call("POST", "/$transaction", whole, **headers)
        check_refusal(answer, 412, "PreconditionFailed")
    assert must(wire.call("GET", twin_path("condition"))) == twin
    assert must(wire.call("GET", edge_path("condition", "e"))) == edge
    operations = [{**put_twin, "ifMatch": twin["$etag"]}, {**put, "ifMatch": edge["$etag"]}]
    must(wire.call("POST", "/$transaction", {"operations": operations}))


# --- what has no etag ---

DECOMMISSION = [{"op": "replace", "path": "/decommissioned", "value": True}]
WITHOUT_ETAG: list[tuple[str, str, Json]] = [
    ("POST", "/models", [{"@id": "dtmi:com:wire:New;1"}]),
    ("DELETE", "/models", None),
    ("PATCH", f"/models/{quote(CLIMATE)}", DECOMMISSION),
    ("DELETE", f"/models/{quote(CLIMATE)}", None),
    ("POST", "/digitaltwins/condition/telemetry", {"Humidity": 1}),
    ("POST", "/digitaltwins/condition/components/Climate/telemetry", {"Humidity": 1}),
    ("POST", "/$transaction", {"operations": []}),
    ("DELETE", "/eventroutes/none", None),
    ("PUT", "/jobs/imports/none", {}),
    ("DELETE", "/jobs/imports/none", None),
    ("POST", "/jobs/imports/none/cancel", None),
    ("POST", "/jobs/deletions", None),
]


@pytest.mark.parametrize(("method", "path", "body"), WITHOUT_ETAG)
def test_what_has_no_etag_is_not_written_under_a_condition_on_one(
    wire: Wire, twin: Json, method: str, path: str, body: Json
) -> None:
    models = must(wire.call("GET", "/models"))
    for headers in (
        {"If_Match": OTHER_ETAG},
        {"If_Unmodified_Since": "Sun, 06 Nov 1994 08:49:37 GMT"},
        {"If_Match": OTHER_ETAG, "If_None_Match": OTHER_ETAG},
    ):
        check_refusal(wire.call(method, path, body, **headers), 412, "PreconditionFailed")
    check_refusal(wire.call(method, path, body, If_Match="XXX"), 400, "InvalidArgument")
    check_refusal(wire.call(method, path, body, If_None_Match="XXX"), 400, "InvalidArgument")
    if method != "PUT" and (method, path) != ("POST", "/models"):
        answer = wire.call(method, path, body, If_None_Match="*")
        check_refusal(answer, 412, "PreconditionFailed")
    assert must(wire.call("GET", "/models")) == models
    assert must(wire.call("GET", twin_path("condition"))) == twin


def test_a_star_holds_for_what_is_there(wire: Wire) -> None:
    model_id = "dtmi:com:wire:Starred;1"
    model = {"@context": "dtmi:dtdl:context;2", "@id": model_id, "@type": "Interface"}
    must(wire.call("POST", "/models", [model], If_None_Match="*"), 201)
    answer = wire.call("POST", "/models", [model], If_None_Match="*")
    check_refusal(answer, 409, "ModelIdAlreadyExists")
    path = f"/models/{quote(model_id)}"
    check_no_content(wire.call("PATCH", path, DECOMMISSION, If_Match="*"), etag=False)
    check_no_content(wire.call("DELETE", path, If_Match="*"), etag=False)
    check_refusal(wire.call("DELETE", path, If_Match="*"), 404, "ModelNotFound")


def test_a_query_is_no_write(wire: Wire, twin: Json) -> None:
    del twin
    query = {"query": "SELECT COUNT() FROM DIGITALTWINS WHERE $dtId = 'condition'"}
    page = must(wire.call("POST", "/query", query, If_Match=OTHER_ETAG))
    assert page["value"] == [{"COUNT": 1}]
    assert must(wire.call("PUT", twin_path("condition-since"), climate(), If_Modified_Since="x"))
