"""Relationships: document, outcomes of PUT, PATCH and DELETE, lists (wire facts §1.6, §8)."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.errors import (
    InvalidArgument,
    InvalidContinuationToken,
    InvalidRelationship,
    JsonPatchInvalid,
    OperationNotAllowed,
    PatchNotObjects,
    PreconditionFailed,
    RelationshipNotFound,
    TargetTwinNotFound,
    TwinNotFound,
    ValidationFailed,
)
from twinframe.model.etags import parse_condition, parse_put_condition
from twinframe.model.pages import PageRequest
from twinframe.settings import Settings
from twinframe.storage.base import IncomingRelationship
from twinframe.testing.factories import (
    BUILDING,
    FLOOR,
    SENSOR,
    SPACE,
    build_interface,
    build_property,
)

OTHER_ETAG = 'W/"00000000-0000-4000-8000-000000000000"'


@pytest.fixture
def ends(world: Any) -> Any:
    """Rooms a and b, a sensor s, a floor f."""
    for twin_id in "ab":
        world.put(twin_id)
    world.put("s", SENSOR)
    world.put("f", FLOOR)
    return world


def read(world: Any, source: str, relationship_id: str) -> dict[str, Any]:
    stored = world.do(world.graph.relationships.read_relationship(source, relationship_id))
    document: dict[str, Any] = world.load(stored.body)
    assert document["$etag"] == stored.etag
    return document


def patch(world: Any, *operations: Any, if_match: str | None = None) -> dict[str, Any]:
    etag = world.do(
        world.graph.relationships.patch_relationship(
            "a", "r", list(operations), parse_condition(if_match)
        )
    )
    document = read(world, "a", "r")
    assert document["$etag"] == etag
    return document


def test_a_relationship_has_its_members_in_the_wire_order(ends: Any) -> None:
    answer = ends.relate("a", "r", "s", "watchedBy", since="2024-01-31")
    assert answer == read(ends, "a", "r")
    assert list(answer) == [
        "$relationshipId",
        "$etag",
        "$sourceId",
        "$relationshipName",
        "$targetId",
        "since",
    ]
    del answer["$etag"]
    assert answer == {
        "$relationshipId": "r",
        "$sourceId": "a",
        "$relationshipName": "watchedBy",
        "$targetId": "s",
        "since": "2024-01-31",
    }


def test_ids_and_etag_in_the_body_are_ignored(ends: Any) -> None:
    for value in (None, "other", 1):
        more = {"$relationshipId": value, "$sourceId": value, "$etag": value}
        answer = ends.relate("a", "r", "b", **more)
        assert (answer["$relationshipId"], answer["$sourceId"]) == ("r", "a")
        assert answer["$etag"] != value


def test_relationship_writes_leave_the_twins_alone(ends: Any) -> None:
    before = ends.read("a"), ends.read("b")
    ends.relate("a", "r", "b")
    ends.do(ends.graph.relationships.delete_relationship("a", "r"))
    assert (ends.read("a"), ends.read("b")) == before


def test_a_put_replaces_even_name_and_target(ends: Any) -> None:
    first = ends.relate("a", "r", "s", "watchedBy", since="2024-01-31")
    second = ends.relate("a", "r", "b", "relatedTo")
    assert second["$etag"] != first["$etag"]
    assert read(ends, "a", "r") == second
    assert "since" not in second


def test_two_sources_may_use_one_id(ends: Any) -> None:
    ends.relate("a", "r", "s")
    ends.relate("b", "r", "s")
    assert read(ends, "a", "r")["$sourceId"] == "a"
    assert read(ends, "b", "r")["$sourceId"] == "b"


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        [{}],
        None,
        "x",
        {"$targetId": "b"},
        {"$relationshipName": "relatedTo"},
        {"$relationshipName": 1, "$targetId": "b"},
        {"$relationshipName": "relatedTo", "$targetId": None},
        {"$relationshipName": "", "$targetId": "b"},
    ],
)
def test_a_body_without_name_and_target_is_refused(ends: Any, body: Any) -> None:
    with pytest.raises(InvalidArgument, match="Could not deserialize relationship create body"):
        ends.do(ends.graph.relationships.put_relationship("a", "r", body))


def test_both_ends_must_exist(ends: Any) -> None:
    with pytest.raises(TwinNotFound):
        ends.relate("x", "r", "b")
    with pytest.raises(TargetTwinNotFound):
        ends.relate("a", "r", "x")
    with pytest.raises(InvalidArgument):
        ends.relate("a", "", "b")


def test_a_name_that_the_source_does_not_have_is_refused_with_the_nearest(ends: Any) -> None:
    for name in ("relatedto", "temperature", "thermostat", "nothing"):
        with pytest.raises(InvalidRelationship, match="does not align with the model") as caught:
            ends.relate("a", "r", "b", name)
        assert name in caught.value.message
    with pytest.raises(InvalidRelationship, match="watchedBy"):
        ends.relate("a", "r", "s", "watchedBi")
    with pytest.raises(InvalidRelationship):
        ends.relate("s", "r", "a", "relatedTo")


def test_a_name_may_be_inherited(ends: Any) -> None:
    ends.put("building", BUILDING)
    assert ends.relate("building", "r", "f", "hasPart")["$targetId"] == "f"


def test_the_target_must_have_the_model_asked_for_or_one_that_extends_it(ends: Any) -> None:
    ends.put("space", SPACE)
    ends.relate("f", "1", "space", "hasPart")
    ends.relate("f", "2", "a", "hasPart")
    with pytest.raises(InvalidRelationship) as caught:
        ends.relate("f", "3", "s", "hasPart")
    assert SPACE in caught.value.message
    assert SENSOR in caught.value.message
    with pytest.raises(InvalidRelationship):
        ends.relate("a", "4", "b", "watchedBy")


def test_the_version_of_the_targets_model_does_not_count(ends: Any) -> None:
    newer = "dtmi:com:example:Sensor;2"
    child = "dtmi:com:example:Camera;1"
    models: Any = [build_interface(newer), build_interface(child, extends=[newer])]
    ends.do(ends.graph.models.create_models(models))
    ends.put("s2", newer)
    ends.put("c", child)
    ends.relate("a", "1", "s2", "watchedBy")
    ends.relate("a", "2", "c", "watchedBy")


def test_a_deleted_model_of_the_target_is_still_known(ends: Any) -> None:
    child = "dtmi:com:example:Camera;1"
    models: Any = [build_interface(child, extends=[SENSOR])]
    ends.do(ends.graph.models.create_models(models))
    ends.put("c", child)
    ends.do(ends.graph.models.delete_model(child))
    ends.relate("a", "1", "c", "watchedBy")
    with pytest.raises(InvalidRelationship):
        ends.relate("f", "1", "c", "hasPart")
    with pytest.raises(ValidationFailed):
        ends.relate("c", "1", "a")


def test_a_target_left_open_takes_any_twin(ends: Any) -> None:
    for target in ("b", "s", "f"):
        ends.relate("a", target, target, "relatedTo")


def test_a_twin_is_not_related_to_itself_unless_allowed(ends: Any) -> None:
    with pytest.raises(OperationNotAllowed):
        ends.relate("a", "r", "a")
    settings = Settings.model_validate({"Graph": {"RefuseSelfRelationships": False}})
    lenient = type(ends)(ends.store, settings)
    assert lenient.relate("a", "r", "a")["$targetId"] == "a"


@pytest.mark.parametrize(
    "more", [{"since": "yesterday"}, {"since": None}, {"unknown": 1}, {"$metadata": {}}]
)
def test_properties_are_checked_against_the_model(ends: Any, more: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed) as caught:
        ends.relate("a", "r", "s", "watchedBy", **more)
    assert next(iter(more)) in caught.value.details[0].message
    with pytest.raises(RelationshipNotFound):
        read(ends, "a", "r")


def test_more_than_the_models_multiplicity_is_accepted(ends: Any) -> None:
    model = "dtmi:com:example:Single;1"
    relationship: Any = {"@type": "Relationship", "name": "one", "maxMultiplicity": 1}
    ends.do(ends.graph.models.create_models([build_interface(model, [relationship])]))
    ends.put("single", model)
    for n in range(3):
        ends.relate("single", str(n), "a", "one")


# --- preconditions -------------------------------------------------------------------------------


def test_if_none_match_creates_what_is_missing_and_refuses_what_is_there(ends: Any) -> None:
    put = ends.graph.relationships.put_relationship
    body = {"$relationshipName": "relatedTo", "$targetId": "b"}
    first = ends.do(put("a", "r", body, parse_put_condition(None, "*")))
    with pytest.raises(PreconditionFailed):
        ends.do(put("a", "r", body, parse_put_condition(None, "*")))
    with pytest.raises(InvalidArgument):
        ends.do(put("a", "new", body, parse_put_condition(None, OTHER_ETAG)))
    assert read(ends, "a", "r")["$etag"] == first.etag
    with pytest.raises(RelationshipNotFound):
        read(ends, "a", "new")


def test_if_match_guards_patch_and_delete(ends: Any) -> None:
    before = ends.relate("a", "r", "b")
    delete = ends.graph.relationships.delete_relationship
    for header, error in ((OTHER_ETAG, PreconditionFailed), ("XXX", InvalidArgument)):
        with pytest.raises(error):
            patch(ends, if_match=header)
        with pytest.raises(error):
            ends.do(delete("a", "r", parse_condition(header)))
    assert read(ends, "a", "r") == before
    after = patch(ends, if_match=before["$etag"])
    patch(ends, if_match="*")
    with pytest.raises(PreconditionFailed):
        ends.do(delete("a", "r", parse_condition(after["$etag"])))
    ends.do(delete("a", "r", parse_condition("*")))
    with pytest.raises(RelationshipNotFound):
        read(ends, "a", "r")


def test_what_is_missing_is_told_apart(ends: Any) -> None:
    relationships = ends.graph.relationships
    for error, source in ((RelationshipNotFound, "a"), (TwinNotFound, "x")):
        with pytest.raises(error):
            ends.do(relationships.read_relationship(source, "none"))
        with pytest.raises(error):
            ends.do(
                relationships.patch_relationship(source, "none", [], parse_condition(OTHER_ETAG))
            )
        with pytest.raises(error):
            ends.do(relationships.delete_relationship(source, "none", parse_condition(OTHER_ETAG)))


# --- patches -------------------------------------------------------------------------------------


def test_an_empty_patch_gives_a_new_etag(ends: Any) -> None:
    before = ends.relate("a", "r", "s", "watchedBy", since="2024-01-31")
    after = patch(ends)
    assert after["$etag"] != before["$etag"]
    assert {**after, "$etag": ""} == {**before, "$etag": ""}


def test_properties_are_added_replaced_and_removed(ends: Any) -> None:
    ends.relate("a", "r", "s", "watchedBy")
    after = patch(ends, {"op": "add", "path": "/since", "value": "2024-01-31"})
    assert after["since"] == "2024-01-31"
    after = patch(ends, {"op": "replace", "path": "/since", "value": "2025-01-31"})
    assert after["since"] == "2025-01-31"
    assert "since" not in patch(ends, {"op": "remove", "path": "/since"})


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/since"},
        {"op": "replace", "path": "/since", "value": "2024-01-31"},
        {"op": "replace", "path": "/$targetId", "value": "b"},
        {"op": "replace", "path": "/$relationshipName", "value": "relatedTo"},
        {"op": "add", "path": "/$metadata", "value": {}},
        {"op": "remove", "path": "/$etag"},
        {"op": "move", "from": "/a", "path": "/b"},
        {},
    ],
)
def test_paths_that_are_not_there_or_fixed_are_an_invalid_patch(ends: Any, operation: Any) -> None:
    before = ends.relate("a", "r", "s", "watchedBy")
    with pytest.raises(JsonPatchInvalid):
        patch(ends, operation)
    assert read(ends, "a", "r") == before


def test_a_patched_property_is_checked_against_the_model(ends: Any) -> None:
    before = ends.relate("a", "r", "s", "watchedBy")
    for path, value in (("/since", 1), ("/unknown", 1)):
        with pytest.raises(ValidationFailed):
            patch(ends, {"op": "add", "path": path, "value": value})
    with pytest.raises(PatchNotObjects):
        patch(ends, "x")
    assert read(ends, "a", "r") == before


def test_a_relationship_that_left_the_model_is_not_edited(ends: Any) -> None:
    model = "dtmi:com:example:Edge;1"
    relationship: Any = {
        "@type": "Relationship",
        "name": "old",
        "properties": [build_property("p", "integer")],
    }
    create = ends.graph.models.create_models
    ends.do(create([build_interface(model, [relationship])]))
    ends.put("e", model)
    ends.relate("e", "r", "a", "old")
    ends.do(ends.graph.models.delete_model(model))
    change = [{"op": "add", "path": "/p", "value": 1}]
    with pytest.raises(ValidationFailed):
        ends.do(ends.graph.relationships.patch_relationship("e", "r", change))
    ends.do(create([build_interface(model)]))
    with pytest.raises(InvalidRelationship):
        ends.do(ends.graph.relationships.patch_relationship("e", "r", change))
    ends.do(ends.graph.relationships.delete_relationship("e", "r"))


# --- lists ---------------------------------------------------------------------------------------


def walk(world: Any, call: Any, size: int | None) -> list[Any]:
    """All items of a listing, page by page."""
    items: list[Any] = []
    token: str | None = None
    while True:
        page = world.do(call(PageRequest(size if token is None else None, token)))
        items += page.items
        assert page.items or token is None
        assert size is None or len(page.items) <= size
        if page.token is None:
            return items
        token = page.token


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, None])
def test_outgoing_pages_hold_each_relationship_once(ends: Any, size: int | None) -> None:
    expected = [ends.relate("a", f"r{n}", "b") for n in range(5)]
    expected.append(ends.relate("a", "w", "s", "watchedBy", since="2024-01-31"))
    ends.relate("b", "r1", "a")
    relationships = ends.graph.relationships
    found = walk(ends, lambda page: relationships.list_relationships("a", None, page), size)
    documents = [ends.load(body) for body in found]
    assert sorted(documents, key=str) == sorted(expected, key=str)
    named = walk(ends, lambda page: relationships.list_relationships("a", "watchedBy", page), size)
    assert [ends.load(body)["$relationshipId"] for body in named] == ["w"]


@pytest.mark.parametrize("size", [1, 2, 4, None])
def test_incoming_pages_hold_each_relationship_once(ends: Any, size: int | None) -> None:
    for n in range(2):
        ends.relate("a", f"r{n}", "s", "watchedBy")
    ends.relate("b", "r0", "s")
    found = walk(ends, lambda page: ends.graph.relationships.list_incoming("s", page), size)
    assert sorted(found, key=str) == [
        IncomingRelationship("a", "r0", "watchedBy"),
        IncomingRelationship("a", "r1", "watchedBy"),
        IncomingRelationship("b", "r0", "relatedTo"),
    ]


def test_lists_of_a_missing_twin_are_not_found_and_of_a_lone_one_empty(ends: Any) -> None:
    relationships = ends.graph.relationships
    for call in (relationships.list_relationships, relationships.list_incoming):
        with pytest.raises(TwinNotFound):
            ends.do(call("x"))
        page = ends.do(call("a"))
        assert (page.items, page.token) == ((), None)
    assert ends.do(relationships.list_relationships("a", "nothing")).items == ()


def test_a_token_belongs_to_its_list(ends: Any) -> None:
    for n in range(3):
        ends.relate("a", f"r{n}", "s", "watchedBy")
    relationships = ends.graph.relationships
    token = ends.do(relationships.list_relationships("a", None, PageRequest(1))).token
    incoming = ends.do(relationships.list_incoming("s", PageRequest(1))).token
    assert token
    assert incoming
    again = PageRequest(None, token)
    for call in (
        relationships.list_relationships("b", None, again),
        relationships.list_relationships("a", "watchedBy", again),
        relationships.list_incoming("a", again),
        relationships.list_incoming("s", again),
        relationships.list_relationships("a", None, PageRequest(None, incoming)),
        ends.graph.models.list_models((), False, again),
    ):
        with pytest.raises(InvalidContinuationToken):
            ends.do(call)


def test_page_sizes_are_bounded_and_carried_on(ends: Any) -> None:
    for n in range(7):
        ends.relate("a", f"r{n}", "b")
    call = ends.graph.relationships.list_relationships
    for size in (0, -1):
        with pytest.raises(InvalidArgument):
            ends.do(call("a", None, PageRequest(size)))
    assert len(ends.do(call("a", None, PageRequest(10**9))).items) == 7
    first = ends.do(call("a", None, PageRequest(3)))
    assert len(ends.do(call("a", None, PageRequest(None, first.token))).items) == 3
    assert len(ends.do(call("a", None, PageRequest(2, first.token))).items) == 2
    settings = Settings.model_validate({"Graph": {"PageSize": 2, "MaxPageSize": 4}})
    small = type(ends)(ends.store, settings)
    call = small.graph.relationships.list_relationships
    assert len(small.do(call("a")).items) == 2
    assert len(small.do(call("a", None, PageRequest(100))).items) == 4
