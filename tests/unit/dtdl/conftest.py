"""Model documents that the tests of the modelling language share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dtdl.documents import model
from twinframe.dtdl import ModelSet, TwinValidator, compile_validator, parse_models


@pytest.fixture(scope="session")
def building() -> ModelSet:
    """A room with a sensor component, a base with an enum, nested schemas and relationships."""
    space = model(
        "Space",
        [
            {"@type": "Property", "name": "label", "schema": "string"},
            {"@type": "Property", "name": "kind", "schema": ENUM},
            {
                "@type": "Relationship",
                "name": "contains",
                "target": "dtmi:com:example:Nowhere;1",
                "maxMultiplicity": 5,
                "properties": [{"@type": "Property", "name": "since", "schema": "date"}],
            },
            {"@type": "Command", "name": "clean"},
        ],
    )
    sensor = model("Sensor", [{"@type": "Property", "name": "unitName", "schema": "string"}])
    room = model(
        "Room",
        [
            {"@type": "Property", "name": "area", "schema": "double", "writable": True},
            {"@type": "Property", "name": "seats", "schema": "integer"},
            {"@type": "Property", "name": "layout", "schema": LAYOUT},
            {"@type": "Telemetry", "name": "noise", "schema": "double"},
            {"@type": "Component", "name": "sensor", "schema": "dtmi:com:example:Sensor;1"},
        ],
        extends="dtmi:com:example:Space;1",
    )
    return parse_models([room, space, sensor])


@pytest.fixture(scope="session")
def room(building: ModelSet) -> TwinValidator:
    """The validator of the room."""
    interfaces = building.interfaces
    return compile_validator(interfaces["dtmi:com:example:Room;1"], interfaces.__getitem__)


ENUM: dict[str, Any] = {
    "@type": "Enum",
    "valueSchema": "integer",
    "enumValues": [{"name": "office", "enumValue": 1}, {"name": "lab", "enumValue": 2}],
}
LAYOUT: dict[str, Any] = {
    "@type": "Object",
    "fields": [
        {"name": "doors", "schema": {"@type": "Array", "elementSchema": "string"}},
        {
            "name": "walls",
            "schema": {
                "@type": "Map",
                "mapKey": {"name": "side", "schema": "string"},
                "mapValue": {"name": "length", "schema": "double"},
            },
        },
    ],
}
