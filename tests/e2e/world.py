"""A small world of models that each SDK test makes for itself under ids of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """Ids of one set of models: a building with rooms, a room with a component, a thing."""

    building: str
    room: str
    climate: str

    @classmethod
    def named(cls, unique: Callable[[str], str]) -> World:
        """Ids that no other test uses."""
        stem = unique("t")
        return cls(
            f"dtmi:com:example:{stem}:Building;1",
            f"dtmi:com:example:{stem}:Room;1",
            f"dtmi:com:example:{stem}:Climate;1",
        )

    def models(self) -> list[Json]:
        """The documents, dependants before what they depend on."""
        return [
            {
                "@context": "dtmi:dtdl:context;2",
                "@id": self.building,
                "@type": "Interface",
                "displayName": "Building",
                "contents": [
                    {"@type": "Property", "name": "AverageTemperature", "schema": "double"},
                    {"@type": "Property", "name": "TemperatureUnit", "schema": "string"},
                    {
                        "@type": "Relationship",
                        "name": "has",
                        "target": self.room,
                        "properties": [
                            {"@type": "Property", "name": "isAccessRestricted", "schema": "boolean"}
                        ],
                    },
                    {"@type": "Relationship", "name": "knows"},
                ],
            },
            {
                "@context": "dtmi:dtdl:context;2",
                "@id": self.room,
                "@type": "Interface",
                "displayName": {"en": "Room", "de": "Raum"},
                "description": "An enclosure inside a building.",
                "contents": [
                    {"@type": "Property", "name": "Capacity", "schema": "integer"},
                    {"@type": "Telemetry", "name": "Humidity", "schema": "double"},
                    {"@type": "Component", "name": "Climate", "schema": self.climate},
                ],
            },
            {
                "@context": "dtmi:dtdl:context;2",
                "@id": self.climate,
                "@type": "Interface",
                "contents": [
                    {"@type": "Property", "name": "Mode", "schema": "string"},
                    {"@type": "Property", "name": "Setpoint", "schema": "double"},
                    {"@type": "Telemetry", "name": "Reading", "schema": "double"},
                ],
            },
        ]

    def building_twin(self, **contents: object) -> Json:
        """The body of a building's PUT."""
        return {
            "$metadata": {"$model": self.building},
            "AverageTemperature": 68,
            "TemperatureUnit": "Celsius",
            **contents,
        }

    def room_twin(self, **contents: object) -> Json:
        """The body of a room's PUT."""
        return {
            "$metadata": {"$model": self.room},
            "Capacity": 4,
            "Climate": {"$metadata": {}, "Mode": "auto", "Setpoint": 21.5},
            **contents,
        }
