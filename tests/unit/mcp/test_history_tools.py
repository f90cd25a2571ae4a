"""The tools for the past: what changed, a value at a moment, and how a value ran."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.conftest import World
from tests.unit.mcp.conftest import Assistant
from twinframe.settings import Settings
from twinframe.testing.factories import ROOM


@pytest.fixture
def changed(assistant: Assistant) -> Assistant:
    """Room 1 was changed 30 times, a second after the other or later, then deleted."""
    for value in range(30):
        assistant.world.patch("room-1", {"op": "replace", "path": "/temperature", "value": value})
    world = assistant.world
    world.do(world.graph.relationships.delete_relationship("room-1", "watch"))
    world.do(world.graph.relationships.delete_relationship("floor-1", "has-room-1"))
    world.do(world.graph.twins.delete_twin("room-1"))
    return assistant


def test_the_changes_of_a_twin_come_newest_first_in_pages(changed: Assistant) -> None:
    first = changed.ask("list_changes", twin_id="room-1", path="temperature", limit=3)
    assert [item["changes"] for item in first["changes"]] == [
        [{"path": "temperature", "before": 29}],
        [{"path": "temperature", "before": 28, "after": 29}],
        [{"path": "temperature", "before": 27, "after": 28}],
    ]
    assert first["truncated"]
    rest = changed.ask(
        "list_changes",
        twin_id="room-1",
        path="temperature",
        continuation_token=first["continuation_token"],
        limit=100,
    )
    assert len(rest["changes"]) == 29
    assert not rest["truncated"]
    oldest = changed.ask("list_changes", twin_id="room-1", oldest_first=True, limit=1)
    assert oldest["changes"][0]["action"] == "created"


def test_the_changes_of_a_relationship_are_listed(changed: Assistant) -> None:
    told = changed.ask("list_changes", twin_id="room-1", relationship_id="watch")
    assert [item["action"] for item in told["changes"]] == ["deleted", "created"]
    text = changed.fail("list_changes", twin_id="room-2", relationship_id="wacth")
    assert "Did you mean 'watch'" in text
    assert "Did you mean 'room-2'" in changed.fail("list_changes", twin_id="room-22")


def test_an_earlier_state_of_a_twin_is_read(changed: Assistant) -> None:
    found = changed.ask("list_changes", twin_id="room-1", path="temperature", limit=3)["changes"]
    for moment in (str(found[2]["position"]), found[2]["time"]):
        twin = changed.ask("get_digital_twin", twin_id="room-1", as_of=moment)["twin"]
        assert twin["temperature"] == 28
    assert "neither a date and time" in changed.fail(
        "get_digital_twin", twin_id="room-1", as_of="Tuesday"
    )


def test_two_states_of_the_graph_are_compared(changed: Assistant) -> None:
    whole = changed.ask("compare_states", start="0", include=["twins"])
    assert {item["action"] for item in whole["changes"]} == {"created"}
    assert "room-1" not in {item["id"] for item in whole["changes"]}
    end = whole["end_position"]
    last = changed.ask("compare_states", start=str(end - 4))
    kinds = [(item["kind"], item["action"]) for item in last["changes"]]
    assert kinds == [("twin", "deleted"), ("relationship", "deleted"), ("relationship", "deleted")]
    page = changed.ask("compare_states", start="0", limit=2)
    changed.world.put("room-9", ROOM)
    rest: list[Any] = list(page["changes"])
    while page["truncated"]:
        token = page["continuation_token"]
        page = changed.ask("compare_states", start="0", limit=2, continuation_token=token)
        rest += page["changes"]
    assert rest == changed.ask("compare_states", start="0", end=str(end), limit=99)["changes"]


@pytest.mark.parametrize("tokens", [200, 400, 800, 5000])
def test_a_series_is_summarized_within_a_budget(changed: Assistant, tokens: int) -> None:
    told = changed.call(
        "summarize_series",
        twin_id="room-1",
        path="temperature",
        start="2024-01-31T12:00:00Z",
        max_tokens=tokens,
    )
    assert len(told.text.encode()) <= tokens * 4
    document = told.document
    assert document["summary"]["min"] == 0
    assert document["summary"]["max"] == 29
    assert document["summary"]["first"] == 20
    assert document["summary"]["count"] == 31
    assert document["columns"] == ["time", "avg", "min", "max"]
    rows = document["buckets"]
    assert min(row[2] for row in rows) == 0
    assert max(row[3] for row in rows) == 29
    assert (len(rows) > 20) is (tokens >= 800)


@pytest.mark.parametrize("start", ["2023-06-01T00:00:00Z", "1999-01-01T00:00:00Z"])
def test_a_series_of_years_is_summarized(changed: Assistant, start: str) -> None:
    document = changed.ask(
        "summarize_series", twin_id="room-1", path="temperature", start=start, max_tokens=300
    )
    assert document["summary"]["count"] == 31
    assert document["step"].endswith("d")


def test_a_series_of_texts_has_what_held(assistant: Assistant) -> None:
    for at in range(40):
        assistant.world.put("room-2", ROOM, name="\U0001f3e0" * 50 + str(at))
    told = assistant.call(
        "summarize_series",
        twin_id="room-2",
        path="name",
        start="2024-01-31T12:00:00Z",
        max_tokens=800,
    )
    assert len(told.text.encode()) <= 3200
    assert len(told.document["buckets"]) > 3
    document = assistant.ask(
        "summarize_series", twin_id="room-1", path="name", start="2024-01-31T12:00:00Z"
    )
    assert document["summary"]["last"] == "Room 1"
    assert document["summary"]["avg"] is None
    assert document["columns"] == ["time", "last", "count"]
    assert {row[1] for row in document["buckets"]} == {"Room 1"}
    none = assistant.ask(
        "summarize_series", twin_id="room-1", path="area", start="2024-01-31T12:00:00Z"
    )
    assert (none["summary"], none["buckets"]) == ({"count": 0}, [])
    text = assistant.fail(
        "summarize_series", twin_id="room-1", path="temprature", start="2024-01-31T12:00:00Z"
    )
    assert "Did you mean temperature" in text


def test_a_description_says_how_far_back_history_goes(changed: Assistant) -> None:
    text = changed.ask("describe_graph", max_tokens=300)["digest"]
    assert "History: changes and earlier states from 2024-01-31T12:00:" in text
    changed.world.store.write([lambda t: t.delete_events(up_to=20, limit=99)])
    assert "History: changes and earlier states from" in changed.ask("describe_graph")["digest"]
    assert changed.ask("describe_graph", max_tokens=300)["digest"] != text
    settings = Settings.model_validate({"history": {"enabled": False}})
    off = Assistant(World(changed.world.store, settings))
    assert "History: none is kept." in off.ask("describe_graph")["digest"]
    assert "History__Enabled" in off.fail("list_changes", twin_id="room-2")
