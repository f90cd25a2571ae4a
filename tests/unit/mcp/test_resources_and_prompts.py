"""Resources, their completion, and prompts."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import orjson
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from tests.unit.mcp.conftest import Assistant
from twinframe.testing.factories import ROOM, SENSOR, build_interface


def read(assistant: Assistant, uri: str) -> Any:
    return assistant.do(lambda client: client.read_resource(uri)).contents[0]


def complete(assistant: Assistant, ref: Any, typed: str, name: str = "id") -> list[str]:
    argument = {"name": name, "value": typed}
    found = assistant.do(lambda client: client.complete(ref, argument))
    return list(found.completion.values)


def test_resources_and_templates_are_listed(assistant: Assistant) -> None:
    listed = assistant.do(lambda client: client.list_resources())
    assert [one.uri for one in listed.resources] == ["graph://schema"]
    templates = assistant.do(lambda client: client.list_resource_templates())
    assert [one.uri_template for one in templates.resource_templates] == [
        "twin://{+id}",
        "model://{+id}",
    ]
    assert listed.cache_scope == templates.cache_scope == "private"


def test_a_twin_a_model_and_the_schema_are_read(assistant: Assistant) -> None:
    twin = read(assistant, "twin://room-1")
    assert orjson.loads(twin.text) == assistant.world.read("room-1")
    assert twin.mime_type == "application/json"
    assert orjson.loads(read(assistant, f"model://{ROOM}").text)["@id"] == ROOM
    assert "Floor -hasPart-> Room 3" in read(assistant, "graph://schema").text


@pytest.mark.parametrize(
    "twin_id", ["Room 7", "a/b", "ä", "100%", "a?b#c", "UPPER", "[x]", "%41", "a+b", "../x"]
)
def test_every_id_has_a_uri(assistant: Assistant, twin_id: str) -> None:
    assistant.world.put(twin_id, SENSOR)
    uri = "twin://" + quote(twin_id, safe=":/?#[]@!$&'()*+,;=-._~")  # RFC 6570 for `{+id}`
    assert orjson.loads(read(assistant, uri).text)["$dtId"] == twin_id


@pytest.mark.parametrize(
    "uri", ["twin://nobody", "model://dtmi:x:Y;1", "file:///etc/passwd", "graph://other", "twin://"]
)
def test_what_is_not_there_is_invalid_params_with_its_uri(assistant: Assistant, uri: str) -> None:
    with pytest.raises(MCPError) as refused:
        read(assistant, uri)
    assert refused.value.code == -32602
    if uri != "twin://":  # that is no id
        assert refused.value.data == {"uri": uri}


def test_a_large_twin_is_cut_to_what_an_answer_may_have(world: Any) -> None:
    world.put("huge", ROOM, tags={f"k{n}": "v" * 200 for n in range(300)})
    assistant = Assistant(world, MaxBytes=4096)
    assert len(read(assistant, "twin://huge").text) <= 4096


def test_ids_are_completed(assistant: Assistant) -> None:
    twins = ResourceTemplateReference(uri="twin://{+id}")
    assert complete(assistant, twins, "room") == ["room-1", "room-2", "room-3"]
    assert complete(assistant, twins, "x") == []
    models = ResourceTemplateReference(uri="model://{+id}")
    assert complete(assistant, models, "roo") == [ROOM]
    assert len(complete(assistant, models, "dtmi:com")) == 6
    focus = PromptReference(name="explore_graph")
    assert complete(assistant, focus, "Se", "focus") == ["Sensor"]
    assert complete(assistant, focus, "Se", "other") == []


def test_a_completion_is_cut_at_a_hundred(world: Any) -> None:
    for n in range(103):
        world.put(f"s{n:03}", SENSOR)
    ref = ResourceTemplateReference(uri="twin://{+id}")
    found = (
        Assistant(world)
        .do(lambda client: client.complete(ref, {"name": "id", "value": "s0"}))
        .completion
    )
    assert len(found.values) == 100
    assert found.has_more is False
    more = (
        Assistant(world)
        .do(lambda client: client.complete(ref, {"name": "id", "value": "s"}))
        .completion
    )
    assert len(more.values) == 100
    assert more.has_more


def test_prompts_are_listed_with_their_arguments(assistant: Assistant) -> None:
    listed = assistant.do(lambda client: client.list_prompts()).prompts
    assert {one.name: [(a.name, a.required) for a in one.arguments] for one in listed} == {
        "explore_graph": [("focus", False)],
        "write_query": [("question", True)],
        "model_from_description": [("description", True)],
    }


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("explore_graph", {"focus": "comfort"}, ["comfort", "Floor -hasPart-> Room 3"]),
        ("explore_graph", {}, ["7 twins of 4 interfaces"]),
        ("write_query", {"question": "which?"}, ["which?", "WHERE NOT (s)-[:feeds]->()", "Room 3"]),
        ("model_from_description", {"description": "a farm"}, ["a farm", "dry_run: true"]),
    ],
)
def test_a_prompt_holds_what_it_needs(
    assistant: Assistant, name: str, arguments: dict[str, str], told: list[str]
) -> None:
    found = assistant.do(lambda client: client.get_prompt(name, arguments))
    (message,) = found.messages
    assert message.role == "user"
    for part in told:
        assert part in message.content.text


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("write_quer", {}, "did you mean 'write_query'"),
        ("write_query", {}, "needs the argument 'question'"),
        ("write_query", {"question": " "}, "needs the argument 'question'"),
        ("write_query", {"question": "x", "questions": "y"}, "did you mean 'question'"),
    ],
)
def test_a_wrong_prompt_is_refused(
    assistant: Assistant, name: str, arguments: dict[str, str], told: str
) -> None:
    with pytest.raises(MCPError, match=told):
        assistant.do(lambda client: client.get_prompt(name, arguments))


def test_the_server_names_itself_and_says_how_to_begin(world: Any) -> None:
    assistant = Assistant(world, ServerName="Our twins", Version="7.1", ReadOnly=True)

    async def look(client: Any) -> Any:
        return client.server_info, client.instructions

    info, instructions = assistant.do(look)
    assert (info.name, info.version) == ("Our twins", "7.1")
    assert "describe_graph" in instructions
    assert "only reads" in instructions


def test_a_model_uploaded_through_a_tool_is_a_resource_at_once(assistant: Assistant) -> None:
    lamp = "dtmi:com:example:Lamp;1"
    assistant.ask("create_models", models=[build_interface(lamp)])
    assert orjson.loads(read(assistant, f"model://{lamp}").text)["@id"] == lamp
