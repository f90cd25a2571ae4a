"""Rates of tools: assistants are held to those of their caller, and told when to come again."""

from __future__ import annotations

from typing import Any, cast

import pytest
from mcp_types import CallToolRequestParams

from tests.unit.mcp.conftest import World, run
from twinframe.access.permissions import Caller
from twinframe.access.rates import CallerRates, Kind, SharedBuckets
from twinframe.mcp.access import CURRENT_CALLER, OpenAccess
from twinframe.mcp.calls import Calls
from twinframe.mcp.tool import Toolbox
from twinframe.mcp.tools import TOOLS
from twinframe.settings import Settings
from twinframe.settings.operations import RateLimitSettings, RateSettings


def build_calls(world: World, **rates: float) -> Calls:
    per_second = RateSettings.model_validate({kind.value: 0 for kind in Kind} | rates)
    settings = RateLimitSettings(enabled=True, per_second=per_second, burst_seconds=1)
    limits = CallerRates(settings, SharedBuckets(10), clock=lambda: 5.0)
    return Calls(TOOLS, Toolbox(world.graph, Settings(), OpenAccess()), limits)


def call(calls: Calls, tool: str, caller: str, **arguments: Any) -> tuple[bool, str]:
    """Whether it failed, and its text."""

    async def play() -> Any:
        CURRENT_CALLER.set(Caller(caller))
        return await calls.run(CallToolRequestParams(name=tool, arguments=arguments))

    result = cast("Any", run(play()))
    return bool(result.is_error), str(result.content[0].text)


@pytest.mark.parametrize(
    ("kind", "tool", "arguments"),
    [
        ("read", "get_digital_twin", {"twin_id": "house"}),
        ("query", "query_digital_twins", {"query": "MATCH (t:Twin) RETURN count(t) AS n"}),
    ],
)
def test_a_tool_counts_as_what_it_does(
    world: World, kind: str, tool: str, arguments: dict[str, Any]
) -> None:
    calls = build_calls(world, **{kind: 1})
    assert not call(calls, tool, "alice", **arguments)[0]
    failed, text = call(calls, tool, "alice", **arguments)
    assert failed
    assert "try again in 1 s" in text
    assert not call(calls, tool, "bob", **arguments)[0]


def test_a_writing_tool_that_is_refused_writes_nothing(world: World) -> None:
    calls = build_calls(world, write=1)
    arguments = {"twin_id": "house", "etag": "*"}
    call(calls, "delete_digital_twin", "alice", **arguments)
    failed, text = call(calls, "delete_digital_twin", "alice", **arguments)
    assert (failed, "TooManyRequests" in text) == (True, True)
