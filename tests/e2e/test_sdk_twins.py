"""Twins, components and telemetry through the vendor's SDK, and their documented errors."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)

from tests.e2e.conftest import Client
from tests.e2e.world import World

Unique = Callable[[str], str]
ETAG = re.compile(r'W/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"')
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z")
OTHER = 'W/"7e67a355-f19c-4c19-8a10-2d69b2d2253f"'


@pytest.fixture(scope="module")
def world(client: Client) -> World:
    made = World.named(lambda stem: stem + uuid.uuid4().hex[:12])
    client.create_models(made.models())
    return made


def test_a_twin_is_created_read_and_replaced(client: Client, world: World, unique: Unique) -> None:
    twin = unique("twin")
    created = client.upsert_digital_twin(
        twin, world.building_twin(**{"$dtId": "ignored", "$etag": "stale"})
    )
    assert created["$dtId"] == twin
    assert ETAG.fullmatch(created["$etag"])
    assert created["AverageTemperature"] == 68
    metadata = created["$metadata"]
    assert metadata["$model"] == world.building
    assert TIME.fullmatch(metadata["$lastUpdateTime"])
    assert metadata["AverageTemperature"] == {"lastUpdateTime": metadata["$lastUpdateTime"]}
    assert client.get_digital_twin(twin) == created
    replaced = client.upsert_digital_twin(
        twin, {"$metadata": {"$model": world.building}, "TemperatureUnit": "Kelvin"}
    )
    assert "AverageTemperature" not in replaced
    assert "AverageTemperature" not in replaced["$metadata"]
    assert replaced["$etag"] != created["$etag"]


def test_a_twin_of_an_unknown_model_fails_validation(client: Client, unique: Unique) -> None:
    with pytest.raises(HttpResponseError) as caught:
        client.upsert_digital_twin(
            unique("twin"), {"$metadata": {"$model": "dtmi:com:example:Unknown;1"}}
        )
    assert (caught.value.status_code, caught.value.error.code) == (400, "ValidationFailed")


@pytest.mark.parametrize(
    "contents",
    [
        {"Unknown": 1},
        {"AverageTemperature": "warm"},
        {"AverageTemperature": None},
        {"TemperatureUnit": 1},
    ],
)
def test_a_twin_that_breaks_its_model_is_refused_and_not_stored(
    client: Client, world: World, unique: Unique, contents: dict[str, object]
) -> None:
    twin = unique("twin")
    with pytest.raises(HttpResponseError) as caught:
        client.upsert_digital_twin(twin, world.building_twin(**contents))
    assert (caught.value.status_code, caught.value.error.code) == (400, "ValidationFailed")
    with pytest.raises(ResourceNotFoundError):
        client.get_digital_twin(twin)


def test_an_array_is_no_twin(client: Client, unique: Unique) -> None:
    with pytest.raises(HttpResponseError) as caught:
        client.upsert_digital_twin(unique("twin"), [{}])
    assert caught.value.error.code == "InvalidArgument"


def test_a_room_needs_its_component(client: Client, world: World, unique: Unique) -> None:
    with pytest.raises(HttpResponseError) as caught:
        client.upsert_digital_twin(unique("twin"), {"$metadata": {"$model": world.room}})
    assert caught.value.error.code == "ValidationFailed"


def test_creation_only_if_missing(client: Client, world: World, unique: Unique) -> None:
    twin = unique("twin")
    client.upsert_digital_twin(
        twin, world.building_twin(), match_condition=MatchConditions.IfMissing
    )
    with pytest.raises(ResourceExistsError) as caught:
        client.upsert_digital_twin(
            twin, world.building_twin(), match_condition=MatchConditions.IfMissing
        )
    assert (caught.value.status_code, caught.value.error.code) == (412, "PreconditionFailed")


def test_patches_change_values_times_and_etag(client: Client, world: World, unique: Unique) -> None:
    twin = unique("twin")
    before = client.upsert_digital_twin(twin, world.building_twin())
    client.update_digital_twin(
        twin,
        [
            {"op": "replace", "path": "/AverageTemperature", "value": 42},
            {"op": "remove", "path": "/TemperatureUnit"},
        ],
    )
    after = client.get_digital_twin(twin)
    assert after["AverageTemperature"] == 42
    assert "TemperatureUnit" not in after
    assert "TemperatureUnit" not in after["$metadata"]
    assert after["$etag"] != before["$etag"]
    assert after["$metadata"]["$lastUpdateTime"] >= before["$metadata"]["$lastUpdateTime"]
    client.update_digital_twin(
        twin, [{"op": "add", "path": "/TemperatureUnit", "value": "Fahrenheit"}]
    )
    assert client.get_digital_twin(twin)["TemperatureUnit"] == "Fahrenheit"


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ([{"op": "move", "path": "/AverageTemperature"}], "JsonPatchInvalid"),
        ([{}], "JsonPatchInvalid"),
        ([{"op": "remove", "path": "/Missing"}], "JsonPatchInvalid"),
        ([{"op": "replace", "path": "/$dtId", "value": "x"}], "JsonPatchInvalid"),
        ([{"op": "add", "path": "/Unknown", "value": 1}], "ValidationFailed"),
        ([{"op": "replace", "path": "/AverageTemperature", "value": "x"}], "ValidationFailed"),
    ],
)
def test_a_bad_patch_changes_nothing(
    client: Client, world: World, unique: Unique, patch: list[dict[str, object]], code: str
) -> None:
    twin = unique("twin")
    before = client.upsert_digital_twin(twin, world.building_twin())
    with pytest.raises(HttpResponseError) as caught:
        client.update_digital_twin(twin, patch)
    assert (caught.value.status_code, caught.value.error.code) == (400, code)
    assert client.get_digital_twin(twin) == before


def test_conditional_updates_and_deletes(client: Client, world: World, unique: Unique) -> None:
    twin = unique("twin")
    etag = client.upsert_digital_twin(twin, world.building_twin())["$etag"]
    patch = [{"op": "replace", "path": "/AverageTemperature", "value": 1}]
    with pytest.raises(ResourceModifiedError):
        client.update_digital_twin(
            twin, patch, etag=OTHER, match_condition=MatchConditions.IfNotModified
        )
    client.update_digital_twin(
        twin, patch, etag=etag, match_condition=MatchConditions.IfNotModified
    )
    client.update_digital_twin(twin, patch, match_condition=MatchConditions.IfPresent)
    with pytest.raises(ResourceModifiedError):
        client.delete_digital_twin(twin, etag=etag, match_condition=MatchConditions.IfNotModified)
    client.delete_digital_twin(twin, match_condition=MatchConditions.IfPresent)
    with pytest.raises(ResourceNotFoundError):
        client.get_digital_twin(twin)
    with pytest.raises(ResourceNotFoundError):
        client.delete_digital_twin(twin)
    with pytest.raises(ResourceNotFoundError):
        client.update_digital_twin(twin, patch)


@pytest.mark.parametrize("twin", ["a/b", "a%2Fb", "ä ö", "x;y:z", "it's", "50%", "a+b", "日本"])
def test_ids_of_any_spelling_come_back_as_they_were(
    client: Client, world: World, unique: Unique, twin: str
) -> None:
    name = unique(twin)
    assert client.upsert_digital_twin(name, world.building_twin())["$dtId"] == name
    assert client.get_digital_twin(name)["$dtId"] == name
    client.delete_digital_twin(name)


def test_the_version_of_a_response_is_in_its_header(
    client: Client, world: World, unique: Unique
) -> None:
    twin = unique("twin")
    seen: list[str | None] = []

    def keep(response: Any) -> None:
        seen.append(response.http_response.headers.get("ETag"))

    created = client.upsert_digital_twin(twin, world.building_twin(), raw_response_hook=keep)
    client.get_digital_twin(twin, raw_response_hook=keep)
    assert seen == [created["$etag"], created["$etag"]]


def test_components_are_read_and_patched_with_the_twins_etag(
    client: Client, world: World, unique: Unique
) -> None:
    twin = unique("twin")
    before = client.upsert_digital_twin(twin, world.room_twin())
    component = client.get_component(twin, "Climate")
    assert component["Mode"] == "auto"
    assert "$model" not in component["$metadata"]
    assert TIME.fullmatch(component["$metadata"]["Mode"]["lastUpdateTime"])
    client.update_component(
        twin,
        "Climate",
        [{"op": "replace", "path": "/Mode", "value": "heating"}],
        etag=before["$etag"],
        match_condition=MatchConditions.IfNotModified,
    )
    after = client.get_digital_twin(twin)
    assert after["Climate"]["Mode"] == "heating"
    assert after["$etag"] != before["$etag"]
    client.update_component(twin, "Climate", [{"op": "remove", "path": "/Mode"}])
    client.update_component(twin, "Climate", [{"op": "add", "path": "/Mode", "value": "off"}])
    assert client.get_component(twin, "Climate")["Mode"] == "off"
    with pytest.raises(ResourceModifiedError):
        client.update_component(
            twin,
            "Climate",
            [{"op": "remove", "path": "/Mode"}],
            etag=before["$etag"],
            match_condition=MatchConditions.IfNotModified,
        )


def test_components_that_are_not_there(client: Client, world: World, unique: Unique) -> None:
    twin = unique("twin")
    client.upsert_digital_twin(twin, world.room_twin())
    with pytest.raises(ResourceNotFoundError) as caught:
        client.get_component(twin, "Nothing")
    assert caught.value.error.code == "ComponentNotFound"
    patch = [{"op": "replace", "path": "/Mode", "value": "off"}]
    with pytest.raises(HttpResponseError) as refused:
        client.update_component(twin, "Nothing", patch)
    assert (refused.value.status_code, refused.value.error.code) == (400, "JsonPatchInvalid")
    with pytest.raises(HttpResponseError) as wrong:
        client.update_component(twin, "Climate", [{"op": "replace", "path": "/Mode", "value": 5}])
    assert wrong.value.error.code == "ValidationFailed"
    with pytest.raises(ResourceNotFoundError) as missing:
        client.update_component(unique("none"), "Climate", patch)
    assert missing.value.error.code == "DigitalTwinNotFound"


def test_telemetry_is_accepted_for_twins_and_components_that_exist(
    client: Client, world: World, unique: Unique
) -> None:
    twin = unique("twin")
    client.upsert_digital_twin(twin, world.room_twin())
    client.publish_telemetry(twin, {"Humidity": 41.5})
    client.publish_telemetry(twin, {"anything": "goes"}, message_id="m-1")
    client.publish_component_telemetry(twin, "Climate", {"Reading": 21.5})
    with pytest.raises(ResourceNotFoundError) as missing:
        client.publish_telemetry(unique("none"), {"Humidity": 1})
    assert missing.value.error.code == "DigitalTwinNotFound"
    with pytest.raises(ResourceNotFoundError) as absent:
        client.publish_component_telemetry(twin, "Nothing", {"Reading": 1})
    assert absent.value.error.code == "ComponentNotFound"
