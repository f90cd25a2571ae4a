"""Factories of small stored records and a small building in DTDL, for tests."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TypeAlias

import orjson

from twinframe.model.values import JsonValue
from twinframe.storage.base import ModelRecord, RelationshipRecord, TwinRecord

JsonObject: TypeAlias = dict[str, JsonValue]

UPLOAD_TIME = "2024-01-01T00:00:00.0000000+00:00"
CONTEXT = "dtmi:dtdl:context;3"


# --- records, for storage tests -----------------------------------------------------------------


def build_etag() -> str:
    """A new etag in the wire's form."""
    return f'W/"{uuid.uuid4()}"'


def build_model_id(name: str, version: int = 1) -> str:
    """`dtmi:test:<name>;<version>`."""
    return f"dtmi:test:{name};{version}"


def build_twin_record(twin_id: str, model: str = "Thing", **members: JsonValue) -> TwinRecord:
    """A twin of `dtmi:test:<model>;1` with these members."""
    etag, model_id = build_etag(), build_model_id(model)
    document: JsonObject = {
        "$dtId": twin_id,
        "$etag": etag,
        **members,
        "$metadata": {"$model": model_id},
    }
    return TwinRecord(twin_id, model_id, etag, orjson.dumps(document))


def build_relationship_record(
    source_id: str, relationship_id: str, target_id: str, name: str = "has", **members: JsonValue
) -> RelationshipRecord:
    """A relationship with these members."""
    etag = build_etag()
    document: JsonObject = {
        "$relationshipId": relationship_id,
        "$etag": etag,
        "$sourceId": source_id,
        "$relationshipName": name,
        "$targetId": target_id,
        **members,
    }
    body = orjson.dumps(document)
    return RelationshipRecord(source_id, relationship_id, name, target_id, etag, body)


def build_model_record(
    name: str, *, extends: Sequence[str] = (), components: Sequence[str] = ()
) -> ModelRecord:
    """The model `dtmi:test:<name>;1`; `extends` and `components` are names too."""
    model_id = build_model_id(name)
    document: JsonObject = {
        "@id": model_id,
        "@type": "Interface",
        "@context": CONTEXT,
        "extends": [build_model_id(parent) for parent in extends],
        "contents": [
            {"@type": "Component", "name": f"part{at}", "schema": build_model_id(component)}
            for at, component in enumerate(components)
        ],
    }
    return ModelRecord(
        model_id=model_id,
        document=orjson.dumps(document),
        display_name=orjson.dumps({"en": name}),
        description=b"{}",
        extends=tuple(build_model_id(parent) for parent in extends),
        components=tuple(build_model_id(component) for component in components),
        upload_time=UPLOAD_TIME,
    )


# --- a building, for use cases --------------------------------------------------------------------

SPACE = "dtmi:com:example:Space;1"
BUILDING = "dtmi:com:example:Building;1"
FLOOR = "dtmi:com:example:Floor;1"
ROOM = "dtmi:com:example:Room;1"
THERMOSTAT = "dtmi:com:example:Thermostat;1"
SENSOR = "dtmi:com:example:Sensor;1"


def build_property(name: str, schema: JsonValue) -> JsonObject:
    """A DTDL Property."""
    return {"@type": "Property", "name": name, "schema": schema}


def build_interface(
    model_id: str, contents: Sequence[JsonValue] = (), *, extends: Sequence[str] = ()
) -> JsonObject:
    """A DTDL v3 Interface; its display name is the last segment of its id."""
    interface: JsonObject = {
        "@id": model_id,
        "@type": "Interface",
        "@context": CONTEXT,
        "displayName": model_id.partition(";")[0].rpartition(":")[2],
    }
    if extends:
        interface["extends"] = list(extends)
    if contents:
        interface["contents"] = list(contents)
    return interface


def build_building_interfaces() -> list[JsonObject]:
    """Space with subtypes Building, Floor and Room; Room has a Thermostat; Sensors watch spaces."""
    address: JsonObject = {
        "@type": "Object",
        "fields": [{"name": "city", "schema": "string"}, {"name": "zip", "schema": "string"}],
    }
    tags: JsonObject = {
        "@type": "Map",
        "mapKey": {"name": "key", "schema": "string"},
        "mapValue": {"name": "value", "schema": "string"},
    }
    return [
        build_interface(
            SPACE,
            [
                build_property("name", "string"),
                build_property("area", "double"),
                build_property("tags", tags),
                {"@type": "Relationship", "name": "hasPart", "target": SPACE},
            ],
        ),
        build_interface(BUILDING, [build_property("address", address)], extends=[SPACE]),
        build_interface(FLOOR, [build_property("level", "integer")], extends=[SPACE]),
        build_interface(
            ROOM,
            [
                build_property("temperature", "double"),
                build_property("readings", {"@type": "Array", "elementSchema": "double"}),
                {"@type": "Component", "name": "thermostat", "schema": THERMOSTAT},
                {"@type": "Telemetry", "name": "motion", "schema": "boolean"},
                {
                    "@type": "Relationship",
                    "name": "watchedBy",
                    "target": SENSOR,
                    "properties": [build_property("since", "date")],
                },
                {"@type": "Relationship", "name": "relatedTo"},
            ],
            extends=[SPACE],
        ),
        build_interface(
            THERMOSTAT,
            [
                build_property("setPoint", "double"),
                build_property("mode", "string"),
                {"@type": "Telemetry", "name": "heat", "schema": "double"},
            ],
        ),
        build_interface(SENSOR, [build_property("serial", "string")]),
    ]


def build_twin_document(model_id: str, **members: JsonValue) -> JsonObject:
    """The body of a PUT of a twin; a Room gets its thermostat unless it is given."""
    document: JsonObject = {"$metadata": {"$model": model_id}}
    if model_id == ROOM:
        document["thermostat"] = {"$metadata": {}}
    return {**document, **members}
