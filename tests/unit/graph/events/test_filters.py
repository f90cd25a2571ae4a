"""Filters of event routes: what they pass, and what they say of a text that is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.graph.events.event_samples import (
    Ancestors,
    build_lifecycle,
    build_relationship,
    build_telemetry,
    build_update,
    replace,
)
from twinframe.errors import EventRouteFilterInvalid
from twinframe.graph.events.envelope import EventType
from twinframe.graph.events.event import Event
from twinframe.graph.events.filters import Filter, build_filter

CREATED = build_lifecycle(temperature=21.5, name="Lobby", flags=[1, "x"], tags={"a": {"b": 1}})
DELETED = build_lifecycle(EventType.TWIN_DELETE, temperature=21.5)
UPDATED = build_update(
    {"temperature": 21.5, "thermostat": {"setPoint": 20}},
    replace("/temperature", 31.5),
    replace("/thermostat/setPoint", 25),
)
RELATED = build_relationship()
MEASURED = build_telemetry({"heat": 4, "on": True})


# SPEC: the filter of the vendor's recordings.
RECORDED = (
    "$eventType = 'DigitalTwinTelemetryMessages' or $eventType = 'DigitalTwinLifecycleNotification'"
)


def passes(text: str, event: Event) -> bool:
    return build_filter(text).passes(event, Ancestors())


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("true", [CREATED, DELETED, UPDATED, RELATED, MEASURED]),
        ("false", []),
        ("TRUE AND NOT false", [CREATED, DELETED, UPDATED, RELATED, MEASURED]),
        ("type = 'Microsoft.DigitalTwins.Twin.Create'", [CREATED]),
        ("TYPE = 'microsoft.digitaltwins.twin.create'", []),
        ("STARTS_WITH(type, 'Microsoft.DigitalTwins.Twin.')", [CREATED, DELETED, UPDATED]),
        ("ENDS_WITH(type, '.Create')", [CREATED, RELATED]),
        ("CONTAINS(subject, 'relationships')", [RELATED]),
        ("type = 'microsoft.iot.telemetry' AND $body.heat > 3", [MEASURED]),
        ("$body.temperature = 21.5", [CREATED, DELETED]),
        ("$body.tags.a.b = 1", [CREATED]),
        ("$body.[[name]] IN ['Lobby', 'Hall']", [CREATED]),
        ("$body.heat NIN [1, 2]", [MEASURED]),
        (f"$body.heat < 1{'0' * 19}", [MEASURED]),
        (f"$body.heat > -1{'0' * 300} AND $body.heat < 1{'0' * 300}", [MEASURED]),
        ("$body.temperature != 4", [CREATED, DELETED]),
        ("NOT $body.temperature = 4", [CREATED, DELETED, UPDATED, RELATED, MEASURED]),
        ("$body.on = true", [MEASURED]),
        ("$body.on = 1", []),
        ("$body.name > 5", []),
        ("$body.name >= 'L'", [CREATED]),
        ("dataschema = 'dtmi:example:Room;1'", [MEASURED]),
        ("IS_DEFINED($body.name) OR IS_DEFINED(dataschema)", [CREATED, MEASURED]),
        ("ARRAY_CONTAINS($body.flags, 'x')", [CREATED]),
        ("$body.modelId = 'dtmi:example:Room;1'", [UPDATED]),
        ("source = 'host' AND specversion = '1.0'", [CREATED, DELETED, UPDATED, RELATED]),
        (
            RECORDED,
            [CREATED, DELETED, MEASURED],
        ),
        ("IS_OF_MODEL('dtmi:example:Room;1')", [CREATED, DELETED, UPDATED, RELATED, MEASURED]),
        ("IS_OF_MODEL('dtmi:example:Space;1')", [CREATED, DELETED, UPDATED, RELATED, MEASURED]),
        ("IS_OF_MODEL('dtmi:example:Space;1', exact)", []),
        ("is_of_model('dtmi:example:Room;2')", []),
        ("CHANGED(temperature)", [CREATED, DELETED, UPDATED]),
        ("CHANGED(thermostat)", [UPDATED]),
        ("CHANGED(thermostat.setPoint)", [UPDATED]),
        ("CHANGED(thermostat.mode)", []),
        ("OLD(temperature) = 21.5", [DELETED, UPDATED]),
        ("NEW(temperature) > 21", [CREATED, UPDATED]),
        ("NEW(temperature) > OLD(temperature)", [UPDATED]),
        ("CROSSED_ABOVE(temperature, 30)", [UPDATED]),
        ("CROSSED_ABOVE(temperature, 20)", [CREATED]),
        ("CROSSED_BELOW(temperature, 30)", [CREATED]),
        ("CROSSED(temperature, 30)", [UPDATED]),
        ("CROSSED(temperature, -30)", []),
    ],
)
def test_a_filter_passes_just_the_events_it_means(text: str, passed: list[Event]) -> None:
    events = [CREATED, DELETED, UPDATED, RELATED, MEASURED]
    assert [event for event in events if passes(text, event)] == passed


@pytest.mark.parametrize("index", ["9" * 19, "9" * 5000])
def test_an_index_of_thousands_of_digits_is_not_there(index: str) -> None:
    assert not passes(f"$body.flags.[[{index}]] = 1", CREATED)
    assert passes("$body.flags.[[0]] = 1", CREATED)


@pytest.mark.parametrize(
    ("old", "new", "crossed"),
    [
        (29, 31, {"CROSSED", "CROSSED_ABOVE"}),
        (30, 31, {"CROSSED", "CROSSED_ABOVE"}),
        (31, 32, set()),
        (29, 30, set()),
        (31, 29, {"CROSSED", "CROSSED_BELOW"}),
        (30, 30, set()),
        (None, 31, {"CROSSED_ABOVE"}),
        (None, 29, {"CROSSED_BELOW"}),
        ("40", 31, {"CROSSED_ABOVE"}),
        (29, "31", set()),
        (True, 31, {"CROSSED_ABOVE"}),
    ],
)
def test_a_threshold_is_crossed_once_and_not_by_staying_beyond(
    old: Any, new: Any, crossed: set[str]
) -> None:
    before = {} if old is None else {"t": old}
    event = build_update(before, {"op": "add", "path": "/t", "value": new})
    names = ("CROSSED", "CROSSED_ABOVE", "CROSSED_BELOW")
    assert {name for name in names if passes(f"{name}(t, 30)", event)} == crossed


def test_a_whole_object_that_is_put_changes_what_differs_below_it() -> None:
    event = build_update({"o": {"a": 1, "b": 2}}, replace("/o", {"a": 1, "b": 3}))
    assert passes("CHANGED(o) AND CHANGED(o.b) AND NOT CHANGED(o.a)", event)
    assert passes("OLD(o.b) = 2 AND NEW(o.b) = 3 AND CROSSED_ABOVE(o.b, 2.5)", event)


def test_a_value_that_is_set_to_what_it_was_has_not_changed() -> None:
    event = build_update({"t": 1}, replace("/t", 1))
    assert not passes("CHANGED(t)", event)
    assert passes("CHANGED(t)", build_update({"t": 1}, replace("/t", 1.5)))
    assert passes("CHANGED(t)", build_update({"t": 1}, {"op": "remove", "path": "/t"}))


def test_of_several_operations_at_a_path_the_first_knows_before_and_the_last_after() -> None:
    event = build_update({"t": 1}, replace("/t", 2), replace("/t", 3))
    assert passes("OLD(t) = 1 AND NEW(t) = 3", event)
    event = build_update({"o": {"a": 1}}, replace("/o", {"a": 2}), replace("/o/a", 3))
    assert passes("OLD(o.a) = 1 AND NEW(o.a) = 3 AND NOT IS_DEFINED(NEW(o))", event)


def test_a_move_to_another_model_can_be_asked_for() -> None:
    before = {"$metadata": {"$model": "dtmi:example:Room;1"}}
    move = replace("/$metadata/$model", "dtmi:example:Room;2")
    event = build_update(before, move, model="dtmi:example:Room;2")
    assert passes("CHANGED($metadata.$model) AND OLD($metadata.$model) != 'x'", event)


@pytest.mark.parametrize(
    ("text", "line", "position", "message"),
    [
        # SPEC: the vendor's answer to this filter is recorded.
        ("type is 'x'", 1, 5, "Unexpected input 'is'"),
        ("", 1, 0, "empty"),
        ("type = ", 1, 7, "the end of the filter"),
        ("type = 'x' AND\n  AND", 2, 2, "Unexpected input 'AND'"),
        ("temperature > 5", 1, 0, r"\$body.temperature"),
        ("tpye = 'x'", 1, 0, r"as \$body.tpye; did you mean 'type'\?$"),
        ("CHANGD(x)", 1, 0, "did you mean 'CHANGED'"),
        ("CHANGED('x')", 1, 8, "the name of a property"),
        ("CROSSED(x, 'y')", 1, 11, "a number"),
        ("IS_OF_MODEL(Room)", 1, 12, "a model id in quotes"),
        ("IS_OF_MODEL('a', almost)", 1, 17, "exact"),
        ("true AND IS_OF_MODEL('Room', exact)", 1, 21, "'Room' is no model id, such as"),
        (f"IS_OF_MODEL('dtmi:a;{'9' * 5000}')", 1, 12, "no model id"),
        ("$body.x = 'open", 1, 10, "never closed"),
        ("true true", 1, 5, "the end"),
        ("type", 1, 4, "expected one of ="),
        ("($body.x = 1", 1, 12, r"'\)'"),
        ("$body.x IN []", 1, 12, "Unexpected input ']'"),
        ("$body..x = 1", 1, 5, "Unexpected"),
        ("true OR " * 600 + "true", 1, None, "too large"),
        ("$body.x = 1e999", 1, 10, "too large for a double"),
        (f"$body.x = {'9' * 310}", 1, 10, "too large for a double"),
        ("(" * 99 + "true" + ")" * 99, 1, 32, "of a filter go at most 32 levels deep$"),
        ("NOT " * 99 + "true", 1, None, "of a filter go at most 32 levels deep$"),
    ],
)
def test_what_is_no_filter_is_refused_with_its_place(
    text: str, line: int, position: int | None, message: str
) -> None:
    with pytest.raises(EventRouteFilterInvalid, match=message) as caught:
        build_filter(text)
    assert caught.value.line == line
    if position is not None:
        assert caught.value.position == position
        assert f"Line={line}, Position={position}, " in caught.value.message


WORDS = """type $body . = != < ( ) [ ] AND OR NOT IN , 'x' 5 - true CHANGED OLD CROSSED_ABOVE
IS_OF_MODEL STARTS_WITH a [[b]] 'dtmi:x;1' exact"""
words = st.sampled_from(WORDS.split())


@given(st.lists(words, max_size=14).map(" ".join) | st.text(max_size=40))
def test_any_text_is_a_filter_or_refused_with_a_place_in_it(text: str) -> None:
    found, refused = try_filter(text)
    if found is None:
        assert refused is not None
        assert refused.line >= 1
        assert 0 <= refused.position <= len(text)
        return
    for event in (CREATED, DELETED, UPDATED, RELATED, MEASURED):
        assert found.passes(event, Ancestors()) in (True, False)


def try_filter(text: str) -> tuple[Filter | None, EventRouteFilterInvalid | None]:
    try:
        return build_filter(text), None
    except EventRouteFilterInvalid as error:
        return None, error
