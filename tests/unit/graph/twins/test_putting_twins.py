"""PUT of twins: what is stored, what is ignored, what is refused (wire facts §1.6, §4.1, §4.2)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    ModelDecommissioned,
    PreconditionFailed,
    TwinNotFound,
    ValidationFailed,
)
from twinframe.model.etags import parse_put_condition
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.testing.factories import BUILDING, FLOOR, ROOM, SENSOR, SPACE

DECOMMISSION: Any = [{"op": "replace", "path": "/decommissioned", "value": True}]


def details(error: pytest.ExceptionInfo[ValidationFailed]) -> str:
    assert error.value.message == "Invalid twin specified."
    return " | ".join(detail.message for detail in error.value.details)


def test_a_twin_has_its_members_in_the_wire_order(world: Any) -> None:
    world.do(
        world.graph.twins.put_twin(
            "r1",
            {
                "thermostat": {"setPoint": 20},
                "temperature": 21.5,
                "$metadata": {"$model": ROOM},
                "name": "one",
            },
        )
    )
    twin = world.read("r1")
    now = world.stamp()
    assert list(twin) == ["$dtId", "$etag", "temperature", "name", "thermostat", "$metadata"]
    assert twin["$metadata"] == {
        "$model": ROOM,
        "$lastUpdateTime": now,
        "temperature": {"lastUpdateTime": now},
        "name": {"lastUpdateTime": now},
    }
    assert twin["thermostat"] == {
        "setPoint": 20,
        "$metadata": {"$lastUpdateTime": now, "setPoint": {"lastUpdateTime": now}},
    }
    assert re.fullmatch(r'W/"[0-9a-f-]{36}"', twin["$etag"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z", now)


def test_the_answer_is_what_is_read_afterwards(world: Any) -> None:
    assert world.put("r1", temperature=1.0) == world.read("r1")


def test_numbers_keep_their_spelling(world: Any) -> None:
    world.put("r1", temperature=68)
    assert b'"temperature":68,' in world.do(world.graph.twins.read_twin("r1")).body


def test_structured_properties_have_one_entry_each(world: Any) -> None:
    twin = world.put("b", BUILDING, address={"city": "X", "zip": "1"}, tags={"a": "1", "b": "2"})
    assert set(twin["$metadata"]) == {"$model", "$lastUpdateTime", "address", "tags"}
    assert set(twin["$metadata"]["address"]) == {"lastUpdateTime"}


def test_ids_and_etags_in_the_body_are_ignored(world: Any) -> None:
    for etag in (None, "stale", 1):
        twin = world.put("r1", **{"$dtId": "other", "$etag": etag})
        assert twin["$dtId"] == "r1"
        assert twin["$etag"] not in (None, "stale", 1)


def test_times_in_the_body_are_overwritten_and_source_times_kept(world: Any) -> None:
    source = "2021-06-01T12:00:00.123456789+02:00"
    twin = world.put(
        "r1",
        temperature=1,
        thermostat={
            "mode": "x",
            "$metadata": {"$lastUpdateTime": "old", "mode": {"sourceTime": source}},
        },
        **{
            "$metadata": {
                "$model": ROOM,
                "$lastUpdateTime": "1999-01-01T00:00:00Z",
                "temperature": {"lastUpdateTime": "1999-01-01T00:00:00Z", "sourceTime": source},
                "name": {"lastUpdateTime": "1999-01-01T00:00:00Z"},
                "thermostat": {"lastUpdateTime": "old"},
            }
        },
    )
    now = world.stamp()
    assert twin["$metadata"] == {
        "$model": ROOM,
        "$lastUpdateTime": now,
        "temperature": {"lastUpdateTime": now, "sourceTime": source},
    }
    assert twin["thermostat"]["$metadata"] == {
        "$lastUpdateTime": now,
        "mode": {"lastUpdateTime": now, "sourceTime": source},
    }


def test_a_stored_twin_can_be_put_again_as_it_is(world: Any) -> None:
    first = world.put("r1", temperature=1.5, thermostat={"setPoint": 3})
    again = world.load(world.do(world.graph.twins.put_twin("r1", first)).body)
    assert again["$etag"] != first["$etag"]
    assert (again["temperature"], again["thermostat"]["setPoint"]) == (1.5, 3)


def test_replacing_drops_old_properties_and_keeps_relationships(world: Any) -> None:
    world.put("r1", temperature=1, name="old")
    world.put("r2")
    edge = world.relate("r1", "e", "r2")
    twin = world.put("r1", temperature=2)
    assert "name" not in twin
    assert twin["$metadata"]["temperature"] == {"lastUpdateTime": world.stamp()}
    stored = world.do(world.graph.relationships.read_relationship("r1", "e"))
    assert stored.etag == edge["$etag"]


def test_a_twin_may_change_its_model_by_put(world: Any) -> None:
    world.put("x", ROOM, temperature=1)
    twin = world.put("x", FLOOR, level=3)
    assert twin["$metadata"]["$model"] == FLOOR
    assert "thermostat" not in twin


@pytest.mark.parametrize("part", [{}, {"$metadata": {}}, {"$metadata": {"$lastUpdateTime": "x"}}])
def test_a_component_may_be_empty(world: Any, part: Any) -> None:
    twin = world.put("r1", thermostat=part)
    assert twin["thermostat"] == {"$metadata": {"$lastUpdateTime": world.stamp()}}


@pytest.mark.parametrize("body", [[{}], [], "x", 1, None, True])
def test_a_body_that_is_no_object_is_an_invalid_payload(world: Any, body: Any) -> None:
    with pytest.raises(InvalidArgument, match="Payload is invalid"):
        world.do(world.graph.twins.put_twin("r1", body))


@pytest.mark.parametrize(
    ("members", "part"),
    [
        ({"$metadata": None}, "$metadata"),
        ({"$metadata": {}}, "$metadata.$model"),
        ({"$metadata": {"$model": 1}}, "$metadata.$model"),
        ({"$metadata": {"$model": "dtmi:com:example:None;1"}}, "dtmi:com:example:None;1"),
        ({"$metadata": {"$model": "no dtmi"}}, "or one of its dependencies"),
        ({"unknown": 1}, "unknown does not appear on the DTDL for Twin."),
        ({"Temperature": 1}, "Temperature does not appear on the DTDL for Twin."),
        ({"$other": 1}, "$other"),
        ({"motion": True}, "motion is not a property - it is a Telemetry."),
        ({"relatedTo": "x"}, "relatedTo is not a property - it is a Relationship."),
        ({"temperature": "22.3"}, "Expected value of type double for temperature"),
        ({"temperature": None}, "temperature"),
        ({"name": 5}, "Expected value of type string for name"),
        ({"thermostat": None}, "thermostat"),
        ({"thermostat": 1}, "thermostat"),
        ({"thermostat": {"$metadata": 1}}, "thermostat"),
        ({"thermostat": {"mode": 1}}, "Expected value of type string for mode on thermostat."),
        ({"thermostat": {"x": 1}}, "x does not appear on the DTDL for thermostat."),
        ({"thermostat": {"heat": 1.0}}, "heat is not a property - it is a Telemetry."),
        (
            {"temperature": 1, "$metadata": {"$model": ROOM, "temperature": {"sourceTime": "now"}}},
            "sourceTime of temperature",
        ),
    ],
)
def test_what_does_not_conform_is_refused_with_the_reason(
    world: Any, members: dict[str, Any], part: str
) -> None:
    with pytest.raises(ValidationFailed) as caught:
        world.put("r1", **members)
    assert part in details(caught)
    with pytest.raises(TwinNotFound):
        world.read("r1")


def test_a_missing_component_is_refused(world: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        world.do(world.graph.twins.put_twin("r1", {"$metadata": {"$model": ROOM}}))
    assert "Twin is missing component thermostat" in details(caught)


def test_every_violation_is_told(world: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        world.put("r1", temperature="x", unknown=1, name=2)
    assert len(caught.value.details) == 3


def test_inherited_properties_are_the_twins_own(world: Any) -> None:
    assert world.put("b", BUILDING, name="tower", area=3)["name"] == "tower"


@pytest.mark.parametrize("twin_id", ["", "x" * 1025, "a\x00", "a\n"])
def test_an_id_that_is_not_accepted_is_refused(world: Any, twin_id: str) -> None:
    with pytest.raises(InvalidArgument):
        world.put(twin_id)


def test_a_document_beyond_the_limit_is_refused(store: GraphStore, world: Any) -> None:
    settings = Settings.model_validate({"Graph": {"MaxTwinBytes": 1000}})
    small = type(world)(store, settings)
    small.put("r1", SPACE, name="x" * 500)
    with pytest.raises(LimitExceeded, match="at most 1000"):
        small.put("r1", SPACE, name="x" * 1000)
    with pytest.raises(LimitExceeded, match="at most 1000"):
        small.patch("r1", {"op": "replace", "path": "/name", "value": "x" * 1000})
    assert small.read("r1")["name"] == "x" * 500


# --- preconditions -------------------------------------------------------------------------------


def test_if_none_match_creates_what_is_missing_and_refuses_what_is_there(world: Any) -> None:
    body = {"$metadata": {"$model": SENSOR}}
    first = world.do(world.graph.twins.put_twin("s", body, parse_put_condition(None, "*")))
    with pytest.raises(PreconditionFailed, match="a twin with the id s was found"):
        world.do(world.graph.twins.put_twin("s", body, parse_put_condition(None, "*")))
    assert world.read("s")["$etag"] == first.etag


@pytest.mark.parametrize("header", ["XXX", 'W/"7e67a355-f19c-4c19-8a10-2d69b2d2253f"', ""])
def test_any_other_if_none_match_is_refused_and_nothing_written(world: Any, header: str) -> None:
    with pytest.raises(InvalidArgument, match="Invalid If-None-Match"):
        world.do(
            world.graph.twins.put_twin(
                "s", {"$metadata": {"$model": SENSOR}}, parse_put_condition(None, header)
            )
        )
    with pytest.raises(TwinNotFound):
        world.read("s")


def test_the_precondition_is_told_before_the_document(world: Any) -> None:
    world.put("s", SENSOR)
    with pytest.raises(PreconditionFailed):
        world.do(
            world.graph.twins.put_twin(
                "s", {"x": 1, "$metadata": {"$model": SENSOR}}, parse_put_condition(None, "*")
            )
        )


# --- decommissioned and deleted models -----------------------------------------------------------


def test_a_decommissioned_model_takes_no_new_twins(world: Any) -> None:
    world.put("s1", SENSOR)
    world.put("f", FLOOR)
    world.do(world.graph.models.decommission_model(SENSOR, DECOMMISSION))
    with pytest.raises(ModelDecommissioned):
        world.put("s2", SENSOR)
    with pytest.raises(ModelDecommissioned):
        world.put("f", SENSOR)
    with pytest.raises(ModelDecommissioned):
        world.patch("f", {"op": "replace", "path": "/$metadata/$model", "value": SENSOR})
    assert world.patch("s1", {"op": "add", "path": "/serial", "value": "7"})["serial"] == "7"
    assert world.put("s1", SENSOR, serial="8")["serial"] == "8"


def test_twins_of_a_deleted_model_are_read_and_deleted_but_not_edited(world: Any) -> None:
    world.put("s", SENSOR, serial="1")
    world.put("r", ROOM)
    world.relate("r", "e", "s", "watchedBy")
    world.do(world.graph.models.delete_model(SENSOR))
    assert world.read("s")["serial"] == "1"
    for operations in ([{"op": "add", "path": "/serial", "value": "2"}], []):
        with pytest.raises(ValidationFailed) as caught:
            world.patch("s", *operations)
        assert SENSOR in details(caught)
    with pytest.raises(ValidationFailed):
        world.put("s", SENSOR)
    world.relate("r", "e2", "s", "watchedBy")
    for relationship_id in ("e", "e2"):
        world.do(world.graph.relationships.delete_relationship("r", relationship_id))
    world.do(world.graph.twins.delete_twin("s"))


def test_a_twin_of_a_deleted_model_is_moved_to_a_stored_one(world: Any) -> None:
    world.put("s", SENSOR)
    world.do(world.graph.models.delete_model(SENSOR))
    moved = world.patch("s", {"op": "replace", "path": "/$metadata/$model", "value": FLOOR})
    assert moved["$metadata"]["$model"] == FLOOR


def test_an_upload_of_the_same_id_revives_its_twins(world: Any) -> None:
    world.put("s", SENSOR, serial="1")
    world.do(world.graph.models.delete_model(SENSOR))
    upload: Any = [
        {
            "@id": SENSOR,
            "@type": "Interface",
            "@context": "dtmi:dtdl:context;3",
            "contents": [{"@type": "Property", "name": "other", "schema": "integer"}],
        }
    ]
    world.do(world.graph.models.create_models(upload))
    twin = world.patch("s", {"op": "add", "path": "/other", "value": 1})
    assert (twin["serial"], twin["other"]) == ("1", 1)
    with pytest.raises(ValidationFailed):
        world.patch("s", {"op": "replace", "path": "/serial", "value": "2"})
