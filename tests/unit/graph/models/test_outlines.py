"""Outlines of models: what they read out of documents in all the forms that DTDL allows."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.graph.models.outlines import Outlines, read_outlines, render_schema
from twinframe.testing.factories import ROOM, SPACE, THERMOSTAT, build_interface


def read(world: Any) -> Outlines:
    found: Outlines = world.do(world.graph.overview.read_outlines())
    return found


def test_an_interface_is_outlined_with_what_it_defines_itself(world: Any) -> None:
    room = read(world).interfaces[ROOM]
    assert [str(one) for one in room.properties] == ["temperature double", "readings [double]"]
    assert room.extends == (SPACE,)
    assert [(one.name, one.interface) for one in room.components] == [("thermostat", THERMOSTAT)]
    assert [one.name for one in room.relationships] == ["watchedBy", "relatedTo"]
    assert [str(one) for one in room.relationships[0].properties] == ["since date"]
    assert room.telemetry == ("motion",)
    assert read(world).list_ancestors(ROOM) == (ROOM, SPACE)


def test_outlines_are_kept_until_a_model_changes(world: Any) -> None:
    first = read(world)
    assert read(world) is first
    world.do(world.graph.models.create_models([build_interface("dtmi:x:Y;1")]))
    assert "dtmi:x:Y;1" in read(world).interfaces


def test_units_languages_and_named_schemas_are_read(world: Any) -> None:
    model: Any = {
        "@context": ["dtmi:dtdl:context;3", "dtmi:dtdl:extension:quantitativeTypes;1"],
        "@id": "dtmi:x:Heater;1",
        "@type": "Interface",
        "displayName": {"de": "Heizung", "en": "Heater"},
        "schemas": [
            {
                "@id": "dtmi:x:Heater:Level;1",
                "@type": "Enum",
                "valueSchema": "integer",
                "enumValues": [{"name": "low", "enumValue": 1}, {"name": "high", "enumValue": 2}],
            }
        ],
        "contents": [
            {
                "@type": ["Property", "Temperature"],
                "name": "supply",
                "schema": "double",
                "unit": "degreeCelsius",
            },
            {"@type": "Property", "name": "level", "schema": "dtmi:x:Heater:Level;1"},
        ],
    }
    world.do(world.graph.models.create_models([model]))
    heater = read(world).interfaces["dtmi:x:Heater;1"]
    assert heater.display_name == "Heater"
    assert [str(one) for one in heater.properties] == [
        "supply double degreeCelsius",
        "level enum(1|2)",
    ]


def test_a_name_of_two_interfaces_is_no_label_of_one(world: Any) -> None:
    assert read(world).render_label(ROOM) == "Room"
    world.do(world.graph.models.create_models([build_interface("dtmi:com:example:Room;2")]))
    assert read(world).render_label(ROOM) == f"`{ROOM}`"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("double", "double"),
        ("dtmi:dtdl:instance:Schema:double;2", "double"),
        ({"@type": "Array", "elementSchema": "string"}, "[string]"),
        ({"@type": "Map", "mapValue": {"name": "v", "schema": "long"}}, "map(long)"),
        ({"@type": "Object", "fields": [{"name": "a", "schema": "date"}]}, "{a: date}"),
        (
            {"@type": "Enum", "enumValues": [{"enumValue": str(n)} for n in range(9)]},
            "enum(0|1|2|3|4|5|6|7|…)",
        ),
        (None, "any"),
        ({"@type": "Other"}, "any"),
    ],
)
def test_a_schema_is_short_text(schema: Any, text: str) -> None:
    assert render_schema(schema) == text


def test_a_deep_object_is_cut(world: Any) -> None:
    deep: Any = "double"
    for _ in range(5):
        deep = {"@type": "Object", "fields": [{"name": "a", "schema": deep}]}
    assert render_schema(deep) == "{a: {a: object}}"
    assert read_outlines(world.store.session()).version >= 0
