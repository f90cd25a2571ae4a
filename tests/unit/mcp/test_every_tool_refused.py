"""Every tool that is listed, and everybody who may not call it: over HTTP, to the last byte.

The tools come from `tools/list`, so that a new one is judged here from its first day.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.unit.graph.conftest import World
from tests.unit.mcp.test_refusals import BY_NAME, CALLS, NAMES
from tests.unit.mcp.test_writing_tools import read_all
from tests.unit.mcp.transport_world import (
    Answer,
    Client,
    Tokens,
    build_call,
    build_headers,
    call,
    call_tool,
    caller,
)
from twinframe.access.gate import AuditEntry, Gate
from twinframe.access.permissions import Caller
from twinframe.mcp.app import McpEndpoint
from twinframe.mcp.build import build_mcp
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe_auth_claims.plugin import ClaimsProvider

METADATA = "http://127.0.0.1:8082/.well-known/oauth-protected-resource"
DATA = ("digitaltwins/*", "models/*", "query/*")


def holder(*permissions: str, scopes: tuple[str, ...] = ("mcp:tools",)) -> Caller:
    return caller(claims={"permissions": list(permissions)}, scopes=frozenset(scopes))


KNOWN = {
    "no-scope": holder("mcp/*", *DATA, scopes=("mcp:resources", "openid")),
    "no-mcp": holder(*DATA),
    "part-of-mcp": holder("mcp/read", *DATA),
    "no-data": holder("mcp/*"),
    "all": holder("mcp/*", *DATA),
}
UNAUTHORIZED = {
    "error": "unauthorized",
    "error_description": "Authentication required. Please provide a valid Bearer token.",
    "resource_metadata": METADATA,
}
NO_SCOPE = {
    "error": "insufficient_scope",
    "error_description": "Required scopes: mcp:tools",
    "scope": "mcp:tools",
}
NO_MCP = {
    "type": "https://tools.ietf.org/html/rfc7231#section-6.5.3",
    "title": "Forbidden",
    "status": 403,
    "detail": "User lacks required permission: mcp/*",
}
REFUSED_AT_THE_DOOR: list[tuple[str | None, int, dict[str, Any]]] = [
    (None, 401, UNAUTHORIZED),
    ("unknown", 401, UNAUTHORIZED),
    ("no-scope", 403, NO_SCOPE),
    ("no-mcp", 403, NO_MCP),
    ("part-of-mcp", 403, NO_MCP),
]


@dataclass
class Served:
    """The whole server behind HTTP, with the gate's trail."""

    world: World
    trail: list[AuditEntry]
    settings: Settings

    def run(self, work: Callable[[McpEndpoint], Any]) -> Any:
        async def run() -> Any:
            gate = Gate(Tokens(KNOWN), ClaimsProvider("permissions"), self.trail.append)
            binds = [self.settings.mcp.bind]
            endpoint = build_mcp(self.world.graph, self.settings, gate, binds=binds)
            await endpoint.start()
            try:
                return await work(endpoint)
            finally:
                await endpoint.stop()

        return asyncio.run(run())

    def call(self, name: str, token: str | None, arguments: dict[str, Any]) -> Answer:
        found: Answer = self.run(lambda app: call_tool(app, name, arguments, token))
        return found

    def list_tools(self, token: str) -> list[dict[str, Any]]:
        body = build_call("")
        body |= {"method": "tools/list", "params": {"_meta": body["params"]["_meta"]}}
        headers = build_headers(token) | {"mcp-method": "tools/list"}
        del headers["mcp-name"]
        answer = self.run(lambda app: call(app, "POST", "/mcp", headers, json.dumps(body).encode()))
        listed: list[dict[str, Any]] = answer.json["result"]["tools"]
        return listed


@pytest.fixture
def store() -> Iterator[GraphStore]:
    """One store is enough: who may call is not its matter."""
    store = MemoryStore()
    store.open()
    yield store
    store.close()


@pytest.fixture
def served(world: World) -> Served:
    return Served(world, [], Settings.model_validate({"MCP": {"WriteCypher": True}}))


def test_all_tools_that_are_listed_are_judged_here(served: Served) -> None:
    listed = {tool["name"] for tool in served.list_tools("all")}
    assert listed == set(NAMES)
    assert listed == set(CALLS), "give the new tool a call that succeeds, in CALLS"


def test_each_listed_tool_says_what_it_does_to_the_graph(served: Served) -> None:
    """By what its permissions let it do, and not by what it says of itself."""
    for tool in served.list_tools("all"):
        actions = {one.rsplit("/", 1)[1] for one in BY_NAME[tool["name"]].permissions}
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is (actions == {"read"}), tool["name"]
        if "delete" in actions:
            assert hints["destructiveHint"] is True
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"
        assert tool["title"]
        assert tool["description"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("token", "status", "body"), REFUSED_AT_THE_DOOR)
def test_whoever_may_not_use_mcp_is_refused_for_each_tool(
    served: Served, name: str, token: str | None, status: int, body: dict[str, Any]
) -> None:
    before = read_all(served.world)
    answer = served.call(name, token, CALLS[name])
    assert answer.status == status
    assert answer.json == body
    assert ("www-authenticate" in answer.headers) is (body is not NO_MCP)
    assert read_all(served.world) == before
    assert [entry.allowed for entry in served.trail] == [False]


@pytest.mark.parametrize("name", NAMES)
def test_whoever_has_no_permission_at_the_data_gets_a_result_that_names_it(
    served: Served, name: str
) -> None:
    before = read_all(served.world)
    needed = BY_NAME[name].permissions
    answer = served.call(name, "no-data", {})  # refused before its arguments are looked at
    assert answer.status == 200
    result = answer.json["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    text = result["content"][0]["text"]
    assert text.split("\n")[0] == f"Forbidden: User lacks required permission: {needed[0]}"
    assert read_all(served.world) == before
    assert [(entry.allowed, entry.needed) for entry in served.trail] == [
        (True, "mcp/*"),
        (False, needed[0]),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_whoever_has_all_is_served(served: Served, name: str) -> None:
    answer = served.call(name, "all", CALLS[name])
    assert answer.status == 200
    assert answer.json["result"]["isError"] is False, answer.body
    assert answer.json["result"]["structuredContent"]
    assert all(entry.allowed for entry in served.trail)
    assert {entry.needed for entry in served.trail} >= {"mcp/*", *BY_NAME[name].permissions}
    assert all(entry.subject == "ada" for entry in served.trail)


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_server_runs_no_tool_that_writes_whoever_calls(world: World, name: str) -> None:
    served = Served(world, [], Settings.model_validate({"MCP": {"ReadOnly": True}}))
    before = read_all(world)
    answer = served.call(name, "all", CALLS[name])
    is_reading = not BY_NAME[name].writes
    assert answer.json["result"]["isError"] is not is_reading
    assert (name in {tool["name"] for tool in served.list_tools("all")}) is is_reading
    assert read_all(world) == before


@pytest.mark.parametrize(("token", "status", "body"), REFUSED_AT_THE_DOOR)
def test_whoever_may_not_use_mcp_gets_no_stream_either(
    served: Served, token: str | None, status: int, body: dict[str, Any]
) -> None:
    async def apply(app: McpEndpoint) -> Answer:
        headers = {"accept": "text/event-stream"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return await call(app, "GET", "/sse", headers)

    answer = served.run(apply)
    assert (answer.status, answer.json) == (status, body)


@pytest.mark.parametrize("name", NAMES)
def test_in_a_stream_too_each_tool_needs_its_permission(served: Served, name: str) -> None:
    async def apply(app: McpEndpoint) -> Any:
        client = await Client.open(app, "no-data")
        assert (await client.post(app, build_call(name, CALLS[name]), "no-data")).status == 202
        message = await client.stream.read_message()
        await client.stream.leave()
        return message

    before = read_all(served.world)
    text = served.run(apply)["result"]["content"][0]["text"]
    assert f"permission: {BY_NAME[name].permissions[0]}" in text
    assert read_all(served.world) == before
