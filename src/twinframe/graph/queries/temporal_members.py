"""Reads members of twins as temporal values where the twin's model declares them so.

DTDL's `date`, `dateTime`, `time` and `duration` become values, also within objects, maps, arrays
and components. An invalid text, and a schema that contains itself, stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, cast

from twinframe.dtdl.interfaces import Interface, Property
from twinframe.dtdl.schemas import ArraySchema, MapSchema, ObjectSchema, PrimitiveSchema, Schema
from twinframe.errors import QueryInvalid
from twinframe.graph.context.model_cache import ModelCache, ModelView
from twinframe.graph.models.temporal_names import TemporalNames, read_temporal_names
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import Date, DateTime, Time
from twinframe.model.temporal.parsing import (
    parse_date,
    parse_date_time,
    parse_duration,
    parse_time,
)
from twinframe.model.values import JsonValue, Value
from twinframe.query.evaluate.member_typing import Convert, MemberTyping
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

    def __init__(self, found: TemporalNames, models: ModelCache) -> None:
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
