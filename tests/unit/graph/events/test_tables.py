"""The rows of data history: the vendor's tables, from events."""

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
from twinframe.graph.events.changes import build_patch_changes
from twinframe.graph.events.envelope import (
    EventType,
    build_rows,
    render_changes,
    render_event,
)
from twinframe.graph.events.event import Event
from twinframe.graph.events.tables import build_table_rows, needs_document
from twinframe.hooks.event_sinks.tables import TABLES
from twinframe.model.patches import parse_patch


def read_rows(event: Event, document: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [
        {
            "Table": row.table.name,
            **{name: value for (name, _), value in zip(row.table.columns, row.values, strict=True)},
        }
        for row in build_table_rows(event, document)
    ]


def read_values(event: Event, document: dict[str, Any] | None = None) -> list[Any]:
    """Key, value, action and time of the source of each row of a property."""
    return [
        (
            row["Key"],
            row["Value"] and orjson.loads(row["Value"]),
            row["Action"],
            row["SourceTimeStamp"],
        )
        for row in read_rows(event, document)
        if "Key" in row
    ]


def test_tables_have_the_vendors_columns_in_its_order() -> None:
    # SPEC: the vendor's page on data history, «Data types and schemas».
    assert {table.name: [name for name, _ in table.columns] for table in TABLES} == {
        "AdtPropertyEvents": [
            "TimeStamp", "SourceTimeStamp", "ServiceId", "Id", "ModelId", "Key", "Value",
            "RelationshipTarget", "RelationshipId", "Action",
        ],
        "AdtTwinLifeCycleEvents": ["TwinId", "Action", "TimeStamp", "ServiceId", "ModelId"],
        "AdtRelationshipLifeCycleEvents": [
            "RelationshipId", "Name", "Action", "TimeStamp", "ServiceId", "Source", "Target",
        ],
    }  # fmt: skip


def test_the_vendors_example_of_an_update_becomes_its_row() -> None:
    plant, time = "dtmi:example:grid:plants:solarPlant;1", "2021-06-30T20:23:29.8697482Z"
    patch = parse_patch(
        [
            replace("/Output", 130),
            replace("/$metadata/Output/sourceTime", "2021-06-30T20:22:14.3854859Z"),
        ],
        max_operations=9,
    )
    notes = {"old": build_patch_changes({"Output": 120}, patch).old}
    data = render_changes(plant, build_rows(patch))
    host = b'"myInstance.api.neu.digitaltwins.azure.net"'
    kind = EventType.TWIN_UPDATE
    event = Event(1, "solar_plant_3", render_event(kind, host, "solar_plant_3", time, data, notes))
    assert read_rows(event) == [
        {
            "Table": "AdtPropertyEvents",
            "TimeStamp": time,
            "SourceTimeStamp": "2021-06-30T20:22:14.3854859Z",
            "ServiceId": "myInstance.api.neu.digitaltwins.azure.net",
            "Id": "solar_plant_3",
            "ModelId": plant,
            "Key": "Output",
            "Value": "130",
            "RelationshipTarget": "",
            "RelationshipId": "",
            "Action": "Update",
        }
    ]


def test_a_new_twin_is_its_row_and_those_of_its_properties() -> None:
    part = {"p": 2, "$metadata": {"p": {"sourceTime": "2024-01-31T11:00:00Z"}}}
    created = build_lifecycle(t="x", m={"a": {"b": 1}}, c=part)
    assert read_rows(created)[0] == {
        "Table": "AdtTwinLifeCycleEvents",
        "TwinId": "room1",
        "Action": "Create",
        "TimeStamp": TIME,
        "ServiceId": "host",
        "ModelId": ROOM,
    }
    assert read_values(created) == [
        ("t", "x", "Update", None),
        ("m", {"a": {"b": 1}}, "Update", None),
        ("c.p", 2, "Update", "2024-01-31T11:00:00Z"),
    ]
    (deleted,) = read_rows(build_lifecycle(EventType.TWIN_DELETE, t=1))
    assert (deleted["TwinId"], deleted["Action"]) == ("room1", "Delete")


def test_a_property_that_changed_in_part_is_stored_as_a_whole() -> None:
    before = {
        "pose": {"roll": 20, "yaw": 45},
        "list": [1, 2],
        "c": {"p": 1, "m": {"x": 1}, "$metadata": {}},
    }
    event = build_update(
        before,
        replace("/pose/roll", 21),
        {"op": "add", "path": "/pose/pitch", "value": 15},
        replace("/c/p", 2),
        replace("/c/m/x", 2),
        {"op": "remove", "path": "/c/m/x"},
        replace("/$metadata/$model", "dtmi:x;2"),
    )  # fmt: skip
    assert needs_document(event)
    after = {"pose": {"roll": 21, "pitch": 15, "yaw": 45}, "c": {"p": 2, "m": {}, "$metadata": {}}}
    assert read_values(event, after) == [
        ("pose", {"roll": 21, "pitch": 15, "yaw": 45}, "Update", None),
        ("c.p", 2, "Update", None),
        ("c.m", {}, "Update", None),
    ]
    # The document is no longer known: the key is the path.
    assert read_values(event)[0] == ("pose.roll", 21, "Update", None)


def test_a_component_that_is_put_as_a_whole_is_its_properties() -> None:
    event = build_update(
        {"c": {"p": 1, "gone": 2, "$metadata": {}}},
        replace("/c", {"p": 5, "new": 6, "$metadata": {"p": {"sourceTime": TIME}}}),
    )
    after = {"c": {"p": 5, "new": 6, "$metadata": {}}}
    for document in (None, after):
        assert read_values(event, document) == [
            ("c.p", 5, "Update", TIME),
            ("c.new", 6, "Update", None),
            ("c.gone", None, "Delete", None),
        ]
    patched = build_update({}, replace("/c/p", 5), replace("/c/$metadata/p/sourceTime", TIME))
    assert read_values(patched, after) == [("c.p", 5, "Update", TIME)]


def test_a_property_has_one_row_of_an_event_with_its_last_value() -> None:
    event = build_update(
        {"t": 1, "u": 1, "v": 1},
        replace("/t", 5),
        {"op": "remove", "path": "/t"},
        {"op": "remove", "path": "/u"},
        {"op": "add", "path": "/u", "value": 7},
        replace("/v", 1),
    )
    assert not needs_document(event)
    assert read_values(event) == [
        ("t", None, "Delete", None),
        ("u", 7, "Update", None),
        ("v", 1, "Update", None),
    ]


def test_a_relationship_is_its_row_and_those_of_its_properties() -> None:
    lifecycle, since = read_rows(build_relationship(since=2020))
    assert lifecycle == {
        "Table": "AdtRelationshipLifeCycleEvents",
        "RelationshipId": "r1",
        "Name": "has",
        "Action": "Create",
        "TimeStamp": TIME,
        "ServiceId": "host",
        "Source": "room1",
        "Target": "lamp",
    }
    of_relationship = {
        "Id": "room1",
        "ModelId": ROOM,
        "RelationshipId": "r1",
        "RelationshipTarget": "lamp",
    }
    assert {**since, **of_relationship, "Key": "since", "Value": "2020"} == since
    patch = parse_patch([replace("/since", 2021)], max_operations=9)
    notes = {"old": [[2020]], "target": "lamp"}
    data = render_changes(ROOM, build_rows(patch))
    kind, subject = EventType.RELATIONSHIP_UPDATE, "room1/relationships/r1"
    updated = Event(4, "room1", render_event(kind, b'"host"', subject, TIME, data, notes))
    assert read_rows(updated) == [{**since, "Value": "2021"}]
    (deleted,) = read_rows(build_relationship(EventType.RELATIONSHIP_DELETE, since=2020))
    assert deleted == {**lifecycle, "Action": "Delete"}


def test_telemetry_has_no_row() -> None:
    assert read_rows(build_telemetry({"heat": 1})) == []
