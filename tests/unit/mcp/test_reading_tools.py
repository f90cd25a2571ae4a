"""The tools that read: what each tells of the small building."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.mcp.conftest import Assistant, run
from twinframe.testing.factories import (
    FLOOR,
    ROOM,
    SENSOR,
    SPACE,
    THERMOSTAT,
    build_interface,
)


def test_a_graph_is_described_in_few_words(assistant: Assistant) -> None:
    told = assistant.call("describe_graph")
    assert told.document["twins"] == 7
    assert told.document["interfaces"] == 6
    assert not told.document["truncated"]
    assert told.text == told.document["digest"]
    room = (
        "Room 3 extends Space: temperature double, readings [double], "
        "thermostat.{setPoint double, mode string}"
    )
    for line in (
        room,
        "7 twins of 4 interfaces (6 stored), 7 relationships.",
        "Floor -hasPart-> Room 3",
        "Building -hasPart-> Floor 2",
        "Room -watchedBy-> Sensor 2",
        "Model ids: dtmi:com:example:NAME;1 where no other is given.",
        "Thermostat 0 (component)",
    ):
        assert line in told.text


def test_a_description_can_be_narrowed_to_interfaces(assistant: Assistant) -> None:
    text = assistant.ask("describe_graph", model_filter=["Sensor"])["digest"]
    assert "Room -watchedBy-> Sensor 2" in text
    assert "hasPart" not in text
    assert "Floor" not in text.partition("Interfaces")[2]
    assert "did you mean 'dtmi:com:example:Sensor;1'" in assistant.fail(
        "describe_graph", model_filter=["Sensr"]
    )


def test_a_description_follows_each_write(assistant: Assistant) -> None:
    assert "Floor 2" in assistant.ask("describe_graph")["digest"]
    assistant.world.put("floor-3", FLOOR, level=3)
    assert "Floor 3" in assistant.ask("describe_graph")["digest"]


def test_a_description_names_derived_properties(assistant: Assistant) -> None:
    derivation: Any = {"model": FLOOR, "property": "area", "value": "this.level * 2.0"}
    world = assistant.world
    world.do(world.graph.derivations.put("areas", derivation))
    assert "derived (read-only): area" in assistant.ask("describe_graph")["digest"]
    refused = assistant.fail(
        "update_digital_twin",
        twin_id="floor-1",
        patch=[{"op": "add", "path": "/area", "value": 1.0}],
    )
    assert "derived by areas" in refused


def test_a_twin_is_read_without_the_times_of_its_metadata(assistant: Assistant) -> None:
    told = assistant.ask("get_digital_twin", twin_id="room-1")
    assert told["twin"]["$metadata"] == {"$model": ROOM}
    assert "$metadata" not in told["twin"]["thermostat"]
    assert told["twin"]["$etag"] == told["etag"]
    full = assistant.ask("get_digital_twin", twin_id="room-1", full_values=True)
    assert full["twin"] == assistant.world.read("room-1")


def test_long_values_are_shortened_unless_they_are_asked_for(assistant: Assistant) -> None:
    readings = [float(n) for n in range(65)]
    assistant.world.put("big", ROOM, name="x" * 1001, readings=readings)
    short = assistant.ask("get_digital_twin", twin_id="big")
    assert short["twin"]["readings"] == {"$vector": 65}
    assert short["twin"]["name"] == "x" * 1000 + "… (1001 characters)"
    assert sorted(short["shortened"]) == ["/name", "/readings"]
    full = assistant.ask("get_digital_twin", twin_id="big", full_values=True)
    assert full["twin"]["readings"] == readings
    assert full["twin"]["name"] == "x" * 1001
    assert "shortened" not in full
    assistant.world.put("just", ROOM, name="x" * 1000, readings=readings[:64])
    just = assistant.ask("get_digital_twin", twin_id="just")
    assert just["twin"]["readings"] == readings[:64]
    assert "shortened" not in just


def test_a_twin_larger_than_an_answer_is_cut_down_and_says_so(world: Any) -> None:
    world.put("huge", ROOM, tags={f"k{n}": "v" * 200 for n in range(300)})
    assistant = Assistant(world, MaxBytes=4096)
    told = assistant.call("get_digital_twin", twin_id="huge", full_values=True)
    assert not told.failed
    assert len(told.text) < 4096
    assert told.document["shortened"]


def test_a_twin_that_is_not_there_is_told_with_the_nearest_ids(assistant: Assistant) -> None:
    text = assistant.fail("get_digital_twin", twin_id="room-11")
    assert text.startswith("DigitalTwinNotFound: ")
    assert "Did you mean 'room-1'" in text


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("house", ["house"]),
        ("ROOM 2", ["room-2"]),
        ("room", ["room-1", "room-2", "room-3"]),
        ("s-1", ["sensor-1"]),
        ("nothing", []),
    ],
)
def test_twins_are_found_by_words(assistant: Assistant, text: str, ids: list[str]) -> None:
    found = assistant.ask("search_digital_twins", search_text=text)["twins"]
    assert sorted(twin["twin_id"] for twin in found) == ids


def test_a_search_can_be_narrowed_to_an_interface(assistant: Assistant) -> None:
    for model in ("Space", SPACE):
        found = assistant.ask("search_digital_twins", search_text="1", model_id=model)["twins"]
        assert sorted(one["twin_id"] for one in found) == ["floor-1", "room-1"]
    assert "did you mean" in assistant.fail(
        "search_digital_twins", search_text="1", model_id="Spce"
    )
    assert "at most 5" in assistant.fail("search_digital_twins", search_text="a b c d e f")


def test_a_search_for_a_quote_is_a_search_for_a_quote(assistant: Assistant) -> None:
    assert assistant.ask("search_digital_twins", search_text="' OR 1=1 //")["twins"] == []


def test_relationships_of_both_directions_are_listed(assistant: Assistant) -> None:
    told = assistant.ask("list_relationships", twin_id="room-1")
    assert [
        (one["$sourceId"], one["$relationshipName"], one["$targetId"])
        for one in told["relationships"]
    ] == [("room-1", "watchedBy", "sensor-1"), ("floor-1", "hasPart", "room-1")]
    assert told["relationships"][0]["since"] == "2024-01-31"
    assert not told["truncated"]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"direction": "outgoing"}, 1),
        ({"direction": "incoming"}, 1),
        ({"relationship_name": "hasPart"}, 1),
        ({"relationship_name": "hasPart", "direction": "outgoing"}, 0),
        ({"relationship_name": "none"}, 0),
    ],
)
def test_relationships_are_listed_by_direction_and_name(
    assistant: Assistant, arguments: dict[str, Any], count: int
) -> None:
    told = assistant.ask("list_relationships", twin_id="room-1", **arguments)
    assert len(told["relationships"]) == count


def test_a_listing_goes_on_behind_its_token(assistant: Assistant) -> None:
    seen: list[str] = []
    token = None
    while True:
        told = assistant.ask(
            "list_relationships", twin_id="floor-1", limit=1, continuation_token=token
        )
        seen += [one["$relationshipId"] for one in told["relationships"]]
        token = told["continuation_token"]
        assert told["truncated"] == (token is not None)
        if token is None:
            break
    assert sorted(seen) == ["has-floor-1", "has-room-1", "has-room-2", "has-room-3"]


@pytest.mark.parametrize("token", ["x", "i.x", "o.", "."])
def test_a_token_of_another_listing_is_refused(assistant: Assistant, token: str) -> None:
    text = assistant.fail(
        "list_relationships", twin_id="floor-1", direction="incoming", continuation_token=token
    )
    assert text.startswith("BadRequest: ")
    assert "start again without continuation_token" in text


def test_a_relationship_is_read_or_its_neighbours_are_named(assistant: Assistant) -> None:
    told = assistant.ask("get_relationship", source_id="room-1", relationship_id="watch")
    assert told["relationship"]["$targetId"] == "sensor-1"
    assert told["etag"] == told["relationship"]["$etag"]
    text = assistant.fail("get_relationship", source_id="room-1", relationship_id="wach")
    assert "Did you mean 'watch'?" in text


def test_a_neighbourhood_has_twins_by_hop_and_what_leads_to_them(assistant: Assistant) -> None:
    told = assistant.ask("explore_neighborhood", twin_id="sensor-1", hops=3)
    assert [(one["hops"], one["twin_id"]) for one in told["twins"]] == [
        (1, "room-1"),
        (1, "room-2"),
        (2, "floor-1"),
        (3, "house"),
        (3, "room-3"),
    ]
    assert {"source": "floor-1", "name": "hasPart", "target": "room-3"} in told["relationships"]
    assert not told["truncated"]


def test_a_neighbourhood_is_filtered_by_direction_name_and_interface(assistant: Assistant) -> None:
    out = assistant.ask("explore_neighborhood", twin_id="floor-1", hops=2, direction="outgoing")
    assert {one["twin_id"] for one in out["twins"]} == {"room-1", "room-2", "room-3", "sensor-1"}
    named = assistant.ask(
        "explore_neighborhood", twin_id="floor-1", hops=3, relationship_names=["watchedBy"]
    )
    assert named["twins"] == []
    sensors = assistant.ask(
        "explore_neighborhood", twin_id="house", hops=3, model_filter=["Sensor"]
    )
    assert [one["twin_id"] for one in sensors["twins"]] == ["sensor-1"]
    # The way there is shown, though what stands on it is not listed.
    assert [one["name"] for one in sensors["relationships"]] == ["hasPart", "hasPart", "watchedBy"]


def test_a_neighbourhood_goes_on_behind_its_token(assistant: Assistant) -> None:
    seen: list[str] = []
    token = None
    while token is not None or not seen:
        told = assistant.ask(
            "explore_neighborhood", twin_id="house", hops=3, limit=2, continuation_token=token
        )
        seen += [one["twin_id"] for one in told["twins"]]
        token = told["continuation_token"]
    assert seen == ["floor-1", "floor-2", "room-1", "room-2", "room-3", "sensor-1"]
    other = assistant.fail(
        "explore_neighborhood",
        twin_id="house",
        hops=2,
        continuation_token=assistant.ask("explore_neighborhood", twin_id="house", hops=3, limit=2)[
            "continuation_token"
        ],
    )
    assert other.startswith("BadRequest")


def test_a_neighbourhood_too_large_for_an_answer_is_given_in_parts(world: Any) -> None:
    for n in range(60):
        world.put(f"part-{n:02}", ROOM, name="n" * 90)
        world.relate("house", f"p{n}", f"part-{n:02}", "hasPart")
    assistant = Assistant(world, MaxBytes=4096)
    seen: list[str] = []
    token = None
    while token is not None or not seen:
        told = assistant.call(
            "explore_neighborhood", twin_id="house", continuation_token=token, limit=100
        )
        assert len(told.text) <= 4096
        seen += [one["twin_id"] for one in told.document["twins"]]
        token = told.document["continuation_token"]
    assert len(seen) == len(set(seen)) == 62


def test_a_model_is_read_with_what_it_inherits(assistant: Assistant) -> None:
    told = assistant.ask("get_model", model_id=ROOM)
    assert told["extends"] == [SPACE]
    assert told["contents"]["properties"]["name"] == "string (from Space)"
    assert told["contents"]["properties"]["readings"] == "[double]"
    assert told["contents"]["components"]["thermostat"]["setPoint"] == "double"
    assert told["contents"]["relationships"]["watchedBy"] == f"to {SENSOR} {{since date}}"
    assert "definition" not in told
    full = assistant.ask("get_model", model_id=ROOM, include_definition=True)
    assert full["definition"]["@id"] == ROOM
    assert "did you mean 'dtmi:com:example:Room;1'" in assistant.fail(
        "get_model", model_id="dtmi:com:example:Rom;1"
    )


def test_models_are_listed_and_found_by_words(assistant: Assistant) -> None:
    listed = assistant.ask("list_models", limit=4)
    assert listed["truncated"]
    rest = assistant.ask("list_models", continuation_token=listed["continuation_token"])
    ids = [one["model_id"] for one in listed["models"] + rest["models"]]
    assert len(ids) == len(set(ids)) == 6
    needed = assistant.ask("list_models", dependencies_for=[ROOM])["models"]
    assert {one["model_id"] for one in needed} == {SPACE, ROOM, THERMOSTAT}
    found = assistant.ask("search_models", search_text="room thermostat")
    assert [one["model_id"] for one in found["models"]][:2] == [ROOM, THERMOSTAT]
    one = assistant.ask("search_models", search_text="e", limit=1)
    assert len(one["models"]) == 1
    assert one["found"] > 1


def test_the_model_of_just_that_name_is_found_first(world: Any) -> None:
    names = ("AdmittingRoom", "CableRoom", "ZooRoom")
    more = [
        {**build_interface(f"dtmi:com:example:{name};1"), "displayName": f"A room {name}"}
        for name in names
    ]
    run(world.graph.models.create_models(more))
    found = Assistant(world).ask("search_models", search_text="room", limit=1)
    assert found["models"][0]["model_id"] == ROOM


@pytest.mark.parametrize("tool", ["get_model", "delete_model"])
def test_a_name_in_place_of_a_models_id_is_told_the_id(assistant: Assistant, tool: str) -> None:
    more = {"confirm": True} if tool == "delete_model" else {}
    assert f"did you mean '{ROOM}'?" in assistant.fail(tool, model_id="Room", **more)
    assert "search_models finds" in assistant.fail(tool, model_id="Zeppelin", **more)


def test_a_relationship_that_no_model_has_is_told_and_not_only_not_found(
    assistant: Assistant,
) -> None:
    listed = assistant.ask("list_relationships", twin_id="room-1", relationship_name="watchedby")
    assert listed["relationships"] == []
    assert "did you mean 'watchedBy'?" in listed["warnings"][0]
    near = assistant.ask(
        "explore_neighborhood", twin_id="room-1", relationship_names=["watched", "hasPart", "x"],
        direction="outgoing",
    )  # fmt: skip
    assert [warning.partition("'")[2].partition("'")[0] for warning in near["warnings"]] == [
        "watched",
        "x",
    ]
    found = assistant.ask("list_relationships", twin_id="room-3", relationship_name="watchedBy")
    assert "warnings" not in found


def test_many_relationships_of_one_name_between_two_twins_are_told_by_their_number(
    world: Any,
) -> None:
    for number in range(300):
        world.relate("room-3", f"watch-{number}", "sensor-1", "watchedBy")
    assistant = Assistant(world, MaxBytes=2048)
    near = assistant.call(
        "explore_neighborhood", twin_id="room-3", relationship_names=["watchedBy"], limit=1
    )
    assert len(near.text.encode()) <= 2048
    assert near.document["relationships"] == [
        {"source": "room-3", "name": "watchedBy", "target": "sensor-1", "times": 300}
    ]
