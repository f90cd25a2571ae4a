"""Components over their own endpoint (wire facts §7)."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.errors import (
    ComponentNotFound,
    InvalidArgument,
    JsonPatchInvalid,
    PreconditionFailed,
    TwinNotFound,
    ValidationFailed,
)
from twinframe.model.etags import parse_condition
from twinframe.testing.factories import BUILDING

SOURCE_TIME = "2024-01-31T12:00:00Z"


@pytest.fixture
def room(world: Any) -> dict[str, Any]:
    """The twin r with a component that has a value."""
    created: dict[str, Any] = world.put("r", temperature=1.0, thermostat={"setPoint": 19.0})
    return created


def patch(world: Any, name: str, *operations: Any, if_match: str | None = None) -> dict[str, Any]:
    etag = world.do(
        world.graph.components.patch_component(
            "r", name, list(operations), parse_condition(if_match)
        )
    )
    twin: dict[str, Any] = world.read("r")
    assert twin["$etag"] == etag
    return twin


def test_a_component_is_read_with_its_metadata_and_the_twins_etag(world: Any, room: Any) -> None:
    stored = world.do(world.graph.components.read_component("r", "thermostat"))
    assert stored.etag == room["$etag"]
    assert world.load(stored.body) == room["thermostat"]
    assert set(room["thermostat"]) == {"setPoint", "$metadata"}


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("name", ["none", "temperature", "Thermostat", "relatedTo", "motion"])
def test_what_is_no_component_is_not_found(world: Any, name: str) -> None:
    with pytest.raises(ComponentNotFound) as caught:
        world.do(world.graph.components.read_component("r", name))
    assert caught.value.message == f"r does not have component {name}."


def test_a_map_with_an_odd_key_is_no_component(world: Any) -> None:
    world.put("b", BUILDING, tags={"$metadata": "x"})
    with pytest.raises(ComponentNotFound):
        world.do(world.graph.components.read_component("b", "tags"))


def test_a_component_of_a_missing_twin_is_the_twins_absence(world: Any) -> None:
    with pytest.raises(TwinNotFound):
        world.do(world.graph.components.read_component("x", "thermostat"))
    with pytest.raises(TwinNotFound):
        world.do(world.graph.components.patch_component("x", "thermostat", []))


@pytest.mark.parametrize("name", ["$metadata", "$dtId", "a/b", ""])
def test_a_name_no_component_can_have_is_refused(world: Any, room: Any, name: str) -> None:
    with pytest.raises(InvalidArgument):
        world.do(world.graph.components.read_component("r", name))
    with pytest.raises(InvalidArgument):
        patch(world, name)
    assert world.read("r") == room


def test_replacing_moves_property_component_and_twin(world: Any, room: Any) -> None:
    twin = patch(world, "thermostat", {"op": "replace", "path": "/setPoint", "value": 21.0})
    now = world.stamp()
    assert twin["thermostat"] == {
        "setPoint": 21.0,
        "$metadata": {"$lastUpdateTime": now, "setPoint": {"lastUpdateTime": now}},
    }
    assert twin["$metadata"]["$lastUpdateTime"] == now
    assert twin["$metadata"]["temperature"] == room["$metadata"]["temperature"]
    assert twin["$etag"] != room["$etag"]


def test_removing_leaves_the_components_time(world: Any, room: Any) -> None:
    twin = patch(world, "thermostat", {"op": "remove", "path": "/setPoint"})
    before = room["thermostat"]["$metadata"]["$lastUpdateTime"]
    assert twin["thermostat"] == {"$metadata": {"$lastUpdateTime": before}}


@pytest.mark.usefixtures("room")
def test_a_source_time_is_set_by_the_path_in_the_component(world: Any) -> None:
    path = "/$metadata/setPoint/sourceTime"
    twin = patch(world, "thermostat", {"op": "replace", "path": path, "value": SOURCE_TIME})
    assert twin["thermostat"]["$metadata"]["setPoint"]["sourceTime"] == SOURCE_TIME


@pytest.mark.parametrize("operations", [[], [{"op": "add", "path": "/mode", "value": "x"}]])
@pytest.mark.parametrize("name", ["Component2", "temperature"])
def test_an_unknown_component_is_an_invalid_patch(
    world: Any, room: Any, name: str, operations: Any
) -> None:
    with pytest.raises(JsonPatchInvalid, match=f"'{name}' was not found"):
        patch(world, name, *operations)
    assert world.read("r") == room


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/mode", "value": "x"},
        {"op": "remove", "path": "/mode"},
        {"op": "replace", "path": "", "value": {}},
        {"op": "remove", "path": "/$metadata"},
        {"op": "replace", "path": "/$metadata/$model", "value": BUILDING},
        {"op": "replace", "path": "/$metadata/mode/sourceTime", "value": SOURCE_TIME},
    ],
)
def test_a_path_that_is_not_there_or_protected_is_an_invalid_patch(
    world: Any, room: Any, operation: Any
) -> None:
    with pytest.raises(JsonPatchInvalid):
        patch(world, "thermostat", operation)
    assert world.read("r") == room


@pytest.mark.usefixtures("room")
def test_a_wrong_type_names_the_component(world: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        patch(world, "thermostat", {"op": "add", "path": "/mode", "value": 1})
    assert caught.value.details[0].message.startswith(
        "Expected value of type string for mode on thermostat."
    )


def test_the_precondition_is_the_twins_etag(world: Any, room: Any) -> None:
    other = 'W/"00000000-0000-4000-8000-000000000000"'
    with pytest.raises(PreconditionFailed):
        patch(world, "thermostat", if_match=other)
    with pytest.raises(InvalidArgument):
        patch(world, "thermostat", if_match="XXX")
    twin = patch(world, "thermostat", if_match=room["$etag"])
    assert patch(world, "thermostat", if_match="*")["$etag"] != twin["$etag"]
