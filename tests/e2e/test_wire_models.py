"""The models' rows of the wire, one request each against a running server."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.wire import Wire
from tests.e2e.wire_world import (
    CLIMATE,
    JSON_TYPE,
    MODELS,
    ROOM,
    SPACE,
    UPLOAD_TIME,
    VERSION,
    WORDS,
    check_no_content,
    check_refusal,
    interface,
    must,
    twin_path,
)

Json = Any
DECOMMISSION = [{"op": "replace", "path": "/decommissioned", "value": True}]


def upload(wire: Wire, *models: Json) -> Json:
    return must(wire.call("POST", f"/models?{VERSION}", list(models)), 201)


def model_path(model_id: str, more: str = "") -> str:
    return f"/models/{model_id.replace(':', '%3A').replace(';', '%3B')}?{more}{VERSION}"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ([], 400, "InvalidArgument"),
        (b"", 400, "BadRequest"),
        ({"@id": "dtmi:com:wire:X;1"}, 400, "InvalidArgument"),
        (b"{", 400, "InvalidArgument"),
        ([{}], 400, "DTDLParserError"),
        ([{"@id": "dtmi:com:wire:X;1", "@type": "Interface"}], 400, "DTDLParserError"),
        ([{"@context": "dtmi:dtdl:context;2", "@type": "Interface"}], 400, "DTDLParserError"),
        ([interface("dtmi:com:wire:X;1", version=1)], 400, "ModelVersionNotSupported"),
        ([interface("dtmi:com:wire:X;1", extends="dtmi:com:wire:No;1")], 400, "DTDLParserError"),
        ([interface("dtmi:com:wire:X;1"), interface(ROOM)], 409, "ModelIdAlreadyExists"),
        ([interface("dtmi:com:wire:X;1")] * 2, 400, "DTDLParserError"),
    ],
)
def test_a_bad_upload_is_refused_and_nothing_of_it_stored(
    wire: Wire, body: Json, status: int, code: str
) -> None:
    check_refusal(wire.call("POST", f"/models?{VERSION}", body), status, code)
    check_refusal(wire.call("GET", model_path("dtmi:com:wire:X;1")), 404, "ModelNotFound")


def test_an_upload_answers_model_data_in_its_own_order_and_without_definitions(
    wire: Wire,
) -> None:
    heir = interface("dtmi:com:wire:Heir;1", extends="dtmi:com:wire:Base;1", displayName="Heir")
    status, headers, made = wire.call(
        "POST", f"/models?{VERSION}", [heir, interface("dtmi:com:wire:Base;1")]
    )
    assert status == 201
    assert headers["content-type"] == JSON_TYPE
    assert "etag" not in headers
    assert [model["id"] for model in made] == ["dtmi:com:wire:Heir;1", "dtmi:com:wire:Base;1"]
    for model in made:
        assert list(model) == ["id", "description", "displayName", "decommissioned", "uploadTime"]
        assert UPLOAD_TIME.fullmatch(model["uploadTime"])
        assert model["decommissioned"] is False
    assert [model["displayName"] for model in made] == [{"en": "Heir"}, {}]
    assert [model["description"] for model in made] == [{}, {}]


def test_a_model_comes_back_with_its_definition_only_when_asked_for(wire: Wire) -> None:
    assert "model" not in must(wire.call("GET", model_path(SPACE)))
    asked = must(wire.call("GET", model_path(SPACE, "includeModelDefinition=True&")))
    assert asked["model"] == next(model for model in MODELS if model["@id"] == SPACE)
    assert asked["displayName"] == {"en": "Space", "de": "Raum"}
    assert asked["description"] == {"en": "where something is"}


def test_models_are_listed_by_upload_with_a_null_link_at_the_end(wire: Wire) -> None:
    status, headers, page = wire.call("GET", f"/models?{VERSION}", max_items_per_page="2000")
    assert (status, list(page), page["nextLink"]) == (200, ["value", "nextLink"], None)
    assert "etag" not in headers
    ids = [model["id"] for model in page["value"]]
    assert ids[: len(MODELS)] == [model["@id"] for model in MODELS]


def test_a_listing_names_models_and_what_they_rest_on_page_by_page(wire: Wire) -> None:
    room, climate = ROOM.replace(";", "%3B"), CLIMATE.replace(";", "%3B")
    path = f"/models?dependenciesFor={climate}&dependenciesFor={room}&includeModelDefinition=true"
    page = must(wire.call("GET", f"{path}&{VERSION}", max_items_per_page="2"))
    assert [model["id"] for model in page["value"]] == [ROOM, CLIMATE]
    link = page["nextLink"]
    assert link.startswith("http://127.0.0.1:")
    assert "includeModelDefinition=True" in link
    # The size of the pages is in the token: clients need not send it again.
    rest = must(wire.call("GET", "/" + link.split("/", 3)[3]))
    assert [model["id"] for model in rest["value"]] == [SPACE]
    assert rest["nextLink"] is None
    assert rest["value"][0]["model"]["@id"] == SPACE


@pytest.mark.parametrize("flag", ["true", "True&includeModelDefinition=false"])
def test_a_model_comes_with_all_that_it_inherits(wire: Wire, flag: str) -> None:
    path = f"/models/{quote(ROOM, safe='')}?{VERSION}"
    plain = must(wire.call("GET", path))
    whole = must(wire.call("GET", f"{path}&includeBaseModelContents={flag}"))
    room, space = (next(x for x in MODELS if x["@id"] == name) for name in (ROOM, SPACE))
    assert whole["model"] == {**room, "contents": [*room["contents"], *space["contents"]]}
    assert whole["bases"] == [SPACE]
    named = {
        kind: [each["name"] for each in whole[kind]]
        for kind in ("properties", "relationships", "components", "telemetries", "commands")
    }
    assert named["properties"][-1] == "Area"
    assert named["properties"][0] == "Temperature"
    assert named["relationships"] == ["has", "knows", "part"]
    assert (named["components"], named["telemetries"]) == (["Climate"], ["Humidity"])
    assert named["commands"] == []
    assert plain.items() <= whole.items()
    check_refusal(
        wire.call("GET", f"{path}&includeBaseModelContents=maybe"), 400, "InvalidArgument"
    )
    missing = f"/models/{quote('dtmi:com:wire:No;1')}?includeBaseModelContents=true"
    check_refusal(wire.call("GET", missing), 404, "ModelNotFound")


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ("dependenciesFor=dtmi:com:wire:No;1", {}, 404, "ModelNotFound"),
        ("dependenciesFor=No", {}, 400, "InvalidArgument"),
        ("includeModelDefinition=maybe", {}, 400, "InvalidArgument"),
        ("continuationToken=no", {}, 400, "BadRequest"),
        ("", {"max_items_per_page": "0"}, 400, "InvalidArgument"),
        ("", {"max_items_per_page": "-1"}, 400, "InvalidArgument"),
        ("", {"max_items_per_page": "many"}, 400, "InvalidArgument"),
    ],
)
def test_a_bad_listing_is_refused(
    wire: Wire, query: str, headers: dict[str, str], status: int, code: str
) -> None:
    answer = wire.call("GET", f"/models?{query}&{VERSION}", **headers)
    check_refusal(answer, status, code)


@pytest.mark.parametrize(
    ("method", "model_id", "body", "status", "code"),
    [
        ("GET", "no-dtmi", None, 400, "InvalidArgument"),
        ("GET", "dtmi:com:wire:No;1", None, 404, "ModelNotFound"),
        ("PATCH", "no-dtmi", DECOMMISSION, 400, "InvalidArgument"),
        ("PATCH", "dtmi:com:wire:No;1", DECOMMISSION, 404, "ModelNotFound"),
        (
            "PATCH",
            WORDS,
            [{"op": "add", "path": "/decommissioned", "value": True}],
            400,
            "JsonPatchInvalid",
        ),
        (
            "PATCH",
            WORDS,
            [{"op": "replace", "path": "/displayName", "value": True}],
            400,
            "JsonPatchInvalid",
        ),
        (
            "PATCH",
            WORDS,
            [{"op": "replace", "path": "/decommissioned", "value": False}],
            400,
            "JsonPatchInvalid",
        ),
        ("PATCH", WORDS, ["decommissioned"], 400, "problem"),
        ("DELETE", "no-dtmi", None, 400, "InvalidArgument"),
        ("DELETE", "dtmi:com:wire:No;1", None, 404, "ModelNotFound"),
        ("DELETE", SPACE, None, 409, "ModelReferencesNotDeleted"),
        ("DELETE", CLIMATE, None, 409, "ModelReferencesNotDeleted"),
    ],
)
def test_a_bad_request_for_one_model_is_refused(
    wire: Wire, method: str, model_id: str, body: Json, status: int, code: str
) -> None:
    check_refusal(wire.call(method, model_path(model_id), body), status, code)


def test_decommissioning_is_idempotent_and_only_stops_new_twins(wire: Wire) -> None:
    model = "dtmi:com:wire:Old;1"
    upload(wire, interface(model, {"@type": "Property", "name": "n", "schema": "string"}))
    body = {"$metadata": {"$model": model}}
    must(wire.call("PUT", twin_path("old"), body))
    for _ in range(2):
        check_no_content(wire.call("PATCH", model_path(model), DECOMMISSION), etag=False)
    assert must(wire.call("GET", model_path(model)))["decommissioned"] is True
    check_refusal(wire.call("PUT", twin_path("new"), body), 400, "ModelDecommissioned")
    patch = [{"op": "add", "path": "/n", "value": "x"}]
    check_no_content(wire.call("PATCH", twin_path("old"), patch), etag=True)


def test_a_target_does_not_keep_its_model_but_twins_outlive_theirs(wire: Wire) -> None:
    ends, target = "dtmi:com:wire:Ends;1", "dtmi:com:wire:Target;1"
    knows = {"@type": "Relationship", "name": "to", "target": target}
    name = {"@type": "Property", "name": "n", "schema": "string"}
    upload(wire, interface(ends, knows), interface(target, name, knows))
    for twin, model in (("ends", ends), ("target", target), ("target2", target)):
        must(wire.call("PUT", twin_path(twin), {"$metadata": {"$model": model}}))
    edge = {"$relationshipName": "to", "$targetId": "target"}
    must(wire.call("PUT", twin_path("ends", "relationships", "e"), edge))
    must(wire.call("PUT", twin_path("target2", "relationships", "e"), edge))
    check_no_content(wire.call("DELETE", model_path(target)), etag=False)

    # Allowed without the model: reading, querying, listing, relationships towards it, deleting.
    must(wire.call("GET", twin_path("target")))
    query = {"query": f"SELECT $dtId FROM DIGITALTWINS WHERE IS_OF_MODEL('{target}')"}
    rows = must(wire.call("POST", f"/query?{VERSION}", query))["value"]
    assert {row["$dtId"] for row in rows} == {"target", "target2"}
    listed = must(wire.call("GET", twin_path("target2", "relationships")))
    assert len(listed["value"]) == 1
    must(wire.call("PUT", twin_path("ends", "relationships", "e2"), edge))

    # Refused: editing it and its outgoing relationships.
    patch = [{"op": "add", "path": "/n", "value": "x"}]
    check_refusal(wire.call("PATCH", twin_path("target"), patch), 400, "ValidationFailed")
    out = {"$relationshipName": "to", "$targetId": "target"}
    path = twin_path("target2", "relationships", "e3")
    check_refusal(wire.call("PUT", path, out), 400, "ValidationFailed")

    # The way out: another model.
    move = [{"op": "replace", "path": "/$metadata/$model", "value": ends}]
    check_no_content(wire.call("PATCH", twin_path("target"), move), etag=True)
    path = twin_path("target2", "relationships", "e")
    check_no_content(wire.call("DELETE", path), etag=False)
    check_no_content(wire.call("DELETE", twin_path("target2")), etag=False)
