"""Reads members of twins as temporal values where the twin's model declares them so.

DTDL's `date`, `dateTime`, `time` and `duration` become values, also within objects, maps, arrays
and components. An invalid text, and a schema that contains itself, stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, cast

from twinframe.dtdl.interfaces import Interface, Property
from twinframe.dtdl.outline import ContentOutline, Element, ModelOutline, read_list
from twinframe.dtdl.schemas import ArraySchema, MapSchema, ObjectSchema, PrimitiveSchema, Schema
from twinframe.errors import QueryInvalid
from twinframe.graph.context.model_cache import ModelCache, ModelView, read_documents
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import Date, DateTime, Time
from twinframe.model.temporal.parsing import (
    parse_date,
    parse_date_time,
    parse_duration,
    parse_time,
)
from twinframe.model.values import JsonValue, Value
from twinframe.query.evaluate.member_typing import Convert, Declared, MemberTyping
from twinframe.query.reader import GraphReader
from twinframe.storage.base import GraphSession

_PARSERS: Final[Mapping[str, Callable[[str], Date | DateTime | Time | Duration]]] = {
    "date": parse_date,
    "dateTime": parse_date_time,
    "time": parse_time,
    "duration": parse_duration,
}


class TypingCache:
    """The typing of a graph, built at first use and again when models changed."""

    def __init__(self, models: ModelCache) -> None:
        self._models = models
        self._built: tuple[int, MemberTyping | None] = (-1, None)

    def open(self, session: GraphSession, version: int) -> MemberTyping | None:
        """Return the typing under the schema version that `session` sees; None: no model needs one.

        Thread-safe.
        """
        kept, typing = self._built
        if kept != version:
            found = read_temporal_names(session)
            typing = ModelTyping(found, self._models) if found.names else None
            self._built = version, typing
        return typing


class ModelTyping(MemberTyping):
    """Typing by the stored models, each loaded for the first of its twins."""

    def __init__(self, found: _TemporalNames, models: ModelCache) -> None:
        self.names, self.declared = found
        self._models = models
        self._twins: dict[str, Mapping[str, Convert]] = {}
        self._relationships: dict[tuple[str, str], Mapping[str, Convert]] = {}

    def find_twin_members(self, reader: GraphReader, model_id: str) -> Mapping[str, Convert]:
        """Return the properties and components; none of a model that is no longer stored."""
        known = self._twins.get(model_id)
        if known is None:
            view = self._open(reader)
            known = self._twins[model_id] = _build_members(view, view.find_interface(model_id))
        return known

    def find_relationship_members(
        self, reader: GraphReader, model_id: str, name: str
    ) -> Mapping[str, Convert]:
        """Return the properties that the model declares for its relationships of the name."""
        known = self._relationships.get((model_id, name))
        if known is None:
            interface = self._open(reader).find_interface(model_id)
            declared = None if interface is None else interface.relationships.get(name)
            known = {} if declared is None else _build_properties(declared.properties)
            self._relationships[model_id, name] = known
        return known

    def _open(self, reader: GraphReader) -> ModelView:
        if not isinstance(reader, GraphSession):
            raise TypeError("A plan with typed members runs against a session of its store.")
        return self._models.open(reader)


def _build_members(view: ModelView, interface: Interface | None) -> dict[str, Convert]:
    """Return the converters for twins, or components, of the interface."""
    if interface is None:
        return {}
    found = _build_properties(interface.properties)
    for component in interface.components.values():
        inner = _build_members(view, view.find_interface(component.schema))
        if inner:
            found[component.name] = _build_object_convert(inner)
    return found


def _build_properties(properties: Mapping[str, Property]) -> dict[str, Convert]:
    known: dict[int, Convert | None] = {}
    built = {name: _build_convert(one.schema, known) for name, one in properties.items()}
    return {name: convert for name, convert in built.items() if convert is not None}


def _build_convert(schema: Schema, known: dict[int, Convert | None]) -> Convert | None:
    """Build the converter for values of the schema; None if they contain nothing temporal."""
    # NOTE: fields may share schemas level by level; without `known` the work would be their
    # product.
    if id(schema) not in known:
        known[id(schema)] = _build_kind(schema, known)
    return known[id(schema)]


def _build_kind(schema: Schema, known: dict[int, Convert | None]) -> Convert | None:
    match schema:
        case PrimitiveSchema(name=name) if name in _PARSERS:
            return _build_text_convert(_PARSERS[name])
        case ObjectSchema(fields=fields):
            built = {name: _build_convert(one, known) for name, one in fields.items()}
            inner = {name: convert for name, convert in built.items() if convert is not None}
            return _build_object_convert(inner) if inner else None
        case MapSchema(value=item):
            convert = _build_convert(item, known)
            return None if convert is None else _build_map_convert(convert)
        case ArraySchema(element=item):
            convert = _build_convert(item, known)
            return None if convert is None else _build_list_convert(convert)
        case _:
            return None


def _build_text_convert(parse: Callable[[str], Date | DateTime | Time | Duration]) -> Convert:
    def convert(value: JsonValue) -> Value:
        if not isinstance(value, str):
            return _build_value(value)
        try:
            return replace(parse(value), text=value)
        except QueryInvalid:
            return value

    return convert


def _build_object_convert(members: Mapping[str, Convert]) -> Convert:
    def convert(value: JsonValue) -> Value:
        if not isinstance(value, dict):
            return _build_value(value)
        return {
            name: members[name](item) if name in members else _build_value(item)
            for name, item in value.items()
        }

    return convert


def _build_map_convert(item: Convert) -> Convert:
    def convert(value: JsonValue) -> Value:
        if not isinstance(value, dict):
            return _build_value(value)
        return {name: item(one) for name, one in value.items()}

    return convert


def _build_list_convert(item: Convert) -> Convert:
    def convert(value: JsonValue) -> Value:
        return [*map(item, value)] if isinstance(value, list) else _build_value(value)

    return convert


def _build_value(value: JsonValue) -> Value:
    return cast("Value", value)  # every JSON value is a value; only containers do not express that


_TEMPORAL_SCHEMAS: Final = frozenset({"date", "dateTime", "time", "duration"})
_REFERRING: Final = frozenset({"schema", "elementSchema", "extends"})


class _TemporalNames(NamedTuple):
    """The temporal names: properties and components of twins, and properties of relationships.

    They are read from the stored documents, without parsing models: a name too many only costs
    speed where it is used, and none that a model declares is missing.

    `declared` has the names of those twin properties whose own schema is temporal, with the
    interfaces that declare them. It leaves out names that an interface within another document
    declares.
    """

    names: frozenset[str]
    declared: Mapping[str, Declared]


def read_temporal_names(session: GraphSession) -> _TemporalNames:
    """Return the temporal names that the stored models declare.

    PERF: as reading the names for warnings, 20 ms for the 767 interfaces of a large ontology.
    """
    reading = _Reading()
    for record, outline in read_documents(session):
        reading.add_interface(outline)
        reading.add_declared(record.model_id, outline)
    return _TemporalNames(reading.find_names(), reading.find_declared())


@dataclass(slots=True)
class _Reading:
    """The names and schemas read so far.

    `members` are names with the schemas each refers to, `mentions` the same for everything with an
    id: interfaces and schemas, which members of any model may refer to.
    """

    members: list[tuple[str, set[str]]] = field(default_factory=list)
    declared: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    inner: set[str] = field(default_factory=set)
    """The names that an interface within another document declares."""
    mentions: dict[str, set[str]] = field(default_factory=dict)

    def add_interface(self, outline: ModelOutline) -> None:
        """Add a DTDL interface of a document, or one within another one."""
        mentioned = self._find_schemas({"extends": outline.document.get("extends")})
        self._find_schemas(outline.document.get("schemas"))
        for inner in outline.inner:
            self.inner.update(content.name for content in inner.contents)
            self.add_interface(inner)
        for content in outline.contents:
            mentioned |= self._add_content(content)
        self._keep(outline.document, mentioned)

    def add_declared(self, model_id: str, outline: ModelOutline) -> None:
        """Add the properties of a stored interface whose own schema is temporal."""
        for content in outline.contents:
            schema = content.schema
            if content.kind == "Property" and isinstance(schema, str) and _is_temporal(schema):
                kinds = self.declared.setdefault(content.name, {})
                kinds.setdefault(_read_term(schema), []).append(model_id)

    def find_declared(self) -> Mapping[str, Declared]:
        """Return the members that are declared only by interfaces with a document of their own."""
        return {name: kinds for name, kinds in self.declared.items() if name not in self.inner}

    def find_names(self) -> frozenset[str]:
        """Return the members that contain a temporal value, at any depth."""
        holding = {one for one in self._list_mentioned() if _is_temporal(one)}
        waiting = True
        while waiting:
            found = {
                one
                for one, mentioned in self.mentions.items()
                if one not in holding and not mentioned.isdisjoint(holding)
            }
            holding |= found
            waiting = bool(found)
        return frozenset(name for name, found in self.members if not found.isdisjoint(holding))

    def _list_mentioned(self) -> Iterable[str]:
        for _, mentioned in self.members:
            yield from mentioned
        for mentioned in self.mentions.values():
            yield from mentioned

    def _add_content(self, content: ContentOutline) -> set[str]:
        """Add a content; return the schemas of its values."""
        if content.kind == "Relationship":
            for each in content.properties:
                self._add_member(each)
        return self._add_member(content) if content.kind in ("Property", "Component") else set()

    def _add_member(self, member: ContentOutline) -> set[str]:
        found = self._find_schemas(member.element)
        self.members.append((member.name, found))
        return found

    def _find_schemas(self, part: object) -> set[str]:
        """Return every schema and interface that a part of a document refers to, at any depth."""
        found: set[str] = set()
        if isinstance(part, dict):
            for key, value in part.items():
                if key in _REFERRING:
                    found.update(one for one in read_list(value) if isinstance(one, str))
                found |= self._find_schemas(value)
            self._keep(part, found)
        elif isinstance(part, list):
            for item in part:
                found |= self._find_schemas(item)
        return found

    def _keep(self, element: Element, mentioned: set[str]) -> None:
        name = element.get("@id")
        if isinstance(name, str):
            self.mentions.setdefault(name, set()).update(mentioned)


def _is_temporal(schema: str) -> bool:
    """Return whether a schema is temporal, by its term, or by its DTMI:
    `dtmi:dtdl:instance:Schema:dateTime;2`.
    """
    return _read_term(schema) in _TEMPORAL_SCHEMAS


def _read_term(schema: str) -> str:
    return schema.rpartition(":")[2].partition(";")[0]
