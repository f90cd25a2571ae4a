"""`run_cypher`: rehearses first, needs the permissions of what a statement does, and is off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.mcp.conftest import Assistant
from tests.unit.mcp.test_refusals import Guarded
from tests.unit.mcp.test_writing_tools import read_all
from twinframe.mcp.access import CURRENT_CALLER, CURRENT_REQUEST_INFO

RENAME = "MATCH (r:Room) SET r.name = $name RETURN r.`$dtId` AS id ORDER BY id"
NAMES = "MATCH (r:Room) RETURN DISTINCT r.name AS name"


@pytest.fixture
def guarded(world: Any) -> Any:
    yield Guarded(world)
    CURRENT_CALLER.set(None)
    CURRENT_REQUEST_INFO.set(None)


def ask_names(assistant: Assistant) -> Any:
    return assistant.ask("query_digital_twins", query=NAMES)["rows"]


def test_a_statement_is_rehearsed_unless_the_call_says_otherwise(assistant: Assistant) -> None:
    before = ask_names(assistant)
    told = assistant.ask("run_cypher", query=RENAME, parameters={"name": "Hall"})
    assert told["dry_run"] is True
    assert told["statistics"] == {"properties_set": told["row_count"]}
    assert told["rows"][0] == {"id": "room-1"}
    assert ask_names(assistant) == before
    ran = assistant.ask("run_cypher", query=RENAME, parameters={"name": "Hall"}, dry_run=False)
    assert ran == {**told, "dry_run": False}
    assert ask_names(assistant) == [{"name": "Hall"}]


def test_rows_that_do_not_fit_are_counted(assistant: Assistant) -> None:
    told = assistant.ask("run_cypher", query="UNWIND range(1, 50) AS x RETURN x", limit=10)
    assert [row["x"] for row in told["rows"]] == [*range(1, 11)]
    assert (told["row_count"], told["truncated"]) == (50, True)


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        (RENAME, "digitaltwins/write"),
        ("MATCH (r:Room) DETACH DELETE r", "digitaltwins/delete"),
        ("MATCH (r:Room) SET r.name = 'x'", "query/read"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_statement_needs_what_it_does(
    guarded: Guarded, query: str, needed: str, *, dry_run: bool
) -> None:
    world = guarded.assistant.world
    before = read_all(world)
    held = {"query/write", "query/read", "digitaltwins/write", "digitaltwins/delete"} - {needed}
    asking = guarded.as_caller("mcp/*", *held)
    text = asking.fail("run_cypher", query=query, parameters={"name": "x"}, dry_run=dry_run)
    assert f"permission: {needed}" in text
    action = guarded.trail[-1].request_info.action
    assert action == "tools/call run_cypher" + (" (dry run)" if dry_run else "")
    assert read_all(world) == before


def test_it_is_neither_listed_nor_run_unless_it_is_turned_on(world: Any) -> None:
    off = Assistant(world, write_cypher=False)
    listed = off.do(lambda client: client.list_tools()).tools
    assert "run_cypher" not in {tool.name for tool in listed}
    assert "MCP__WriteCypher=true" in off.fail("run_cypher", query=RENAME)


def test_a_wrong_statement_is_told_by_its_place(assistant: Assistant) -> None:
    text = assistant.fail("run_cypher", query="MATCH (r:Room) SET r.name =")
    assert "line 1" in text
    assert "Hall" in assistant.fail("run_cypher", query="CREATE (r:Hall {name: 'x'})")
