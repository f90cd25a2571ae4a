"""Values that no client should send: refused as the API refuses them, and never a defect."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolRequestParams

from tests.unit.graph.conftest import World
from tests.unit.mcp.conftest import Assistant
from twinframe.mcp.access import OpenAccess
from twinframe.mcp.calls import Calls
from twinframe.mcp.prompts import get_prompt
from twinframe.mcp.tool import Toolbox
from twinframe.mcp.tools import TOOLS
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import ROOM

NAMES = [tool.name for tool in TOOLS]


def open_calls() -> tuple[Calls, Toolbox]:
    store = MemoryStore()
    store.open()
    settings = Settings()
    box = Toolbox(World(store, settings).graph, settings, OpenAccess())
    return Calls(TOOLS, box), box


def call(calls: Calls, name: str, arguments: Any) -> Any:
    params = CallToolRequestParams.model_construct(name=name, arguments=arguments)
    return asyncio.run(calls.run(params))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("\ud800", "U+D800"),
        ("a\x00b", "U+0000"),
        (10**309, "too large for a double"),
        (float("nan"), "NaN"),
        (float("inf"), "infinity"),
    ],
)
def test_what_the_api_refuses_is_refused(assistant: Assistant, value: Any, told: str) -> None:
    calls, _ = open_calls()
    for arguments in (
        {"twin_id": "a", "model_id": ROOM, "properties": {"name": value}},
        {"twin_id": "a", "model_id": ROOM, "properties": {"deep": [{"er": value}]}},
    ):
        result = call(calls, "create_or_replace_digital_twin", arguments)
        assert result.is_error
        assert result.content[0].text.startswith("InvalidArgument: ")
        assert told in result.content[0].text


def test_deep_nesting_is_refused() -> None:
    calls, _ = open_calls()
    for depth in (65, 100_000):
        nested: Any = 1
        for _ in range(depth):
            nested = [nested]
        result = call(
            calls, "query_digital_twins", {"query": "RETURN 1", "parameters": {"a": nested}}
        )
        assert result.content[0].text.startswith("InvalidArgument: ")


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
known_names = sorted({name for tool in TOOLS for name in tool.arguments.model_fields})
CALLS, BOX = open_calls()


@given(
    st.sampled_from([*NAMES, "nothing", "\ud800"]),
    st.dictionaries(st.sampled_from(known_names) | st.text(max_size=5), any_json, max_size=5),
)
def test_no_call_meets_a_defect(name: str, arguments: dict[str, Any]) -> None:
    result = call(CALLS, name, arguments)
    text = result.content[0].text
    assert "InternalError" not in text
    text.encode()


@given(st.text(st.characters(), max_size=20))
def test_a_prompt_takes_any_text(text: str) -> None:
    found = asyncio.run(get_prompt(BOX, "model_from_description", {"description": f"x{text}"}))
    found.model_dump_json()
