"""Builds SHACL shapes of stored models, over the triples of this mapping.

A shape states what its interface itself declares. Contents that it inherits are stated by the
base's shape, which targets derived classes as well. The formats that DTDL requires of texts, such
as dates, and the contents of arrays and maps are in one JSON text and beyond SHACL.

SPEC: Shapes Constraint Language (SHACL), W3C 20 July 2017, core constraints only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from twinframe.dtdl import (
    SERVICE,
    Component,
    EnumSchema,
    Interface,
    ObjectSchema,
    OpenSchema,
    PrimitiveSchema,
    Relationship,
    Schema,
    SchemaReference,
    parse_models,
)
from twinframe.errors import ModelParsingFailed, ModelVersionNotSupported, StorageDamaged
from twinframe.storage.base import ModelRecord
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.mapping import GraphNames, Triple
from twinframe_storage_rdf.terms import (
    JSON_TEXT,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
    Iri,
    Term,
)
from twinframe_storage_rdf.triples.nodes import Node

_sh, _rdf = v.build_shacl_iri, v.build_rdf_iri

_BASE: Final = v.BASE + "shape:"
_DOUBLE_SHAPE: Final = Iri(_BASE + "double")
_INTEGER_SHAPE: Final = Iri(_BASE + "integer")
_NUMBER_LIST: Final = Iri(_BASE + "number")

_SIZES: Final = ("byte", "short", "integer", "long")
_INTEGERS: Final = frozenset((*_SIZES, *(f"unsigned{size.capitalize()}" for size in _SIZES)))
_FRACTIONS: Final = frozenset(("float", "double"))
_DEEPEST: Final = 16


def build_shapes(names: GraphNames, models: Iterable[ModelRecord]) -> Iterator[Node]:
    """The shapes of all models that are stored; they are parsed together."""
    documents: list[object] = [orjson.loads(model.document) for model in models]
    if not documents:
        return
    try:
        found = parse_models(documents, limits=SERVICE)
    except (ModelParsingFailed, ModelVersionNotSupported) as error:
        raise StorageDamaged(f"The stored models cannot be read: {error.message}") from error
    yield from _build_number_nodes()
    for model_id in found.uploaded:
        yield from _Shape(names, found.interfaces, found.interfaces[model_id]).build()


def _build_number_nodes() -> Iterator[Node]:
    """Yield the shapes of number types.

    A whole number in JSON, such as `21`, is an integer in the mapping.
    """
    yield [(_DOUBLE_SHAPE, _sh("datatype"), Iri(XSD_DOUBLE))]
    yield [(_INTEGER_SHAPE, _sh("datatype"), Iri(XSD_INTEGER))]
    yield from _build_list(_NUMBER_LIST, (_DOUBLE_SHAPE, _INTEGER_SHAPE))


def _build_list(head: Iri, items: Sequence[Term]) -> Iterator[Node]:
    at = head
    for number, item in enumerate(items, start=1):
        following = Iri(f"{head}:{number}") if number < len(items) else _rdf("nil")
        yield [(at, _rdf("first"), item), (at, _rdf("rest"), following)]
        at = following


@dataclass
class _Shape:
    """The shapes of one interface under construction."""

    names: GraphNames
    interfaces: Mapping[str, Interface]
    interface: Interface
    nodes: list[Node] = field(default_factory=list)
    parts: list[Iri] = field(default_factory=list)

    def build(self) -> Iterator[Node]:
        """Yield the node shape, then the property shapes that it refers to."""
        model_id = self.interface.id
        for content in self.interface.contents.values():
            if content.declared_by != model_id:
                continue
            if isinstance(content, Relationship):
                self._add_relationship(content)
            elif isinstance(content, Component):
                self._add_component(content, (), 0)
        self._add_properties(self.interface, (), own=True)
        iri = v.build_shape_iri(model_id)
        head: Node = [
            (iri, v.RDF_TYPE, _sh("NodeShape")),
            (iri, _sh("targetClass"), self.names.build_model_iri(model_id)),
            (iri, _sh("name"), model_id),
        ]
        yield [*head, *((iri, _sh("property"), part) for part in self.parts)]
        yield from self.nodes

    def _add_properties(self, interface: Interface, path: tuple[str, ...], *, own: bool) -> None:
        for declared in interface.properties.values():
            if not own or declared.declared_by == interface.id:
                self._add_value((*path, declared.name), declared.schema, 0)

    def _add_component(self, component: Component, path: tuple[str, ...], depth: int) -> None:
        here = (*path, component.name)
        self._add(
            here, [(_sh("minCount"), 1), (_sh("maxCount"), 1), (_sh("datatype"), Iri(JSON_TEXT))]
        )
        interface = self.interfaces.get(component.schema)
        if interface is None or depth == _DEEPEST:
            return
        self._add_properties(interface, here, own=False)
        for inner in interface.components.values():
            self._add_component(inner, here, depth + 1)

    def _add_relationship(self, relationship: Relationship) -> None:
        facts: list[tuple[Iri, Term]] = [(_sh("nodeKind"), _sh("IRI"))]
        if relationship.target is not None:
            facts.append((_sh("class"), self.names.build_model_iri(relationship.target)))
        if relationship.min_multiplicity:  # parallel ones share a triple: no more can be checked
            facts.append((_sh("minCount"), 1))
        if relationship.max_multiplicity is not None:
            facts.append((_sh("maxCount"), relationship.max_multiplicity))
        # NOTE: no member's name contains a slash, so this is not a member's shape.
        path = (f"relationship/{relationship.name}",)
        self._add_at(v.build_edge_iri(relationship.name), path, relationship.name, facts)

    def _add_value(self, path: tuple[str, ...], schema: Schema, depth: int) -> None:
        if isinstance(schema, SchemaReference):
            if depth < _DEEPEST:
                self._add_value(path, schema.target, depth + 1)
            return
        facts: list[tuple[Iri, Term]] = [(_sh("maxCount"), 1)]
        if isinstance(schema, EnumSchema):
            head = v.build_shape_iri(self.interface.id, *path, "/values")
            self.nodes += _build_list(head, list(schema.values))
            facts.append((_sh("in"), head))
        elif isinstance(schema, PrimitiveSchema):
            facts.append(_build_primitive(schema))
        elif not isinstance(schema, OpenSchema):
            facts.append((_sh("datatype"), Iri(JSON_TEXT)))
        self._add(path, facts)
        if isinstance(schema, ObjectSchema):
            for name, inner in schema.fields.items():
                self._add_value((*path, name), inner, depth + 1)

    def _add(self, path: tuple[str, ...], facts: Sequence[tuple[Iri, Term]]) -> None:
        self._add_at(v.build_property_iri(*path), path, path[-1], facts)

    def _add_at(
        self, predicate: Iri, path: tuple[str, ...], name: str, facts: Sequence[tuple[Iri, Term]]
    ) -> None:
        iri = v.build_shape_iri(self.interface.id, *path)
        node: list[Triple] = [
            (iri, v.RDF_TYPE, _sh("PropertyShape")),
            (iri, _sh("path"), predicate),
            (iri, _sh("name"), name),
        ]
        self.parts.append(iri)
        self.nodes.append([*node, *((iri, kind, value) for kind, value in facts)])


def _build_primitive(schema: PrimitiveSchema) -> tuple[Iri, Term]:
    if schema.name in _FRACTIONS:
        return _sh("or"), _NUMBER_LIST
    if schema.name in _INTEGERS:
        return _sh("datatype"), Iri(XSD_INTEGER)
    return _sh("datatype"), Iri(XSD_BOOLEAN if schema.name == "boolean" else XSD_STRING)
