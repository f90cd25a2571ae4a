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
from twinframe.graph.events.tables import build_table_rows


def rows(event: Event) -> list[tuple[str, dict[str, Any]]]:
    found = [orjson.loads(row) for row in render_history(event, build_table_rows(event))]
    prefix = "Microsoft.DigitalTwins."
    return [(row["type"].removeprefix(prefix), row["data"]) for row in found]


def test_a_row_has_the_columns_of_its_table() -> None:
    event = build_update({"t": 1, "u": 1}, replace("/t", {"a": 5}), {"op": "remove", "path": "/u"})
    changed, removed = rows(event)
    assert changed == (
        "Property.Event",
        {
            "timeStamp": TIME,
            "serviceId": "host",
            "id": "room1",
            "modelId": ROOM,
            "key": "t",
            "value": {"a": 5},
            "relationshipTarget": "",
            "relationshipId": "",
            "action": "Update",
        },
    )
    assert removed == (
        "Property.Event",
        {**changed[1], "key": "u", "value": None, "action": "Delete"},
    )
    timed = build_update({}, replace("/t", 5), replace("/$metadata/t/sourceTime", TIME))
    assert rows(timed)[0][1]["sourceTimeStamp"] == TIME


def test_a_new_twin_is_its_row_and_those_of_its_properties() -> None:
    first, *others = rows(build_lifecycle(t=1, c={"p": 2, "$metadata": {}}))
    assert first == (
        "Twin.Lifecycle",
        {
            "twinId": "room1",
            "action": "Create",
            "timeStamp": TIME,
            "serviceId": "host",
            "modelId": ROOM,
        },
    )
    assert [(row["key"], row["value"]) for _, row in others] == [("t", 1), ("c.p", 2)]
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
    event = build_update({"a": 1, "b": 1}, replace("/a", 2), replace("/b", 3))
    found = [orjson.loads(row) for row in render_history(event, build_table_rows(event))]
    assert [row["id"] for row in found] == [f"{event.document['id']}-{at}" for at in (0, 1)]
    assert {row["specversion"] for row in found} == {"1.0"}
