"""Compares the object model with the parsed elements that a reference case expects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from twinframe.dtdl import (
    ArraySchema,
    Command,
    Component,
    Content,
    EnumSchema,
    Interface,
    MapSchema,
    ModelSet,
    ObjectSchema,
    Property,
    Relationship,
    Schema,
    SchemaReference,
    Telemetry,
)

Element = Interface | Content | Schema
Pair = tuple[str, object, object]
"""What is compared, ours and theirs."""

# What a case calls it, and our attribute; compared where both have it.
_PLAIN = {
    "name": "name",
    "writable": "writable",
    "minMultiplicity": "min_multiplicity",
    "maxMultiplicity": "max_multiplicity",
    "target": "target",
    "languageMajorVersion": "language_version",
    "definedIn": "declared_by",
}
_TEXTS = {"displayName": "display_name", "description": "description"}
_KINDS = {
    "properties": Property,
    "telemetries": Telemetry,
    "commands": Command,
    "relationships": Relationship,
    "components": Component,
}
_CLASSES = {
    **{kind.__name__: kind for kind in (Interface, *_KINDS.values())},
    "Array": ArraySchema,
    "Enum": EnumSchema,
    "Map": MapSchema,
    "Object": ObjectSchema,
}
_BESIDE = ("name", "schema", "displayName", "description")
_LAST_NAME = re.compile(r"(\w+)(?:;\d+)?$")


def _parse_last(identifier: str) -> str:
    """Return `metre` of `dtmi:standard:unit:metre;2`."""
    match = _LAST_NAME.search(identifier)
    return match[1] if match else identifier


def index_elements(models: ModelSet) -> Mapping[str, Element]:
    """Return interfaces, contents, properties of relationships and complex schemas by DTMI."""
    known: dict[str, Element] = {}
    schemas: list[Schema] = []
    for interface in models.interfaces.values():
        known[interface.id] = interface
        schemas += interface.schemas.values()
        for content in interface.contents.values():
            known[content.id] = content
            if isinstance(content, Relationship):
                known |= {prop.id: prop for prop in content.properties.values()}
                schemas += [prop.schema for prop in content.properties.values()]
            elif isinstance(content, Property | Telemetry):
                schemas.append(content.schema)
            elif isinstance(content, Command):
                schemas += [p.schema for p in (content.request, content.response) if p is not None]
    while schemas:
        schema = schemas.pop()
        identifier = getattr(schema, "id", "")
        if identifier and identifier not in known and not isinstance(schema, SchemaReference):
            known[identifier] = schema
        schemas += list_parts(schema)
    return known


def list_parts(schema: Schema) -> list[Schema]:
    """Return the schemas directly inside one."""
    match schema:
        case ObjectSchema():
            return list(schema.fields.values())
        case MapSchema():
            return [schema.value]
        case ArraySchema():
            return [schema.element]
        case _:
            return []


def list_wrong_elements(case: Mapping[str, Any], models: ModelSet) -> Iterator[str]:
    """Yield where the object model differs from an element the case expects."""
    known = index_elements(models)
    expected = {wanted["id"]: wanted for wanted in case["expect"]["elements"]}
    for identifier, wanted in expected.items():
        kind = _CLASSES.get(wanted.get("type"))
        if kind is None:
            # NOTE: what else there is, such as fields, is part of an element of these kinds.
            continue
        found = known.get(identifier)
        if not isinstance(found, kind):
            yield f"{identifier} is no {wanted['type']}"
            continue
        for name, ours, theirs in _list_pairs(wanted, found, expected):
            if ours != theirs:
                yield f"{identifier}: {name} is {ours!r}, not {theirs!r}"


def _list_properties(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties an element is expected to have; a few stand beside the others."""
    return {**{n: wanted[n] for n in _BESIDE if n in wanted}, **(wanted.get("properties") or {})}


def _list_pairs(
    wanted: Mapping[str, Any], found: Element, expected: Mapping[str, Any]
) -> Iterator[Pair]:
    properties = _list_properties(wanted)
    for name, attribute in _PLAIN.items():
        # NOTE: the name of an interface is ours, made of its DTMI.
        mine = name == "name" and isinstance(found, Interface)
        if name in properties and hasattr(found, attribute) and not mine:
            yield name, getattr(found, attribute), properties[name]
    for name, attribute in _TEXTS.items():
        if isinstance(properties.get(name), dict) and hasattr(found, attribute):
            yield name, dict(getattr(found, attribute)), properties[name]
    match found:
        case Interface():
            yield from _list_interface(properties, found)
        case Property() | Telemetry():
            yield from _list_value(wanted, properties, found)
        case Component() if "schema" in properties:
            yield "schema", found.schema, properties["schema"]
        case Relationship() if isinstance(properties.get("properties"), list | dict):
            ours = [prop.id for prop in found.properties.values()]
            theirs = properties["properties"]
            yield "properties", ours, list(theirs.values() if isinstance(theirs, dict) else theirs)
        case Command():
            yield from _list_payloads(properties, found, expected)
        case ArraySchema() | EnumSchema() | MapSchema() | ObjectSchema():
            yield from _list_schema(properties, found, expected)
        case _:
            pass
    types = wanted.get("supplementalTypes")
    if types is not None and hasattr(found, "types"):
        yield "types", list(found.types), [_parse_last(text) for text in types]


def _list_interface(properties: Mapping[str, Any], found: Interface) -> Iterator[Pair]:
    contents = found.contents.values()
    if isinstance(properties.get("contents"), dict):
        yield "contents", {c.name: c.id for c in contents}, properties["contents"]
    for name, kind in _KINDS.items():
        if isinstance(properties.get(name), dict):
            ours = {c.name: c.id for c in contents if isinstance(c, kind)}
            yield name, ours, properties[name]
    if isinstance(properties.get("extends"), list):
        yield "extends", list(found.extends), properties["extends"]


def _list_value(
    wanted: Mapping[str, Any], properties: Mapping[str, Any], found: Property | Telemetry
) -> Iterator[Pair]:
    if "schema" in properties:
        yield "schema", *_compare_schemas(found.schema, properties["schema"])
    for name, value in (wanted.get("supplementalProperties") or {}).items():
        if _parse_last(name) == "unit":
            yield "unit", found.unit, _parse_last(value)
        elif _parse_last(name) == "initialValue":
            yield "initialValue", found.initial_value, value


def _list_payloads(
    properties: Mapping[str, Any], found: Command, expected: Mapping[str, Any]
) -> Iterator[Pair]:
    for name in ("request", "response"):
        if properties.get(name) is None:
            continue
        payload = found.request if name == "request" else found.response
        yield name, payload is not None, True
        parts = _list_properties(expected.get(properties[name]) or {})
        if payload is not None and "name" in parts:
            yield f"{name} name", payload.name, parts["name"]
        if payload is not None and "schema" in parts:
            yield f"{name} schema", *_compare_schemas(payload.schema, parts["schema"])
        if payload is not None and "nullable" in parts:
            yield f"{name} nullable", payload.nullable, parts["nullable"]


def _list_schema(
    properties: Mapping[str, Any],
    found: ArraySchema | EnumSchema | MapSchema | ObjectSchema,
    expected: Mapping[str, Any],
) -> Iterator[Pair]:
    def parts(name: str) -> list[dict[str, Any]]:
        """The expected properties of the elements that a property names."""
        identifiers = properties.get(name) or []
        named = [identifiers] if isinstance(identifiers, str) else identifiers
        return [_list_properties(expected.get(identifier) or {}) for identifier in named]

    match found:
        case ArraySchema() if "elementSchema" in properties:
            yield "elementSchema", *_compare_schemas(found.element, properties["elementSchema"])
        case EnumSchema() if "enumValues" in properties:
            yield "valueSchema", found.value_type, _parse_last(properties["valueSchema"])
            values = {v["enumValue"]: v["name"] for v in parts("enumValues") if "enumValue" in v}
            ours = {value: name for value, name in found.values.items() if value in values}
            yield "enumValues", (len(found.values), ours), (len(properties["enumValues"]), values)
        case ObjectSchema() if "fields" in properties:
            yield "count of fields", len(found.fields), len(properties["fields"])
            for field in parts("fields"):
                if "name" in field and "schema" in field:
                    schema = found.fields.get(field["name"])
                    yield field["name"], schema is not None, True
                    if schema is not None:
                        yield field["name"], *_compare_schemas(schema, field["schema"])
        case MapSchema():
            for value in parts("mapValue"):
                if "name" in value:
                    yield "mapValue name", found.value_name, value["name"]
                if "schema" in value:
                    yield "mapValue", *_compare_schemas(found.value, value["schema"])
        case _:
            pass


def _compare_schemas(ours: Schema, theirs: str) -> tuple[object, object]:
    """Return ours and theirs in the same form: the DTMI of a complex schema, else its name."""
    identifier = getattr(ours, "id", "")
    name = getattr(ours, "name", "")
    return (identifier, theirs) if identifier else (name, _parse_last(theirs))
