"""The data-history form: rows for tables of time series."""

from __future__ import annotations

from typing import Any

import orjson

from tests.unit.graph.events.event_samples import (
    ROOM,
    TIME,
    build_lifecycle,
    build_relationship,
    build_telemetry,
    build_update,
    replace,
)
from twinframe.graph.events.envelope import EventType
from twinframe.graph.events.event import Event
from twinframe.graph.events.history import render_history


def rows(event: Event) -> list[tuple[str, dict[str, Any]]]:
    found = [orjson.loads(row) for row in render_history(event)]
    prefix = "Microsoft.DigitalTwins."
    return [(row["type"].removeprefix(prefix), row["data"]) for row in found]


def test_an_update_is_a_row_for_each_property() -> None:
    event = build_update(
        {"t": 1, "c": {"p": 2}},
        replace("/t", 5),
        replace("/c/p", 6),
        {"op": "remove", "path": "/t"},
        replace("/$metadata/$model", "dtmi:x;2"),
    )
    found = rows(event)
    assert [kind for kind, _ in found] == ["Property.Event"] * 3
    assert [(row["key"], row["value"], row["action"]) for _, row in found] == [
        ("t", 5, "Update"),
        ("c_p", 6, "Update"),
        ("t", None, "Delete"),
    ]
    assert found[0][1] == {
        "timeStamp": TIME,
        "serviceId": "host",
        "id": "room1",
        "modelId": ROOM,
        "key": "t",
        "value": 5,
        "relationshipTarget": "",
        "relationshipId": "",
        "action": "Update",
    }


def test_a_new_twin_is_its_row_and_those_of_its_properties() -> None:
    found = rows(build_lifecycle(t=1, c={"p": 2, "$metadata": {}}))
    assert found[0] == (
        "Twin.Lifecycle",
        {
            "twinId": "room1",
            "action": "Create",
            "timeStamp": TIME,
            "serviceId": "host",
            "modelId": ROOM,
        },
    )
    assert [(row["key"], row["value"]) for _, row in found[1:]] == [("t", 1), ("c_p", 2)]
    ((kind, row),) = rows(build_lifecycle(EventType.TWIN_DELETE, t=1))
    assert (kind, row["action"]) == ("Twin.Lifecycle", "Delete")


def test_a_relationship_is_a_row_and_others_are_none() -> None:
    ((kind, row),) = rows(build_relationship())
    assert kind == "Relationship.Lifecycle"
    assert (row["source"], row["target"], row["name"], row["action"]) == (
        "room1", "lamp", "has", "Create",
    )  # fmt: skip
    assert rows(build_telemetry({"heat": 1})) == []


def test_rows_are_events_of_their_own() -> None:
    event = build_update({"a": 1}, replace("/a", 2), replace("/a", 3))
    found = [orjson.loads(row) for row in render_history(event)]
    assert [row["id"] for row in found] == [f"{event.document['id']}-{at}" for at in (0, 1)]
    assert {row["specversion"] for row in found} == {"1.0"}
