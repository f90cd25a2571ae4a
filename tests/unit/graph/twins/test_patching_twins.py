"""PATCH and DELETE of twins: paths, times, preconditions (wire facts §1.6, §4.3-§4.5, §6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    InvalidArgument,
    JsonPatchInvalid,
    MemoryExhausted,
    MemoryLimitExceeded,
    PatchNotObjects,
    PreconditionFailed,
    RelationshipsNotDeleted,
    TwinNotFound,
    ValidationFailed,
)
from twinframe.graph import Graph
from twinframe.model.etags import parse_condition
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.settings import Settings
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import (
    BUILDING,
    FLOOR,
    ROOM,
    SENSOR,
    SPACE,
    build_interface,
    build_property,
)

OTHER_ETAG = 'W/"00000000-0000-4000-8000-000000000000"'
SOURCE_TIME = "2024-01-31T12:00:00.123456789+01:00"


def op(verb: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": verb, "path": path, **({"value": value[0]} if value else {})}


@pytest.fixture
def room(world: Any) -> dict[str, Any]:
    """The twin r: a room with some values."""
    created: dict[str, Any] = world.put(
        "r",
        temperature=20.0,
        tags={"a": "1"},
        readings=[1.0, 2.0],
        thermostat={"setPoint": 19.0},
    )
    return created


def test_an_empty_patch_gives_a_new_etag_and_changes_nothing_else(world: Any, room: Any) -> None:
    twin = world.patch("r")
    assert twin["$etag"] != room["$etag"]
    assert twin["$metadata"].pop("$lastUpdateTime") == world.stamp()
    room["$metadata"].pop("$lastUpdateTime")
    room["$etag"] = twin["$etag"]
    assert twin == room


@pytest.mark.parametrize("verb", ["add", "replace"])
def test_setting_a_property_moves_its_time_and_the_twins(world: Any, room: Any, verb: str) -> None:
    twin = world.patch("r", op(verb, "/temperature", 25.5))
    assert twin["temperature"] == 25.5
    assert twin["$metadata"]["temperature"] == {"lastUpdateTime": world.stamp()}
    assert twin["$metadata"]["$lastUpdateTime"] == world.stamp()
    assert twin["$metadata"]["tags"] == room["$metadata"]["tags"]
    assert twin["thermostat"] == room["thermostat"]


@pytest.mark.usefixtures("room")
def test_a_new_property_stands_before_components_and_metadata(world: Any) -> None:
    twin = world.patch("r", op("add", "/name", "x"))
    assert list(twin)[-3:] == ["name", "thermostat", "$metadata"]
    assert list(world.patch("r", op("add", "/thermostat/mode", "x"))["thermostat"]) == [
        "setPoint",
        "mode",
        "$metadata",
    ]


@pytest.mark.usefixtures("room")
def test_removing_a_property_removes_its_entry(world: Any) -> None:
    twin = world.patch("r", op("remove", "/temperature"))
    assert "temperature" not in twin
    assert "temperature" not in twin["$metadata"]
    assert twin["$metadata"]["$lastUpdateTime"] == world.stamp()


@pytest.mark.parametrize("path", ["/thermostat/setPoint"])
def test_setting_inside_a_component_moves_three_times(world: Any, room: Any, path: str) -> None:
    twin = world.patch("r", op("replace", path, 21.0))
    now = world.stamp()
    assert twin["thermostat"] == {
        "setPoint": 21.0,
        "$metadata": {"$lastUpdateTime": now, "setPoint": {"lastUpdateTime": now}},
    }
    assert twin["$metadata"]["$lastUpdateTime"] == now
    assert twin["$metadata"]["temperature"] == room["$metadata"]["temperature"]


def test_removing_inside_a_component_leaves_the_components_time(world: Any, room: Any) -> None:
    twin = world.patch("r", op("remove", "/thermostat/setPoint"))
    before = room["thermostat"]["$metadata"]["$lastUpdateTime"]
    assert twin["thermostat"] == {"$metadata": {"$lastUpdateTime": before}}
    assert twin["$metadata"]["$lastUpdateTime"] == world.stamp()


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("operation", "name", "value"),
    [
        (op("add", "/tags/b", "2"), "tags", {"a": "1", "b": "2"}),
        (op("replace", "/tags/a", "2"), "tags", {"a": "2"}),
        (op("remove", "/tags/a"), "tags", {}),
        (op("add", "/tags/x~1y", "2"), "tags", {"a": "1", "x/y": "2"}),
        (op("add", "/readings/-", 3.0), "readings", [1.0, 2.0, 3.0]),
        (op("replace", "/readings/0", 3.0), "readings", [3.0, 2.0]),
        (op("remove", "/readings/0"), "readings", [2.0]),
    ],
)
def test_a_path_into_a_property_changes_it_as_a_whole(
    world: Any, operation: Any, name: str, value: Any
) -> None:
    twin = world.patch("r", operation)
    assert twin[name] == value
    assert twin["$metadata"][name] == {"lastUpdateTime": world.stamp()}


def test_several_operations_are_applied_in_order_under_one_etag(world: Any, room: Any) -> None:
    twin = world.patch(
        "r",
        op("add", "/name", "x"),
        op("replace", "/name", "y"),
        op("remove", "/temperature"),
        op("add", "/thermostat/mode", "auto"),
        op("add", "/temperature", 1),
    )
    assert (twin["name"], twin["temperature"]) == ("y", 1)
    assert twin["thermostat"]["mode"] == "auto"


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        (op("replace", "/name", "x"), "path segment 'name' was not found."),
        (op("remove", "/name"), "path segment 'name' was not found."),
        (op("replace", "/unknown", "x"), "path segment 'unknown' was not found."),
        (op("replace", "/thermostat/mode", "x"), "path segment 'mode' was not found."),
        (op("remove", "/thermostat/mode"), "path segment 'mode' was not found."),
        (op("add", "/None/mode", "x"), "path segment 'None' was not found."),
        (op("add", "/$dtId", "x"), "$dtId is set by the service"),
        (op("replace", "/$dtId", "x"), "$dtId is set by the service"),
        (op("replace", "/$etag", "x"), "$etag is set by the service"),
        (op("remove", "/$metadata"), "of the metadata only"),
        (op("replace", "/$metadata", {"$model": FLOOR}), "of the metadata only"),
        (op("add", "/$metadata/$model", FLOOR), "can only be replaced"),
        (op("remove", "/$metadata/$model"), "can only be replaced"),
        (op("replace", "/$metadata/$model", 1), "must be given by its id"),
        (op("replace", "/$metadata/$lastUpdateTime", "x"), "of the metadata only"),
        (op("replace", "/$metadata/temperature", {}), "of the metadata only"),
        (op("replace", "/$metadata/temperature/lastUpdateTime", "x"), "of the metadata only"),
        (op("replace", "/$metadata/name/sourceTime", SOURCE_TIME), "'name' was not found"),
        (op("replace", "/$metadata/thermostat/sourceTime", SOURCE_TIME), "'thermostat' was not"),
        (op("replace", "/$metadata/temperature/sourceTime", "yesterday"), "ISO 8601"),
        (op("replace", "/$metadata/temperature/sourceTime", "2024-01-31T12:00:00"), "ISO 8601"),
        (op("replace", "/$metadata/temperature/sourceTime", 5), "ISO 8601"),
        (op("remove", "/$metadata/temperature/sourceTime"), "'sourceTime' was not found"),
        (op("replace", "/thermostat/$metadata", {}), "of the metadata only"),
        (op("replace", "/thermostat/$metadata/$lastUpdateTime", "x"), "of the metadata only"),
        (op("add", "/thermostat/$model", "x"), "$model is no property"),
        (op("move", "/name"), "Unsupported operation type move"),
        (op("add", "", {}), "whole document"),
        ({}, "op must not be empty"),
    ],
)
def test_a_path_that_is_not_there_or_protected_is_an_invalid_patch(
    world: Any, room: Any, operation: Any, part: str
) -> None:
    with pytest.raises(JsonPatchInvalid) as caught:
        world.patch("r", op("add", "/temperature", 1), operation)
    assert part in caught.value.message
    assert world.read("r") == room


def test_an_object_is_not_made_on_the_way(world: Any) -> None:
    world.put("b", BUILDING)
    with pytest.raises(JsonPatchInvalid, match="'address' was not found"):
        world.patch("b", op("add", "/address/city", "X"))
    twin = world.patch("b", op("add", "/address", {}), op("add", "/address/city", "X"))
    assert twin["address"] == {"city": "X"}


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        (op("add", "/unknown", 1), "unknown does not appear on the DTDL for Twin."),
        (op("add", "/motion", True), "it is a Telemetry"),
        (op("add", "/temperature", "x"), "Expected value of type double for temperature"),
        (op("add", "/temperature", None), "temperature"),
        (op("add", "/tags/x", 1), "tags"),
        (op("add", "/readings/-", "x"), "readings"),
        (op("add", "/thermostat/unknown", 1), "unknown does not appear on the DTDL for thermostat"),
        (op("add", "/thermostat/mode", 1), "Expected value of type string for mode on thermostat."),
        (op("replace", "/thermostat", 1), "thermostat"),
        (op("remove", "/thermostat"), "Twin is missing component thermostat"),
        (op("replace", "/$metadata/$model", "dtmi:none;1"), "dtmi:none;1"),
        (op("replace", "/$metadata/$model", FLOOR), "temperature does not appear"),
    ],
)
def test_a_result_that_does_not_conform_is_refused(
    world: Any, room: Any, operation: Any, part: str
) -> None:
    with pytest.raises(ValidationFailed) as caught:
        world.patch("r", operation)
    assert part in " ".join(detail.message for detail in caught.value.details)
    assert world.read("r") == room


@pytest.mark.usefixtures("room")
def test_elements_that_are_no_objects_are_told_apart(world: Any) -> None:
    with pytest.raises(PatchNotObjects) as caught:
        world.patch("r", "AverageTemperature")
    assert caught.value.positions == (0,)


def test_more_operations_than_allowed_are_refused(world: Any, room: Any) -> None:
    with pytest.raises(JsonPatchInvalid, match="at most 1000"):
        world.patch("r", *[op("add", "/temperature", 1)] * 1001)
    assert world.read("r") == room


# --- source times --------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["add", "replace"])
def test_a_source_time_is_set_though_it_was_not(world: Any, room: Any, verb: str) -> None:
    twin = world.patch("r", op(verb, "/$metadata/temperature/sourceTime", SOURCE_TIME))
    before = room["$metadata"]["temperature"]["lastUpdateTime"]
    assert twin["$metadata"]["temperature"] == {
        "lastUpdateTime": before,
        "sourceTime": SOURCE_TIME,
    }
    assert twin["$metadata"]["$lastUpdateTime"] == world.stamp()
    assert twin["$etag"] != room["$etag"]


@pytest.mark.usefixtures("room")
def test_a_later_value_keeps_the_source_time(world: Any) -> None:
    world.patch("r", op("replace", "/$metadata/temperature/sourceTime", SOURCE_TIME))
    twin = world.patch("r", op("replace", "/temperature", 1))
    assert twin["$metadata"]["temperature"] == {
        "lastUpdateTime": world.stamp(),
        "sourceTime": SOURCE_TIME,
    }
    twin = world.patch("r", op("remove", "/$metadata/temperature/sourceTime"))
    assert set(twin["$metadata"]["temperature"]) == {"lastUpdateTime"}


@pytest.mark.usefixtures("room")
def test_value_and_source_time_come_in_one_patch(world: Any) -> None:
    twin = world.patch(
        "r",
        op("add", "/name", "x"),
        op("add", "/$metadata/name/sourceTime", SOURCE_TIME),
        op("add", "/thermostat/mode", "x"),
        op("replace", "/thermostat/$metadata/mode/sourceTime", SOURCE_TIME),
    )
    expected = {"lastUpdateTime": world.stamp(), "sourceTime": SOURCE_TIME}
    assert twin["$metadata"]["name"] == expected
    assert twin["thermostat"]["$metadata"]["mode"] == expected


# --- moving to another model ---------------------------------------------------------------------


def test_a_move_and_the_properties_it_needs_come_in_one_patch(world: Any, room: Any) -> None:
    twin = world.patch(
        "r",
        op("replace", "/$metadata/$model", FLOOR),
        op("remove", "/temperature"),
        op("remove", "/readings"),
        op("remove", "/thermostat"),
        op("add", "/level", 3),
    )
    assert twin["$metadata"]["$model"] == FLOOR
    assert set(twin) == {"$dtId", "$etag", "tags", "level", "$metadata"}
    assert set(twin["$metadata"]) == {"$model", "$lastUpdateTime", "tags", "level"}
    assert twin["$metadata"]["tags"] == room["$metadata"]["tags"]


def test_a_component_of_the_new_model_is_added_with_it(world: Any) -> None:
    world.put("s", SPACE, name="x")
    move = op("replace", "/$metadata/$model", ROOM)
    with pytest.raises(ValidationFailed):
        world.patch("s", move)
    part = {"setPoint": 1, "$metadata": {"setPoint": {"sourceTime": SOURCE_TIME}}}
    twin = world.patch("s", move, op("add", "/thermostat", part))
    now = world.stamp()
    assert twin["thermostat"] == {
        "setPoint": 1,
        "$metadata": {
            "$lastUpdateTime": now,
            "setPoint": {"lastUpdateTime": now, "sourceTime": SOURCE_TIME},
        },
    }
    assert "thermostat" not in twin["$metadata"]


def test_a_name_may_change_from_property_to_component_and_back(world: Any) -> None:
    plain, split = "dtmi:com:example:Plain;1", "dtmi:com:example:Split;1"
    component: Any = {"@type": "Component", "name": "x", "schema": SENSOR}
    models: Any = [
        build_interface(plain, [build_property("x", "string")]),
        build_interface(split, [component]),
    ]
    world.do(world.graph.models.create_models(models))
    world.put("t", plain, x="text")
    part = {"serial": "1"}
    twin = world.patch("t", op("replace", "/$metadata/$model", split), op("replace", "/x", part))
    assert set(twin["$metadata"]) == {"$model", "$lastUpdateTime"}
    assert twin["x"]["$metadata"]["serial"] == {"lastUpdateTime": world.stamp()}
    assert world.do(world.graph.components.read_component("t", "x")).etag == twin["$etag"]
    twin = world.patch("t", op("replace", "/x", "text"), op("replace", "/$metadata/$model", plain))
    assert twin["x"] == "text"
    assert twin["$metadata"]["x"] == {"lastUpdateTime": world.stamp()}


def test_a_twin_is_found_by_its_new_model(world: Any) -> None:
    world.put("s", SPACE)
    world.patch("s", op("replace", "/$metadata/$model", FLOOR))
    page = world.do(world.graph.queries.run("MATCH (f:Floor) RETURN f.`$dtId` AS id"))
    assert page.rows == (b'{"id":"s"}',)


# --- preconditions -------------------------------------------------------------------------------


def test_a_missing_twin_is_not_found(world: Any) -> None:
    for if_match in (None, "*", OTHER_ETAG):
        with pytest.raises(TwinNotFound):
            world.patch("none", if_match=if_match)
        with pytest.raises(TwinNotFound):
            world.do(world.graph.twins.delete_twin("none", parse_condition(if_match)))
    with pytest.raises(TwinNotFound):
        world.read("none")


@pytest.mark.parametrize("header", [None, "*", "current", f"{OTHER_ETAG}, current"])
def test_a_precondition_that_holds_lets_patch_and_delete_through(
    world: Any, room: Any, header: str | None
) -> None:
    if_match = header and header.replace("current", room["$etag"])
    twin = world.patch("r", op("add", "/temperature", 1), if_match=if_match)
    if_match = header and header.replace("current", twin["$etag"])
    world.do(world.graph.twins.delete_twin("r", parse_condition(if_match)))
    with pytest.raises(TwinNotFound):
        world.read("r")


@pytest.mark.parametrize(
    ("header", "error"), [(OTHER_ETAG, PreconditionFailed), ("XXX", InvalidArgument)]
)
def test_a_precondition_that_fails_changes_nothing(
    world: Any, room: Any, header: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        world.patch("r", op("add", "/temperature", 1), if_match=header)
    with pytest.raises(error):
        world.do(world.graph.twins.delete_twin("r", parse_condition(header)))
    assert world.read("r") == room


def test_header_syntax_is_judged_before_existence(world: Any) -> None:
    with pytest.raises(InvalidArgument):
        world.patch("none", if_match="XXX")


def test_of_racing_patches_with_one_etag_exactly_one_wins(world: Any, room: Any) -> None:
    async def race() -> list[object]:
        runner = StoreRunner(world.store, world.settings.storage)
        twins = Graph(runner, world.settings).twins
        patches: list[Any] = [[op("add", "/temperature", value)] for value in range(16)]
        outcomes = await asyncio.gather(
            *(twins.patch_twin("r", patch, parse_condition(room["$etag"])) for patch in patches),
            return_exceptions=True,
        )
        await runner.close()
        return list(outcomes)

    outcomes = asyncio.run(race())
    won = [(value, outcome) for value, outcome in enumerate(outcomes) if isinstance(outcome, str)]
    assert len(won) == 1
    assert sum(isinstance(outcome, PreconditionFailed) for outcome in outcomes) == 15
    twin = world.read("r")
    assert won == [(twin["temperature"], twin["$etag"])]


# --- deleting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin_id", ["r", "s"])
def test_a_twin_with_relationships_is_not_deleted(world: Any, twin_id: str) -> None:
    world.put("r")
    world.put("s", SENSOR)
    world.relate("r", "e", "s", "watchedBy")
    with pytest.raises(RelationshipsNotDeleted, match=f"Twin {twin_id} has active relationships"):
        world.do(world.graph.twins.delete_twin(twin_id))
    world.do(world.graph.relationships.delete_relationship("r", "e"))
    world.do(world.graph.twins.delete_twin(twin_id))


def test_a_patch_of_a_large_twin_takes_from_the_account_and_gives_it_back(world: Any) -> None:
    before = world.put("a", name="x" * 200_000)
    memory = MemoryAccount(2_000_000, {Part.WRITES: 500_000})
    graph = Graph(InlineRunner(world.store), Settings(), memory=memory)
    patch = [{"op": "replace", "path": "/temperature", "value": 2.0}]
    with pytest.raises(MemoryLimitExceeded, match="Memory__Writes"):
        world.do(graph.twins.patch_twin("a", patch))
    assert world.read("a") == before
    memory = MemoryAccount(2_000_000)
    graph = Graph(InlineRunner(world.store), Settings(), memory=memory)
    held = memory.hold(Part.QUERIES, 1_500_000)
    with pytest.raises(MemoryExhausted):
        world.do(graph.twins.patch_twin("a", patch))
    held.release()
    world.do(graph.twins.patch_twin("a", [{"op": "add", "path": "/temperature", "value": 2.0}]))
    assert (world.read("a")["temperature"], memory.used) == (2.0, 0)
