"""Builds interfaces from checked elements: resolves schemas, inherits contents, lists ancestors.

In a graph without findings every value is known; unknown values of resolved documents that were not
checked again are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from sys import intern
from types import MappingProxyType
from typing import TypedDict, TypeVar

from twinframe.dtdl import dtmi
from twinframe.dtdl.graph import Element, ElementGraph, Predefined
from twinframe.dtdl.interfaces import (
    EMPTY,
    Command,
    CommandPayload,
    Component,
    Content,
    Interface,
    Property,
    Relationship,
    Telemetry,
)
from twinframe.dtdl.rules.core import GEOSPATIAL, SCALED_DECIMAL, V4
from twinframe.dtdl.schemas import (
    ArraySchema,
    EnumSchema,
    GeospatialSchema,
    MapSchema,
    ObjectSchema,
    OpenSchema,
    PrimitiveSchema,
    Schema,
    SchemaCell,
    SchemaReference,
)

_Value = TypeVar("_Value")
PREDEFINED: dict[str, Schema] = {name: PrimitiveSchema(name) for name in V4.primitives}
PREDEFINED |= {name: GeospatialSchema(name) for name in GEOSPATIAL}
# SPEC: DTDL v4 `scaledDecimal`: a decimal and the power of ten it is scaled by.
PREDEFINED[SCALED_DECIMAL] = ObjectSchema(
    V4.objects[SCALED_DECIMAL],
    MappingProxyType({"value": PrimitiveSchema("decimal"), "scale": PrimitiveSchema("short")}),
)

MAX_DEPTH = 50
"""How deep schemas are built inside each other; beyond, a reference stands for the schema."""


@dataclass(slots=True)
class Builder:
    """Builds interfaces from a graph, each element once."""

    graph: ElementGraph
    contents: dict[str, Content] = field(default_factory=dict)
    schemas: dict[str, Schema] = field(default_factory=dict)
    cells: dict[str, SchemaCell] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    depth: int = 0

    def build_interfaces(self, effective: dict[str, dict[str, Element]]) -> dict[str, Interface]:
        """Return interfaces by DTMI; `effective` are their contents, bases first.

        PERF: both `effective` and the graph are consumed on the way: an interface is a third of the
        elements it is built of, and no upload ever holds all of both.
        """
        partitions: dict[str, list[str]] = {}
        for element in self.graph.elements.values():
            partitions.setdefault(element.partition, []).append(element.id)
        self.graph.references.clear()
        interfaces: dict[str, Interface] = {}
        for identifier in list(effective):
            element = self.graph.elements[identifier]
            own = effective.pop(identifier)
            contents = {intern(name): self._content(content) for name, content in own.items()}
            interfaces[identifier] = self._interface(element, contents, interfaces)
            for part in partitions.pop(identifier):
                del self.graph.elements[part]
        return interfaces

    def _interface(
        self, element: Element, contents: dict[str, Content], known: Mapping[str, Interface]
    ) -> Interface:
        extends = tuple(v for v in element.values.get("extends", ()) if isinstance(v, str))
        own = {c.name for c in contents.values() if c.declared_by == element.id}
        parts = [c.schema for c in contents.values() if isinstance(c, Component) and c.name in own]
        return Interface(
            id=element.id,
            name=dtmi.parse_name(element.id),
            language_version=element.context.rules.version,
            display_name=_texts(element, "displayName"),
            description=_texts(element, "description"),
            extends=extends,
            ancestors=build_ancestors(extends, known),
            contents=_freeze(contents),
            dependencies=tuple(dict.fromkeys((*extends, *parts))),
            schemas=_freeze(
                {
                    value: self._schema(value)
                    for value in element.values.get("schemas", ())
                    if isinstance(value, str)
                }
            ),
        )

    # --- contents -------------------------------------------------------------------------------

    def _content(self, element: Element) -> Content:
        built = self.contents.get(element.id)
        if built is None:
            built = self.contents[element.id] = _BUILDERS[element.cls](self, element)
        return built

    def _property(self, element: Element) -> Property:
        return Property(
            schema=self._schema_of(element, "schema"),
            writable=element.literals.get("writable") is True,
            **_declare(element),
            unit=_unit(element),
            initial_value=element.others.get("initialValue"),
        )

    def _telemetry(self, element: Element) -> Telemetry:
        return Telemetry(
            schema=self._schema_of(element, "schema"),
            **_declare(element),
            unit=_unit(element),
        )

    def _relationship(self, element: Element) -> Relationship:
        target = element.literals.get("target")
        least = element.literals.get("minMultiplicity")
        most = element.literals.get("maxMultiplicity")
        properties = [self._property(prop) for prop in self.graph.children(element, "properties")]
        return Relationship(
            target=target if isinstance(target, str) else None,
            properties=_freeze({prop.name: prop for prop in properties}),
            min_multiplicity=least if isinstance(least, int) else 0,
            max_multiplicity=most if isinstance(most, int) else None,
            writable=element.literals.get("writable") is True,
            **_declare(element),
        )

    def _component(self, element: Element) -> Component:
        schema = element.one("schema")
        return Component(
            schema=schema if isinstance(schema, str) else "",
            **_declare(element),
        )

    def _command(self, element: Element) -> Command:
        return Command(
            request=self._payload(element, "request"),
            response=self._payload(element, "response"),
            **_declare(element),
        )

    def _payload(self, element: Element, name: str) -> CommandPayload | None:
        for payload in self.graph.children(element, name):
            return CommandPayload(
                payload.name,
                self._schema_of(payload, "schema"),
                nullable=payload.literals.get("nullable") is True,
            )
        return None

    # --- schemas --------------------------------------------------------------------------------

    def build_schema(self, element: Element) -> Schema:
        """Return the `schema` of one element, such as a property or a field."""
        return self._schema_of(element, "schema")

    def _schema_of(self, element: Element, name: str) -> Schema:
        value = element.one(name)
        if isinstance(value, Predefined):
            return PREDEFINED.get(value.name) or _predefined(element, value.name)
        return self._schema(value) if value is not None else OpenSchema()

    def _schema(self, identifier: str) -> Schema:
        schema = self.schemas.get(identifier)
        if schema is not None:
            return schema
        element = self.graph.elements.get(identifier)
        build = _SCHEMA_BUILDERS.get(element.cls) if element else None
        if build is None or element is None:
            return OpenSchema()
        cell = self.cells.setdefault(identifier, SchemaCell())
        if self.depth >= MAX_DEPTH:
            # SEC: schemas that contain themselves may chain deeper than Python recurses.
            self.waiting.append(identifier)
            return SchemaReference(identifier, cell)
        # NOTE: while it is built, a schema is known by a reference to it, which stays where the
        # schema contains itself.
        self.schemas[identifier] = SchemaReference(identifier, cell)
        self.depth += 1
        schema = self.schemas[identifier] = cell.schema = build(self, element)
        self.depth -= 1
        if self.depth == 0:
            while self.waiting:
                self._schema(self.waiting.pop())
        return schema

    def _array(self, element: Element) -> Schema:
        return ArraySchema(element.id, self._schema_of(element, "elementSchema"))

    def _enum(self, element: Element) -> Schema:
        values: dict[str | int, str] = {}
        for child in self.graph.children(element, "enumValues"):
            value = child.literals.get("enumValue")
            if isinstance(value, (str, int)):
                values[value] = child.name
        kind = element.one("valueSchema")
        name = kind.name if isinstance(kind, Predefined) else "string"
        return EnumSchema(element.id, name, MappingProxyType(values))

    def _map(self, element: Element) -> Schema:
        key, value = (
            next(self.graph.children(element, name), element) for name in ("mapKey", "mapValue")
        )
        return MapSchema(element.id, key.name, value.name, self._schema_of(value, "schema"))

    def _object(self, element: Element) -> Schema:
        fields = list(self.graph.children(element, "fields"))
        schemas = {intern(f.name): self._schema_of(f, "schema") for f in fields}
        required = frozenset(f.name for f in fields if "Required" in _types(f))
        return ObjectSchema(element.id, MappingProxyType(schemas), required)


_BUILDERS: dict[str, Callable[[Builder, Element], Content]] = {
    "Property": Builder._property,
    "Telemetry": Builder._telemetry,
    "Relationship": Builder._relationship,
    "Component": Builder._component,
    "Command": Builder._command,
}
_SCHEMA_BUILDERS: dict[str, Callable[[Builder, Element], Schema]] = {
    "Array": Builder._array,
    "Enum": Builder._enum,
    "Map": Builder._map,
    "Object": Builder._object,
}


def build_ancestors(extends: tuple[str, ...], known: Mapping[str, Interface]) -> tuple[str, ...]:
    """Return all bases above `extends`, nearest first (by level, then in declared order).

    Unknown bases are listed, and not followed.
    """
    found = dict.fromkeys(extends)
    level = list(found)
    while level:
        following = []
        for base in level:
            for identifier in known[base].extends if base in known else ():
                if identifier not in found:
                    found[identifier] = None
                    following.append(identifier)
        level = following
    return tuple(found)


def _predefined(element: Element, name: str) -> Schema:
    context = element.context
    for vocabulary in (context.rules.core, *context.vocabularies):
        if (values := vocabulary.enums.get(name)) is not None:
            spelled: dict[str | int, str] = {value: value for value in values}
            return EnumSchema(vocabulary.enum_ids[name], "string", MappingProxyType(spelled))
    return OpenSchema(name)


def _texts(element: Element, name: str) -> Mapping[str, str]:
    texts = element.literals.get(name)
    return _freeze(texts) if isinstance(texts, dict) else EMPTY


def _freeze(mapping: dict[str, _Value]) -> Mapping[str, _Value]:
    return MappingProxyType(mapping) if mapping else EMPTY


class _Declaration(TypedDict):
    name: str
    declared_by: str
    id: str
    display_name: Mapping[str, str]
    description: Mapping[str, str]
    types: tuple[str, ...]


def _declare(element: Element) -> _Declaration:
    """Return what all contents have."""
    return {
        "name": intern(element.name),
        "declared_by": element.partition,
        "id": element.id,
        "display_name": _texts(element, "displayName"),
        "description": _texts(element, "description"),
        "types": _types(element),
    }


def _types(element: Element) -> tuple[str, ...]:
    return tuple(adjunct.name for adjunct in element.adjuncts)


def _unit(element: Element) -> str | None:
    unit = element.one("unit")
    return unit.name if isinstance(unit, Predefined) else None
