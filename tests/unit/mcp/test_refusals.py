"""Who may not do what: permissions, scopes, read-only, names that are not right, defects."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from tests.unit.mcp.conftest import Assistant
from tests.unit.mcp.test_writing_tools import WRITES, read_all
from twinframe.access.authentication.port import Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate, RequestInfo
from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.mcp.access import CURRENT_CALLER, CURRENT_REQUEST_INFO, GateAccess, OpenAccess
from twinframe.mcp.tools import TOOLS
from twinframe.testing.factories import ROOM

READS: dict[str, dict[str, Any]] = {
    "describe_graph": {},
    "explore_neighborhood": {"twin_id": "room-1"},
    "query_digital_twins": {"query": "MATCH (r:Room) RETURN r"},
    "explain_query": {"query": "MATCH (r:Room) RETURN r"},
    "get_digital_twin": {"twin_id": "room-1"},
    "search_digital_twins": {"search_text": "room"},
    "list_relationships": {"twin_id": "room-1"},
    "get_relationship": {"source_id": "room-1", "relationship_id": "watch"},
    "list_changes": {"twin_id": "room-1"},
    "compare_states": {"start": "0"},
    "summarize_series": {
        "twin_id": "room-1",
        "path": "temperature",
        "start": "2024-01-31T12:00:00Z",
    },
    "list_models": {},
    "get_model": {"model_id": ROOM},
    "search_models": {"search_text": "room"},
}
DATA = ("digitaltwins/read", "digitaltwins/relationships/read", "models/read", "query/read")
STATEMENT = {"run_cypher": {"query": "RETURN 1 AS one"}}  # what more they need: its own tests
CALLS = {**READS, **WRITES, **STATEMENT}
NAMES = [tool.name for tool in TOOLS]
BY_NAME = {tool.name: tool for tool in TOOLS}


class Nobody(Authenticator):
    async def authenticate(self, headers: Headers) -> Caller:
        raise AssertionError(headers)  # the transports do this


class Listed(PermissionProvider):
    """Answers what the caller's claims say."""

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        return frozenset(str(one) for one in caller.claims.get("permissions") or ())  # type: ignore[union-attr]


class Guarded:
    """An assistant behind the gate, as a caller with these permissions and scopes."""

    def __init__(self, world: Any, **limits: Any) -> None:
        self.trail: list[AuditEntry] = []
        access = GateAccess(Gate(Nobody(), Listed(), self.trail.append))
        self.assistant = Assistant(world, access, **limits)

    def as_caller(self, *permissions: str, scopes: tuple[str, ...] = ()) -> Assistant:
        claims: Any = {"permissions": list(permissions)}
        CURRENT_CALLER.set(Caller("someone", claims, scopes=frozenset(scopes)))
        CURRENT_REQUEST_INFO.set(RequestInfo("POST /mcp", "request-1", "192.0.2.1"))
        return self.assistant


@pytest.fixture
def guarded(world: Any) -> Any:
    yield Guarded(world)
    CURRENT_CALLER.set(None)
    CURRENT_REQUEST_INFO.set(None)


def test_every_tool_is_called_here() -> None:
    assert set(CALLS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_mcp_alone_gives_no_tool(guarded: Any, name: str) -> None:
    before = read_all(guarded.assistant.world)
    needed = BY_NAME[name].permissions
    text = guarded.as_caller("mcp/*").fail(name, **CALLS[name])
    assert text.startswith(f"Forbidden: User lacks required permission: {needed[0]}")
    assert read_all(guarded.assistant.world) == before
    entry = guarded.trail[0]
    assert not entry.allowed
    assert entry.needed == needed[0]
    assert entry.request_info.action.startswith(f"tools/call {name}")
    assert entry.request_info[1:] == ("request-1", "192.0.2.1")


@pytest.mark.parametrize("name", NAMES)
def test_each_needed_permission_is_needed(guarded: Any, name: str) -> None:
    needed = BY_NAME[name].permissions
    for missing in needed:
        held = [one for one in needed if one != missing]
        text = guarded.as_caller("mcp/*", *held).fail(name, **CALLS[name])
        assert f"permission: {missing}" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_needed_permissions_are_enough(guarded: Any, name: str) -> None:
    extra = ["digitaltwins/relationships/delete"] if name == "delete_digital_twin" else []
    guarded.as_caller("mcp/*", *BY_NAME[name].permissions, *extra).ask(name, **CALLS[name])
    allowed = [entry.needed for entry in guarded.trail if entry.allowed]
    assert allowed[: len(BY_NAME[name].permissions)] == list(BY_NAME[name].permissions)


def test_a_reader_is_no_writer(guarded: Any) -> None:
    reader = guarded.as_caller("mcp/*", "digitaltwins/read", "query/*", "models/read")
    for name in WRITES:
        assert "User lacks required permission" in reader.fail(name, **WRITES[name])


@pytest.mark.parametrize(
    ("name", "given", "needed"),
    [
        ("list_changes", {"twin_id": "room-1"}, "digitaltwins/read"),
        (
            "list_changes",
            {"twin_id": "room-1", "relationship_id": "watch"},
            "digitaltwins/relationships/read",
        ),
        ("compare_states", {"start": "0", "include": ["twins"]}, "digitaltwins/read"),
        (
            "compare_states",
            {"start": "0", "include": ["relationships"]},
            "digitaltwins/relationships/read",
        ),
        ("compare_states", {"start": "0", "include": ["models"]}, "models/read"),
    ],
)
def test_the_past_needs_the_permission_of_what_is_asked_for(
    guarded: Any, name: str, given: dict[str, Any], needed: str
) -> None:
    guarded.as_caller("mcp/*", needed).ask(name, **given)
    text = guarded.as_caller("mcp/*", *{*DATA} - {needed}).fail(name, **given)
    assert f"permission: {needed}" in text


@pytest.mark.parametrize("include", [[], None, "twins", ["twin"], {"twins": 1}, 5])
def test_a_comparison_of_other_kinds_needs_all_permissions(guarded: Any, include: Any) -> None:
    text = guarded.as_caller("mcp/*", "digitaltwins/read").fail(
        "compare_states", start="0", include=include
    )
    assert "permission: digitaltwins/relationships/read" in text


def test_deleting_relationships_along_needs_their_permission(guarded: Any) -> None:
    text = guarded.as_caller("mcp/*", "digitaltwins/delete").fail(
        "delete_digital_twin", **WRITES["delete_digital_twin"]
    )
    assert "permission: digitaltwins/relationships/delete" in text
    assert guarded.assistant.world.read("room-1")


def test_a_message_without_a_caller_runs_nothing(world: Any) -> None:
    for name in NAMES:
        text = Guarded(world).assistant.fail(name, **CALLS[name])
        assert text.startswith("Unauthorized: ")


def test_who_may_not_use_a_tool_learns_nothing_of_its_arguments(guarded: Any) -> None:
    text = guarded.as_caller("mcp/*").fail("get_digital_twin", wrong=1)
    assert "permission: digitaltwins/read" in text
    assert "twin_id" not in text


def test_advice_shows_only_what_the_caller_may_read(guarded: Any) -> None:
    few = guarded.as_caller("digitaltwins/read").fail("get_digital_twin", twin_id="room-11")
    assert "room-1'" not in few
    more = guarded.as_caller("digitaltwins/read", "query/read").fail(
        "get_digital_twin", twin_id="room-11"
    )
    assert "room-1'" in more
    delete = guarded.as_caller("digitaltwins/delete").fail(
        "delete_digital_twin", twin_id="room-1", confirm=True
    )
    assert "sensor-1" not in delete


def test_an_open_server_writes_each_call_down(world: Any) -> None:
    trail: list[AuditEntry] = []
    Assistant(world, OpenAccess(trail.append)).ask("get_digital_twin", twin_id="room-1")
    assert [(one.needed, one.request_info.action, one.allowed) for one in trail] == [
        ("digitaltwins/read", "tools/call get_digital_twin room-1", True)
    ]


def test_the_trail_says_what_a_call_is_about_and_what_is_a_rehearsal(world: Any) -> None:
    trail: list[AuditEntry] = []
    assistant = Assistant(world, OpenAccess(trail.append))
    key = {"source_id": "room-1", "relationship_id": "watch"}
    assistant.ask("delete_relationship", **key, dry_run=True)
    assistant.ask("delete_relationship", **key, confirm=True)
    assert [entry.request_info.action for entry in trail] == [
        "tools/call delete_relationship room-1 watch (dry run)",
        "tools/call delete_relationship room-1 watch",
    ]


# --- scopes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        lambda client: client.list_resources(),
        lambda client: client.list_resource_templates(),
        lambda client: client.read_resource("twin://room-1"),
    ],
)
def test_resources_need_their_scope(guarded: Any, read: Any) -> None:
    with pytest.raises(MCPError, match="Required scopes: mcp:resources") as refused:
        guarded.as_caller("digitaltwins/read", scopes=("mcp:tools",)).do(read)
    assert refused.value.data == {"error": "insufficient_scope", "scope": "mcp:resources"}
    assert guarded.as_caller("digitaltwins/read", scopes=("mcp:resources",)).do(read)


def test_a_resource_needs_the_permission_of_what_it_is(guarded: Any) -> None:
    for uri, permission in (
        ("twin://room-1", "digitaltwins/read"),
        (f"model://{ROOM}", "models/read"),
        ("graph://schema", "models/read"),
    ):
        assistant = guarded.as_caller(scopes=("mcp:resources",))
        with pytest.raises(MCPError, match=f"permission: {permission}"):
            assistant.do(lambda client, uri=uri: client.read_resource(uri))


@pytest.mark.parametrize(
    ("uri", "typed", "needed"),
    [
        ("twin://{+id}", "room", ("digitaltwins/read", "query/read")),
        ("model://{+id}", "Room", ("models/read",)),
    ],
)
def test_ids_are_completed_for_those_who_may_find_them(
    guarded: Any, uri: str, typed: str, needed: tuple[str, ...]
) -> None:
    def complete(*permissions: str, scopes: tuple[str, ...] = ("mcp:resources",)) -> list[str]:
        ref = ResourceTemplateReference(uri=uri)
        assistant = guarded.as_caller(*permissions, scopes=scopes)
        found = assistant.do(lambda client: client.complete(ref, {"name": "id", "value": typed}))
        return list(found.completion.values)

    assert complete(*needed)
    for missing in needed:
        assert complete(*(one for one in DATA if one != missing)) == []
    with pytest.raises(MCPError, match="Required scopes: mcp:resources"):
        complete(*needed, scopes=("mcp:tools",))


@pytest.mark.parametrize("missing", ["models/read", "query/read"])
def test_a_prompt_that_shows_the_graph_needs_the_permissions_of_what_it_shows(
    guarded: Any, missing: str
) -> None:
    assistant = guarded.as_caller(*(one for one in DATA if one != missing))
    with pytest.raises(MCPError, match=f"permission: {missing}"):
        assistant.do(lambda client: client.get_prompt("write_query", {"question": "how many?"}))


# --- read-only --------------------------------------------------------------------------------


def test_a_reading_server_neither_lists_nor_runs_what_writes(world: Any) -> None:
    assistant = Assistant(world, ReadOnly=True)

    async def list_names(client: Client) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    assert assistant.do(list_names) == set(READS)
    before = read_all(world)
    for name, arguments in WRITES.items():
        for dry_run in (False, True):
            text = assistant.fail(name, **arguments, dry_run=dry_run)
            assert text.startswith(f"ReadOnly: {name} changes the graph")
    assert read_all(world) == before
    for name, arguments in READS.items():
        assistant.ask(name, **arguments)


# --- what is not right ------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_argument_is_refused_by_every_tool(assistant: Assistant, name: str) -> None:
    before = read_all(assistant.world)
    text = assistant.fail(name, **CALLS[name], surprise=1)
    assert "unknown argument 'surprise'" in text
    assert "Right is for example: {" in text
    assert read_all(assistant.world) == before


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("get_digital_twin", {"twinId": "a"}, "did you mean 'twin_id'"),
        ("get_digital_twin", {"id": "a"}, "did you mean 'twin_id'"),
        ("get_digital_twin", {}, "the argument 'twin_id' is missing"),
        ("get_digital_twin", {"twin_id": 7}, "'twin_id': input should be a valid string"),
        ("query_digital_twins", {"query": "RETURN 1", "limit": "7"}, "'limit'"),
        ("query_digital_twins", {"query": "RETURN 1", "limit": 1001}, "1000"),
        ("query_digital_twins", {"query": "RETURN 1", "limit": 0}, "'limit'"),
        ("query_digital_twins", {"query": "RETURN 1", "timeout_seconds": 31}, "30"),
        ("query_digital_twins", {"query": "RETURN 1", "parameters": '{"a":1}'}, "not a string"),
        ("update_digital_twin", {"twin_id": "a", "patch": "[]"}, "not a string"),
        ("explore_neighborhood", {"twin_id": "a", "hops": 4}, "'hops'"),
        ("list_relationships", {"twin_id": "a", "direction": "up"}, "'outgoing'"),
        ("get_digital_twins", {"twin_id": "a"}, "did you mean 'get_digital_twin'?"),
        ("x" * 500, {}, "There is no tool"),
    ],
)
def test_a_wrong_call_says_what_would_be_right(
    assistant: Assistant, name: str, arguments: dict[str, Any], told: str
) -> None:
    text = assistant.fail(name, **arguments)
    assert told in text
    assert len(text) < 1200


def test_null_is_not_given(assistant: Assistant) -> None:
    told = assistant.ask("list_relationships", twin_id="room-1", relationship_name=None)
    assert len(told["relationships"]) == 2


def test_a_defect_is_told_by_a_reference_alone(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_self: object, _id: str, _as_of: int | None) -> None:
        raise KeyError("secret internals")

    monkeypatch.setattr(type(assistant.world.graph.twins), "read_twin", fail)
    with caplog.at_level(logging.ERROR):
        text = assistant.fail("get_digital_twin", twin_id="room-1")
    assert "secret" not in text
    reference = text.partition("reference ")[2].partition(")")[0]
    assert reference in caplog.text
    assert "secret internals" in caplog.text
    with pytest.raises(MCPError, match="reference") as refused:
        assistant.do(lambda client: client.read_resource("twin://room-1"))
    assert "secret" not in str(refused.value)


# --- what writing shows ---------------------------------------------------------------------------

BLIND = ("mcp/*", "digitaltwins/write", "digitaltwins/delete", "digitaltwins/relationships/write",
         "digitaltwins/relationships/delete")  # fmt: skip
REHEARSALS: list[tuple[str, dict[str, Any]]] = [
    ("delete_digital_twin", {"twin_id": "room-1", "delete_relationships": True}),
    ("create_or_replace_digital_twin", {"twin_id": "room-1", "model_id": ROOM}),
    (
        "update_digital_twin",
        {"twin_id": "room-1", "patch": [{"op": "replace", "path": "/temperature", "value": 1.5}]},
    ),
    ("delete_relationship", {"source_id": "room-1", "relationship_id": "watch"}),
    (
        "create_or_replace_relationship",
        {
            "source_id": "room-1",
            "relationship_id": "watch",
            "relationship_name": "watchedBy",
            "target_id": "sensor-1",
        },
    ),
    (
        "update_relationship",
        {
            "source_id": "room-1",
            "relationship_id": "watch",
            "patch": [{"op": "remove", "path": "/since"}],
        },
    ),
]


@pytest.mark.parametrize(("name", "arguments"), REHEARSALS)
def test_a_write_shows_what_was_there_only_to_those_who_may_read_it(
    guarded: Any, name: str, arguments: dict[str, Any]
) -> None:
    shown = ("2024-01-31", "Room 2", "20.0", "floor-1")
    blind = guarded.as_caller(*BLIND).call(name, **arguments, dry_run=True)
    assert not blind.failed
    assert "not shown: this needs the permission digitaltwins/" in blind.text
    assert not any(secret in blind.text for secret in shown)
    seeing = guarded.as_caller(*BLIND, "digitaltwins/read", "digitaltwins/relationships/read").call(
        name, **arguments, dry_run=True
    )
    assert "not shown" not in seeing.text
    assert any(secret in seeing.text for secret in shown)
    told = guarded.as_caller(*BLIND).call(name, **arguments, **_confirm(name))
    assert not told.failed
    assert not any(secret in told.text for secret in shown)


def _confirm(name: str) -> dict[str, bool]:
    return {"confirm": True} if name.startswith("delete") else {}
