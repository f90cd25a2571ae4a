"""Every write leaves its event in the outbox, in the vendor's words; a refused one leaves none."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import TwinframeError
from twinframe.graph import Graph
from twinframe.graph.events import differences, outbox
from twinframe.graph.events.event import Event
from twinframe.graph.events.history import render_history
from twinframe.graph.events.tables import build_table_rows
from twinframe.graph.twins.removal import Removal
from twinframe.model.etags import parse_condition, parse_put_condition
from twinframe.settings import Settings
from twinframe.settings.events import EventsSettings
from twinframe.testing.factories import (
    ROOM,
    SENSOR,
    THERMOSTAT,
    build_interface,
    build_twin_document,
)

GUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TWIN = "Microsoft.DigitalTwins.Twin."
RELATIONSHIP = "Microsoft.DigitalTwins.Relationship."


def read_events(world: Any, *, skip: str = "Twinframe.Model.") -> list[Event]:
    session = world.store.session()
    try:
        rows = outbox.read_events(session, after=0, limit=999)
    finally:
        session.close()
    events = [Event(position, read.key, read.text) for position, read in rows if read.text]
    return [event for event in events if not event.type.startswith(skip)]


def last(world: Any) -> Event:
    return read_events(world)[-1]


def test_a_new_twin_is_told_with_its_document(world: Any) -> None:
    document = world.put("room1", temperature=21.5)
    event = last(world)
    assert GUID.fullmatch(event.document["id"])
    assert event.document == {
        "specversion": "1.0",
        "id": event.document["id"],
        "type": TWIN + "Create",
        "source": "localhost",
        "subject": "room1",
        "time": document["$metadata"]["$lastUpdateTime"],
        "datacontenttype": "application/json",
        "data": document,
    }
    assert event.key == "room1"


def test_a_patch_is_told_as_it_was_sent_with_what_was_there_before(world: Any) -> None:
    world.put("room1", temperature=21.5)
    patch = [
        {"op": "replace", "path": "/temperature", "value": 31.5},
        {"op": "add", "path": "/name", "value": "Lobby"},
        {"op": "add", "path": "/thermostat/setPoint", "value": 20.0},
        {"op": "remove", "path": "/name"},
    ]
    world.patch("room1", *patch)
    event = last(world)
    assert event.type == TWIN + "Update"
    assert event.data == {
        "modelId": ROOM,
        "patch": [
            {"value": 31.5, "path": "/temperature", "op": "replace"},
            {"value": "Lobby", "path": "/name", "op": "add"},
            {"value": 20.0, "path": "/thermostat/setPoint", "op": "add"},
            {"path": "/name", "op": "remove"},
        ],
    }
    assert [repr(change.old) for change in event.changes] == ["21.5", "ABSENT", "ABSENT", "ABSENT"]
    assert b"\n" not in event.wire


def measure_last(world: Any) -> int:
    session = world.store.session()
    try:
        return len(session.read_events(after=0, limit=999)[-1][1].body)
    finally:
        session.close()


def test_the_event_of_a_patch_keeps_what_was_there_before_once(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many operations there are: else 1.4 KB made the files grow by 61 MB."""
    monkeypatch.setattr(differences, "getrandbits", lambda _: 1)  # one in 128 is whole
    world.put("room1", name="x" * 50_000, temperature=1.0)
    patch = [{"op": "add", "path": "/name", "value": f"n{at}"} for at in range(200)]
    world.patch("room1", *patch)
    assert [change.old for change in last(world).changes] == ["x" * 50_000] * 200
    assert measure_last(world) < 50_000 + 200 * 60


def test_what_was_below_a_path_is_told_from_the_value_above_it(world: Any) -> None:
    world.put("room1", thermostat={"$metadata": {}, "setPoint": 5.0})
    part = {"$metadata": {}, "setPoint": 9.0}
    world.patch(
        "room1",
        {"op": "replace", "path": "/thermostat/setPoint", "value": 6.0},
        {"op": "replace", "path": "/thermostat", "value": part},
        {"op": "remove", "path": "/thermostat/setPoint"},
    )
    below, whole, gone = (change.old for change in last(world).changes)
    assert (below, gone) == (5.0, 5.0)
    assert whole["setPoint"] == 5.0
    assert measure_last(world) < 1000


def test_an_event_of_before_gives_each_operation_its_own_value() -> None:
    """Those that wait in the outbox when the service is brought to a new release."""
    wire = (
        b'{"type":"Microsoft.DigitalTwins.Twin.Update","data":{"modelId":"m","patch":['
        b'{"value":2,"path":"/a","op":"replace"},{"path":"/a","op":"remove"}]}}'
    )
    event = Event(1, "room1", wire + b'\n{"old":[[1],[]]}')
    assert [repr(change.old) for change in event.changes] == ["1", "ABSENT"]


def test_a_replaced_twin_is_told_as_the_patch_it_comes_to(world: Any) -> None:
    thermostat = {"$metadata": {}, "setPoint": 20.0, "mode": "auto"}
    world.put("room1", temperature=21.5, name="Lobby", thermostat=thermostat)
    thermostat = {"$metadata": {}, "setPoint": 22.0, "mode": "auto"}
    world.put("room1", temperature=21.5, area=4.0, thermostat=thermostat)
    event = last(world)
    assert event.type == TWIN + "Update"
    assert event.data["patch"] == [
        {"value": 4.0, "path": "/area", "op": "add"},
        {"value": 22.0, "path": "/thermostat/setPoint", "op": "replace"},
        {"path": "/name", "op": "remove"},
    ]
    world.put("room1", SENSOR, serial="s")
    moved = last(world)
    assert moved.data["modelId"] == SENSOR
    assert {"value": SENSOR, "path": "/$metadata/$model", "op": "replace"} in moved.data["patch"]
    assert moved.changes[0].old == ROOM


def test_a_component_is_told_as_a_change_of_its_twin(world: Any) -> None:
    world.put("room1")
    patch = [{"op": "add", "path": "/setPoint", "value": 20.0}]
    world.do(world.graph.components.patch_component("room1", "thermostat", patch))
    assert last(world).data["patch"][0]["path"] == "/thermostat/setPoint"


def test_a_deleted_twin_is_told_with_its_last_document(world: Any) -> None:
    document = world.put("room1", temperature=21.5)
    world.do(world.graph.twins.delete_twin("room1"))
    event = last(world)
    assert (event.type, event.data) == (TWIN + "Delete", document)


def test_relationships_are_told_under_their_source_twin(world: Any) -> None:
    for twin_id in ("a", "b", "c"):
        world.put(twin_id)
    created = world.relate("a", "r1", "b")
    world.relate("a", "r1", "c")
    world.do(world.graph.relationships.delete_relationship("a", "r1"))
    events = read_events(world)[3:]
    assert [event.type.removeprefix(RELATIONSHIP) for event in events] == [
        "Create", "Delete", "Create", "Delete",
    ]  # fmt: skip
    assert {event.document["subject"] for event in events} == {"a/relationships/r1"}
    assert {event.key for event in events} == {"a"}
    assert {event.model_id for event in events} == {ROOM}
    assert events[0].data == events[1].data == created
    assert events[2].data["$targetId"] == "c"


def test_a_changed_relationship_is_told_with_its_patch(world: Any) -> None:
    world.put("a")
    world.put("s", SENSOR)
    world.relate("a", "r1", "s", "watchedBy", since="2024-01-01")
    patch = [{"op": "replace", "path": "/since", "value": "2024-02-01"}]
    world.do(world.graph.relationships.patch_relationship("a", "r1", patch))
    event = last(world)
    assert event.type == RELATIONSHIP + "Update"
    assert event.data == {
        "modelId": ROOM,
        "patch": [{"value": "2024-02-01", "path": "/since", "op": "replace"}],
    }
    assert event.changes[0].old == "2024-01-01"
    world.relate("a", "r1", "s", "watchedBy")
    assert last(world).data["patch"] == [{"path": "/since", "op": "remove"}]


def test_rows_of_a_changed_relationship_name_its_target(world: Any) -> None:
    world.put("a")
    world.put("s", SENSOR)
    world.relate("a", "r1", "s", "watchedBy", since="2024-01-01")
    patch = [{"op": "replace", "path": "/since", "value": "2024-02-01"}]
    world.do(world.graph.relationships.patch_relationship("a", "r1", patch))
    world.relate("a", "r1", "s", "watchedBy", since="2024-03-01")
    rows = [
        orjson.loads(row)
        for event in read_events(world)[-2:]
        for row in render_history(event, build_table_rows(event))
    ]
    assert [(row["data"]["value"], row["data"]["relationshipTarget"]) for row in rows] == [
        ("2024-02-01", "s"),
        ("2024-03-01", "s"),
    ]


def test_a_replacement_sets_the_times_of_sources_that_came_with_it(world: Any) -> None:
    def put(value: float, time: str | None = None) -> list[Any]:
        times = {} if time is None else {"sourceTime": time}
        part = {"$metadata": {"setPoint": times}, "setPoint": value}
        metadata = {"$model": ROOM, "temperature": times}
        document = {"$metadata": metadata, "temperature": value, "thermostat": part}
        world.do(world.graph.twins.put_twin("a", document))
        return [row.values[1] for row in build_table_rows(last(world)) if len(row.values) > 9]

    first, second = "2024-01-31T12:00:00Z", "2024-01-31T13:00:00Z"
    assert put(20, first) == [first, first]
    assert put(21, second) == [second, second]
    assert put(22, second) == [second, second]
    assert put(23) == [None, None]


def test_a_twin_that_goes_with_its_relationships_tells_of_each(world: Any) -> None:
    world.put("a")
    world.put("b")
    world.relate("a", "r1", "b")
    world.relate("b", "r2", "a")
    before = len(read_events(world))
    world.do(Removal(world.graph.twins._context).remove_twin("a"))
    types = [event.type for event in read_events(world)[before:]]
    assert types == [RELATIONSHIP + "Delete", RELATIONSHIP + "Delete", TWIN + "Delete"]


def test_telemetry_is_told_unchanged_under_its_own_id(world: Any) -> None:
    world.put("a b")
    publish = world.graph.telemetry.publish
    world.do(publish("a b", None, {"motion": True}, "m-1", "2024-01-31T12:00:00.5Z"))
    world.do(publish("a b", "thermostat", {"heat": 1}, "m-2", "01/01/01"))
    of_twin, of_part = read_events(world)[1:]
    assert of_twin.document == {
        "specversion": "1.0",
        "id": "m-1",
        "type": "microsoft.iot.telemetry",
        "source": "localhost/digitaltwins/a%20b",
        "time": "2024-01-31T12:00:00.5Z",
        "dataschema": ROOM,
        "datacontenttype": "application/json",
        "data": {"motion": True},
    }
    assert of_part.document["subject"] == "thermostat"
    assert of_part.document["dataschema"] == THERMOSTAT
    assert (of_twin.model_id, of_part.model_id) == (ROOM, ROOM)
    assert of_part.document["time"] != "01/01/01"
    assert of_part.key == "a b"


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("2024-01-31T12:00:00+01:00", "2024-01-31T12:00:00+01:00"),
        ("2024-01-31T12:00:00.123456789-0130", "2024-01-31T12:00:00.123456789-01:30"),
        ("2024-02-31T12:00:00Z", None),
        ("2024-01-31T12:00:60Z", None),
    ],
)
def test_the_time_of_telemetry_is_one_that_receivers_read(
    world: Any, sent: str, told: str | None
) -> None:
    world.put("a")
    world.do(world.graph.telemetry.publish("a", None, {}, "m", sent))
    time = last(world).document["time"]
    assert time == told or (told is None and time != sent)


def test_the_model_of_a_component_is_left_out_where_it_is_not_known_any_more(world: Any) -> None:
    world.put("a")
    world.do(world.graph.models.delete_all_models())
    world.do(world.graph.telemetry.publish("a", "thermostat", {"heat": 1}, "m"))
    world.do(world.graph.telemetry.publish("a", None, {"heat": 1}, "m"))
    of_part, of_twin = read_events(world)[-2:]
    assert "dataschema" not in of_part.document
    assert of_part.model_id == of_twin.document["dataschema"] == ROOM


def test_models_are_told_when_they_come_change_and_go(world: Any) -> None:
    model_id = "dtmi:test:Lamp;1"
    models = world.graph.models
    (data,) = world.do(models.create_models([build_interface(model_id)]))
    world.do(models.decommission_model(
        model_id, [{"op": "replace", "path": "/decommissioned", "value": True}]
    ))  # fmt: skip
    world.do(models.delete_model(model_id))
    events = [event for event in read_events(world, skip="-") if event.model_id == model_id]
    assert [event.type for event in events] == [
        "Twinframe.Model.Create", "Twinframe.Model.Decommission", "Twinframe.Model.Delete",
    ]  # fmt: skip
    assert events[0].data == orjson.loads(data)
    assert [event.data["decommissioned"] for event in events] == [False, True, True]
    before = len(read_events(world, skip="-"))
    world.do(models.delete_all_models())
    gone = read_events(world, skip="-")[before:]
    assert len(gone) > 3
    assert {event.type for event in gone} == {"Twinframe.Model.Delete"}


def test_a_refused_write_leaves_no_event(world: Any) -> None:
    world.put("a", temperature=21.5)
    before = len(read_events(world, skip="-"))
    twins, relationships = world.graph.twins, world.graph.relationships
    patch = [{"op": "replace", "path": "/temperature", "value": "warm"}]
    for refused in (
        twins.put_twin("b", build_twin_document(ROOM, temperature="warm")),
        twins.put_twin("a", build_twin_document(ROOM), parse_put_condition(None, "*")),
        twins.patch_twin("a", patch),
        twins.patch_twin("a", [], parse_condition('W/"other"')),
        twins.delete_twin("absent"),
        relationships.put_relationship(
            "a", "r", {"$relationshipName": "relatedTo", "$targetId": "x"}
        ),
        world.graph.telemetry.publish("absent", None, {}, "m"),
        world.graph.models.create_models([build_interface(ROOM)]),
        world.graph.models.delete_model("dtmi:test:Absent;1"),
    ):
        with pytest.raises(TwinframeError):
            world.do(refused)
    assert len(read_events(world, skip="-")) == before


def test_without_events_none_are_kept(world: Any) -> None:
    before = len(read_events(world, skip="-"))
    settings = Settings(events=EventsSettings(enabled=False))
    graph = Graph(InlineRunner(world.store), settings)
    world.do(graph.twins.put_twin("a", build_twin_document(ROOM)))
    world.do(graph.telemetry.publish("a", None, {}, "m"))
    world.do(graph.models.create_models([build_interface("dtmi:test:Lamp;1")]))
    assert len(read_events(world, skip="-")) == before


def test_the_source_is_the_host_that_is_set(world: Any) -> None:
    for settings, host, source in (
        (Settings(events=EventsSettings(source="twins.example")), None, "twins.example"),
        (
            Settings.model_validate({"Server": {"PublicUrl": "https://a.example"}}),
            None,
            "a.example",
        ),
        (Settings(), "g1.twins.example", "g1.twins.example"),
    ):
        graph = Graph(InlineRunner(world.store), settings, host=host)
        world.do(graph.twins.put_twin("a", build_twin_document(ROOM)))
        assert last(world).document["source"] == source
