"""Relationships and queries through the vendor's SDK, and their documented errors."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)

from tests.e2e.conftest import Client
from tests.e2e.server import Server
from tests.e2e.world import World

Unique = Callable[[str], str]
OTHER = 'W/"7e67a355-f19c-4c19-8a10-2d69b2d2253f"'


@pytest.fixture(scope="module")
def world(client: Client) -> World:
    made = World.named(lambda stem: stem + uuid.uuid4().hex[:12])
    client.create_models(made.models())
    return made


@pytest.fixture
def pair(client: Client, world: World, unique: Unique) -> tuple[str, str]:
    """A building and a room without a relationship."""
    building, room = unique("building"), unique("room")
    client.upsert_digital_twin(building, world.building_twin())
    client.upsert_digital_twin(room, world.room_twin())
    return building, room


def _has(room: str, **properties: object) -> dict[str, object]:
    return {"$relationshipName": "has", "$targetId": room, **properties}


def test_a_relationship_is_created_read_patched_and_deleted(
    client: Client, pair: tuple[str, str]
) -> None:
    building, room = pair
    body = _has(room, isAccessRestricted=False, **{"$relationshipId": None, "$sourceId": "other"})
    created = client.upsert_relationship(building, "r1", body)
    assert created["$relationshipId"] == "r1"
    assert created["$sourceId"] == building
    assert created["$targetId"] == room
    assert created["$relationshipName"] == "has"
    assert created["isAccessRestricted"] is False
    assert client.get_relationship(building, "r1") == created
    client.update_relationship(
        building, "r1", [{"op": "replace", "path": "/isAccessRestricted", "value": True}]
    )
    after = client.get_relationship(building, "r1")
    assert after["isAccessRestricted"] is True
    assert after["$etag"] != created["$etag"]
    client.update_relationship(building, "r1", [])
    assert client.get_relationship(building, "r1")["$etag"] != after["$etag"]
    client.delete_relationship(building, "r1")
    with pytest.raises(ResourceNotFoundError) as caught:
        client.get_relationship(building, "r1")
    assert caught.value.error.code == "RelationshipNotFound"
    with pytest.raises(ResourceNotFoundError):
        client.delete_relationship(building, "r1")


def test_relationships_that_break_the_model_are_refused(
    client: Client, pair: tuple[str, str], unique: Unique
) -> None:
    building, room = pair

    def refusal(source: str, body: dict[str, object]) -> tuple[int, str]:
        with pytest.raises(HttpResponseError) as caught:
            client.upsert_relationship(source, "r1", body)
        return caught.value.status_code, caught.value.error.code

    assert refusal(building, {}) == (400, "InvalidArgument")
    assert refusal(building, _has(unique("none"))) == (404, "TargetDigitalTwinNotFound")
    assert refusal(unique("none"), _has(room)) == (404, "DigitalTwinNotFound")
    assert refusal(building, {"$relationshipName": "nothing", "$targetId": room}) == (
        400,
        "InvalidRelationship",
    )
    assert refusal(building, {"$relationshipName": "knows", "$targetId": building}) == (
        400,
        "OperationNotAllowed",
    )
    assert refusal(room, {"$relationshipName": "has", "$targetId": building})[0] == 400
    assert refusal(building, _has(room, unknown=1))[0] == 400
    assert refusal(building, _has(room, isAccessRestricted="yes"))[0] == 400
    assert client.list_relationships(building) == []


def test_a_target_of_another_model_is_refused(
    client: Client, world: World, pair: tuple[str, str], unique: Unique
) -> None:
    building, _ = pair
    other = unique("building")
    client.upsert_digital_twin(other, world.building_twin())
    with pytest.raises(HttpResponseError) as caught:
        client.upsert_relationship(building, "r1", _has(other))
    assert caught.value.error.code == "InvalidRelationship"


def test_conditional_relationship_writes(client: Client, pair: tuple[str, str]) -> None:
    building, room = pair
    body = _has(room)
    etag = client.upsert_relationship(
        building, "r1", body, match_condition=MatchConditions.IfMissing
    )["$etag"]
    with pytest.raises(ResourceExistsError):
        client.upsert_relationship(building, "r1", body, match_condition=MatchConditions.IfMissing)
    patch = [{"op": "add", "path": "/isAccessRestricted", "value": True}]
    with pytest.raises(ResourceModifiedError):
        client.update_relationship(
            building, "r1", patch, etag=OTHER, match_condition=MatchConditions.IfNotModified
        )
    client.update_relationship(
        building, "r1", patch, etag=etag, match_condition=MatchConditions.IfNotModified
    )
    with pytest.raises(ResourceModifiedError):
        client.delete_relationship(
            building, "r1", etag=etag, match_condition=MatchConditions.IfNotModified
        )
    client.delete_relationship(building, "r1", match_condition=MatchConditions.IfPresent)


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ([{"op": "remove", "path": "/isAccessRestricted"}], "JsonPatchInvalid"),
        ([{"op": "replace", "path": "/$targetId", "value": "x"}], "JsonPatchInvalid"),
        ([{"op": "add", "path": "/unknown", "value": 1}], "ValidationFailed"),
        ([{}], "JsonPatchInvalid"),
    ],
)
def test_a_bad_patch_of_a_relationship_changes_nothing(
    client: Client, pair: tuple[str, str], patch: list[dict[str, object]], code: str
) -> None:
    building, room = pair
    before = client.upsert_relationship(building, "r1", _has(room))
    with pytest.raises(HttpResponseError) as caught:
        client.update_relationship(building, "r1", patch)
    assert (caught.value.status_code, caught.value.error.code) == (400, code)
    assert client.get_relationship(building, "r1") == before


def test_lists_page_through_everything_once(
    client: Client, world: World, pair: tuple[str, str], server: Server
) -> None:
    building, room = pair
    names = {f"r{number:03}" for number in range(230)}
    for name in names:
        client.upsert_relationship(building, name, _has(room))
    listed = client.list_relationships(building)
    assert sorted(item["$relationshipId"] for item in listed) == sorted(names)
    incoming = client.list_incoming_relationships(room)
    assert sorted(item.relationship_id for item in incoming) == sorted(names)
    one = next(item for item in incoming if item.relationship_id == "r007")
    assert one.source_id == building
    assert one.relationship_name == "has"
    assert one.relationship_link.startswith(
        f"{server.url}/digitaltwins/{building}/relationships/r007"
    )
    # NOTE: the SDK's argument `relationship_id` is the wire's `relationshipName`.
    assert client.list_relationships(building, relationship_id="knows") == []
    assert len(client.list_relationships(building, relationship_id="has")) == 230
    with pytest.raises(ResourceNotFoundError):
        client.list_relationships("nobody-here")
    with pytest.raises(ResourceNotFoundError):
        client.list_incoming_relationships("nobody-here")


def test_a_twin_with_relationships_cannot_be_deleted(client: Client, pair: tuple[str, str]) -> None:
    building, room = pair
    client.upsert_relationship(building, "r1", _has(room))
    for twin in pair:
        with pytest.raises(HttpResponseError) as caught:
            client.delete_digital_twin(twin)
        assert (caught.value.status_code, caught.value.error.code) == (
            400,
            "RelationshipsNotDeleted",
        )
    client.delete_relationship(building, "r1")
    client.delete_digital_twin(building)
    client.delete_digital_twin(room)


def test_queries_see_each_write_at_once(
    client: Client, world: World, pair: tuple[str, str]
) -> None:
    building, room = pair
    client.upsert_relationship(building, "r1", _has(room, isAccessRestricted=True))
    document = client.get_digital_twin(building)
    assert client.query_twins(f"SELECT * FROM DIGITALTWINS WHERE $dtId = '{building}'") == [
        document
    ]
    assert client.query_twins(
        f"SELECT B, R, H FROM DIGITALTWINS B JOIN R RELATED B.has H WHERE B.$dtId = '{building}'"
    ) == [
        {
            "B": document,
            "R": client.get_digital_twin(room),
            "H": client.get_relationship(building, "r1"),
        }
    ]
    assert client.query_twins(
        f"MATCH (b:`{world.building}` {{`$dtId`: '{building}'}})-[h:has]->(r) "
        "RETURN r.`$dtId` AS room, h.isAccessRestricted AS restricted"
    ) == [{"room": room, "restricted": True}]
    client.delete_relationship(building, "r1")
    assert client.query_twins(
        f"SELECT COUNT() FROM RELATIONSHIPS WHERE $sourceId = '{building}'"
    ) == [{"COUNT": 0}]


def test_query_results_page_through_everything_once(
    client: Client, world: World, unique: Unique
) -> None:
    stem = unique("page")
    names = {f"{stem}-{number:03}" for number in range(57)}
    for name in names:
        client.upsert_digital_twin(name, world.building_twin(TemperatureUnit=stem))
    rows = client.query_twins(
        f"SELECT * FROM DIGITALTWINS WHERE TemperatureUnit = '{stem}'",
        headers={"max-items-per-page": "10"},
    )
    assert sorted(row["$dtId"] for row in rows) == sorted(names)


def test_a_query_that_does_not_parse_says_where(client: Client) -> None:
    with pytest.raises(HttpResponseError) as caught:
        client.query_twins("foo")
    assert (caught.value.status_code, caught.value.error.code) == (400, "SqlQueryError")
    with pytest.raises(HttpResponseError) as second:
        client.query_twins("SELECT * FROM DIGITALTWINS WHERE")
    assert "Line=1" in second.value.message
