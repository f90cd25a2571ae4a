"""The tools that write: what they change, what a rehearsal leaves, what deletions ask for."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.unit.mcp.conftest import Assistant, run
from twinframe.testing.factories import FLOOR, ROOM, SENSOR, build_interface

LAMP = "dtmi:com:example:Lamp;1"

WRITES: dict[str, dict[str, Any]] = {
    "create_or_replace_digital_twin": {
        "twin_id": "room-9",
        "model_id": ROOM,
        "properties": {"name": "Room 9"},
    },
    "update_digital_twin": {
        "twin_id": "room-1",
        "patch": [{"op": "replace", "path": "/name", "value": "Other"}],
    },
    "delete_digital_twin": {"twin_id": "room-1", "confirm": True, "delete_relationships": True},
    "create_or_replace_relationship": {
        "source_id": "room-3",
        "relationship_id": "watch",
        "relationship_name": "watchedBy",
        "target_id": "sensor-1",
    },
    "update_relationship": {
        "source_id": "room-1",
        "relationship_id": "watch",
        "patch": [{"op": "replace", "path": "/since", "value": "2025-01-31"}],
    },
    "delete_relationship": {
        "source_id": "room-1",
        "relationship_id": "watch",
        "confirm": True,
    },
    "create_models": {"models": [build_interface(LAMP)]},
    "delete_model": {"model_id": FLOOR, "confirm": True},
}


def read_all(world: Any) -> list[Any]:
    """Everything that is stored, in one value."""
    found: list[Any] = []
    for text in ("MATCH (t:Twin) RETURN t", "MATCH (:Twin)-[r]->() RETURN r"):
        page = run(world.graph.queries.run(text))
        assert page.continuation_token is None
        found.append(sorted(page.rows))
    models = run(world.graph.models.list_models(include_definition=True))
    return [*found, sorted(models.items)]


@pytest.mark.parametrize("tool", WRITES)
def test_a_rehearsal_changes_nothing_and_the_call_itself_does(
    assistant: Assistant, tool: str
) -> None:
    before = read_all(assistant.world)
    rehearsed = assistant.ask(tool, **WRITES[tool], dry_run=True)
    assert rehearsed["dry_run"] is True
    assert "etag" not in rehearsed
    assert read_all(assistant.world) == before
    done = assistant.ask(tool, **WRITES[tool])
    assert done["dry_run"] is False
    assert done["action"] == rehearsed["action"]
    assert read_all(assistant.world) != before


@pytest.mark.parametrize("tool", WRITES)
def test_a_rehearsal_is_followed_by_reads_and_writes_as_if_it_had_not_been(
    assistant: Assistant, tool: str
) -> None:
    assistant.ask(tool, **WRITES[tool], dry_run=True)
    assistant.ask(tool, **WRITES[tool], dry_run=True)
    assert assistant.world.put("after", ROOM, name="x")["name"] == "x"
    assert assistant.ask("describe_graph")["interfaces"] == 6


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("tool", "changed", "told"),
    [
        ("create_or_replace_digital_twin", {"properties": {"nam": 1}}, "Did you mean 'name'?"),
        ("create_or_replace_digital_twin", {"model_id": "dtmi:x:Y;1"}, "search_models"),
        ("create_or_replace_digital_twin", {"only_create": True, "twin_id": "room-1"}, "room-1"),
        ("update_digital_twin", {"twin_id": "rom-1"}, "DigitalTwinNotFound"),
        ("update_digital_twin", {"if_match": 'W/"x"'}, "Read it again"),
        ("update_digital_twin", {"patch": [{"op": "remove", "path": "/area"}]}, "/area"),
        ("update_digital_twin", {"patch": ["x"]}, "A patch is"),
        ("delete_digital_twin", {"if_match": 'W/"x"'}, "PreconditionFailed"),
        ("delete_digital_twin", {"twin_id": "rom-1"}, "Did you mean"),
        ("create_or_replace_relationship", {"target_id": "sensr-1"}, "Did you mean 'sensor-1'?"),
        ("create_or_replace_relationship", {"relationship_name": "wached"}, "watchedBy to"),
        ("create_or_replace_relationship", {"properties": {"x": 1}}, "x"),
        ("update_relationship", {"relationship_id": "x"}, "watch"),
        ("delete_relationship", {"source_id": "nobody"}, "DigitalTwinNotFound"),
        ("create_models", {"models": [build_interface(ROOM)]}, "ModelIdAlreadyExists"),
        ("create_models", {"models": [{"@id": "x"}]}, "'@context' is missing"),
        ("delete_model", {"model_id": "dtmi:com:example:Space;1"}, "referenced by"),
    ],
)
def test_what_a_write_would_be_refused_for_its_rehearsal_is_too(
    assistant: Assistant, tool: str, changed: dict[str, Any], told: str, dry_run: bool
) -> None:
    before = read_all(assistant.world)
    text = assistant.fail(tool, **{**WRITES[tool], **changed, "dry_run": dry_run})
    assert told in text
    assert read_all(assistant.world) == before


def test_a_created_twin_has_its_components_and_its_etag(assistant: Assistant) -> None:
    told = assistant.ask(
        "create_or_replace_digital_twin",
        twin_id="r",
        model_id=ROOM,
        properties={"thermostat": {"setPoint": 21.5}},
    )
    stored = assistant.world.read("r")
    assert stored["thermostat"]["setPoint"] == 21.5
    assert told == {
        "action": "created",
        "dry_run": False,
        "changes": [],
        "etag": stored["$etag"],
    }
    assistant.ask("create_or_replace_digital_twin", twin_id="s", model_id=ROOM)
    assert "thermostat" in assistant.world.read("s")


def test_a_rehearsed_creation_shows_what_would_be_stored(assistant: Assistant) -> None:
    told = assistant.ask(
        "create_or_replace_digital_twin", twin_id="r", model_id=SENSOR, dry_run=True
    )
    assert told["changes"] == [{"path": "", "to": {"$dtId": "r", "$metadata": {"$model": SENSOR}}}]


def test_changes_are_told_by_path(assistant: Assistant) -> None:
    told = assistant.ask(
        "create_or_replace_digital_twin",
        twin_id="room-1",
        model_id=ROOM,
        properties={"name": "New", "area": 4.5, "thermostat": {"mode": "auto"}},
        dry_run=True,
    )
    assert told["action"] == "replaced"
    assert sorted(told["changes"], key=lambda one: str(one["path"])) == [
        {"path": "/area", "to": 4.5},
        {"path": "/name", "from": "Room 1", "to": "New"},
        {"path": "/temperature", "from": 20.0},
        {"path": "/thermostat/mode", "to": "auto"},
    ]
    patched = assistant.ask(
        "update_digital_twin",
        twin_id="room-1",
        patch=[{"op": "add", "path": "/thermostat/setPoint", "value": 20.5}],
        if_match=assistant.world.read("room-1")["$etag"],
    )
    assert patched["changes"] == [{"path": "/thermostat/setPoint", "to": 20.5}]
    assert patched["etag"] == assistant.world.read("room-1")["$etag"]


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ("delete_digital_twin", {"twin_id": "floor-2"}),
        ("delete_relationship", {"source_id": "room-1", "relationship_id": "watch"}),
        ("delete_model", {"model_id": FLOOR}),
    ],
)
def test_a_deletion_needs_an_etag_or_a_word(
    assistant: Assistant, tool: str, key: dict[str, Any]
) -> None:
    before = read_all(assistant.world)
    assert assistant.fail(tool, **key).startswith("ConfirmationRequired: ")
    assert assistant.fail(tool, **key, confirm=False).startswith("ConfirmationRequired: ")
    if tool != "delete_model":
        assert assistant.fail(tool, **key, if_match="*").startswith("ConfirmationRequired: ")
    assert read_all(assistant.world) == before


def test_the_etag_that_was_read_is_enough_to_delete(assistant: Assistant) -> None:
    assistant.world.put("lone", SENSOR)
    etag = assistant.ask("get_digital_twin", twin_id="lone")["etag"]
    told = assistant.ask("delete_digital_twin", twin_id="lone", if_match=etag)
    assert told["changes"][0]["from"]["$dtId"] == "lone"
    assert assistant.fail("get_digital_twin", twin_id="lone")


def test_a_related_twin_is_deleted_only_with_its_relationships(assistant: Assistant) -> None:
    text = assistant.fail("delete_digital_twin", twin_id="room-1", confirm=True)
    assert "room-1 -watchedBy-> sensor-1 (watch)" in text
    assert "floor-1 -hasPart-> room-1" in text
    assert "delete_relationships: true" in text
    told = assistant.ask(
        "delete_digital_twin", twin_id="room-1", confirm=True, delete_relationships=True
    )
    assert told["relationships_deleted"] == 2
    assert told["relationships"] == "room-1/watch, floor-1/has-room-1"
    left = assistant.ask("list_relationships", twin_id="floor-1", direction="outgoing")
    assert len(left["relationships"]) == 2


def test_a_deleted_model_leaves_its_twins_and_says_how_many(assistant: Assistant) -> None:
    told = assistant.ask("delete_model", model_id=FLOOR, confirm=True)
    assert told["twins_without_model"] == 2
    assert assistant.ask("get_digital_twin", twin_id="floor-1")


def test_a_model_that_breaks_the_language_is_told_by_rule_and_place(assistant: Assistant) -> None:
    text = assistant.fail(
        "create_models",
        models=[build_interface(LAMP, [{"@type": "Proprty", "name": "w", "schema": "double"}])],
        dry_run=True,
    )
    assert text.startswith("DTDLParserError: ")
    assert "Did you mean 'Property'?" in text


def test_many_changes_are_cut_and_counted(assistant: Assistant) -> None:
    assistant.world.put("tagged", ROOM, tags={f"k{n}": "a" for n in range(60)})
    told = assistant.ask(
        "create_or_replace_digital_twin",
        twin_id="tagged",
        model_id=ROOM,
        properties={"tags": {f"k{n}": "b" for n in range(60)}},
        dry_run=True,
    )
    assert told["changes"][-1] == {"path": "… 20 more changes"}
    assert len(orjson.dumps(told)) < 4096


def test_what_a_write_tells_is_no_larger_than_an_answer_may_be(world: Any) -> None:
    assistant = Assistant(world, MaxBytes=4096)
    tags = {f"tag-{number}": "x" * 50 for number in range(2000)}
    patch = [{"op": "add", "path": "/tags", "value": tags}]
    for more in ({"dry_run": True}, {}, {"dry_run": True}):
        told = assistant.call("update_digital_twin", twin_id="room-3", patch=patch, **more)
        assert not told.failed, told.text
        assert len(told.text.encode()) <= 4096
    assert told.document["changes"] == []
    gone = assistant.call(
        "delete_digital_twin", twin_id="room-3", confirm=True, delete_relationships=True
    )
    assert len(gone.text.encode()) <= 4096
    assert "bytes" in gone.text


def test_of_many_uploaded_models_the_ids_are_not_all_repeated(assistant: Assistant) -> None:
    models = [build_interface(f"dtmi:com:example:Part{number};1") for number in range(70)]
    told = assistant.ask("create_models", models=models)
    assert told["count"] == 70
    assert told["model_ids"] == [model["@id"] for model in models[:50]]
    assert told["shortened"] == ["/model_ids"]


def test_numbers_of_more_than_64_bits_are_doubles(assistant: Assistant) -> None:
    number = 10**19
    assistant.ask(
        "create_or_replace_digital_twin",
        twin_id="hot",
        model_id=ROOM,
        properties={"temperature": number},
    )
    read = assistant.ask("get_digital_twin", twin_id="hot")
    assert read["twin"]["temperature"] == 1e19
    patch = [{"op": "replace", "path": "/temperature", "value": -number}]
    assistant.ask("update_digital_twin", twin_id="hot", patch=patch)
    text = "MATCH (r:Room) WHERE r.temperature = $t RETURN r.temperature AS t"
    found = assistant.ask("query_digital_twins", query=text, parameters={"t": -number})
    assert found["rows"] == [{"t": -1e19}]
