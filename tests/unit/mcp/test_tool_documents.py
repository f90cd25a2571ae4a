"""What `tools/list` shows: complete, strict, and cheap to read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp.client.client import Client

from tests.unit.mcp.conftest import Assistant
from tests.unit.mcp.test_refusals import CALLS
from twinframe.access.permission_grammar import parse_permission
from twinframe.mcp.arguments import build_schema
from twinframe.mcp.tool import Effect
from twinframe.mcp.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
NAMED_BY_THE_SPECIFICATION = [
    *("list_models", "get_model", "search_models", "create_models", "delete_model"),
    *("get_digital_twin", "search_digital_twins", "create_or_replace_digital_twin"),
    *("update_digital_twin", "delete_digital_twin", "list_relationships", "get_relationship"),
    *("create_or_replace_relationship", "update_relationship", "delete_relationship"),
    *("list_changes", "compare_states", "summarize_series"),
    *("query_digital_twins", "describe_graph", "explore_neighborhood", "explain_query"),
    "run_cypher",
]
WORDS_A_MODEL_MUST_NOT_NEED = ("CRUD", "upsert", "RFC")


def test_all_tools_are_there_and_none_else() -> None:
    assert sorted(BY_NAME) == sorted(NAMED_BY_THE_SPECIFICATION)


def test_the_list_costs_few_tokens(assistant: Assistant) -> None:
    as_installed = Assistant(assistant.world, write_cypher=False)
    listed = as_installed.do(lambda client: client.list_tools())
    size = len(listed.model_dump_json(by_alias=True, exclude_none=True))
    assert size / 4 < 6000
    assert listed.cache_scope == "private"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_tool_is_described_typed_and_hinted(name: str) -> None:
    document = BY_NAME[name].build_document().model_dump(by_alias=True, exclude_none=True)
    assert document["title"]
    assert 20 < len(document["description"]) < 500
    assert not any(word in document["description"] for word in WORDS_A_MODEL_MUST_NOT_NEED)
    Draft202012Validator.check_schema(document["inputSchema"])
    Draft202012Validator.check_schema(document["outputSchema"])
    assert document["inputSchema"]["additionalProperties"] is False
    for field in document["inputSchema"]["properties"].values():
        assert {"type", "enum"} & set(field), field
        assert "anyOf" not in field
        assert field["description"], field
    hints = document["annotations"]
    assert hints["openWorldHint"] is False
    effect = BY_NAME[name].effect
    assert hints["readOnlyHint"] is (effect is Effect.READ)
    if effect is not Effect.READ:
        assert hints["destructiveHint"] is (effect is not Effect.ADD)
        assert "dry_run" in document["inputSchema"]["properties"]
    for permission in BY_NAME[name].permissions:
        parse_permission(permission)


@pytest.mark.parametrize("name", BY_NAME)
def test_an_example_is_right_by_the_schema_and_the_arguments(name: str) -> None:
    tool = BY_NAME[name]
    validator = Draft202012Validator(build_schema(tool.arguments))
    for arguments in (tool.example, CALLS[name]):
        given: Any = dict(arguments)
        assert not list(validator.iter_errors(given))
        tool.arguments.model_validate(given)


@pytest.mark.parametrize("name", BY_NAME)
def test_an_answer_is_what_its_schema_says(assistant: Assistant, name: str) -> None:
    document = assistant.ask(name, **CALLS[name])
    schema = {**BY_NAME[name].output, "additionalProperties": False}
    assert not list(Draft202012Validator(schema).iter_errors(document))


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_both_protocols_show_and_run_the_same(assistant: Assistant, mode: str) -> None:
    async def run() -> Any:
        async with Client(assistant.server, mode=mode) as client:
            listed = await client.list_tools()
            told: Any = await client.call_tool("get_digital_twin", {"twin_id": "room-1"})
        return [one.name for one in listed.tools], told.structured_content

    names, document = asyncio.run(run())
    assert names == [*BY_NAME]
    assert document == assistant.ask("get_digital_twin", twin_id="room-1")
