"""Parsed interfaces with their inherited contents, as the rest of the service uses them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from twinframe.dtdl.schemas import Schema

EMPTY: Mapping[str, Any] = MappingProxyType({})
"""PERF: the one empty mapping; an interface has up to thirty of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What all contents have. `declared_by` is the DTMI of the interface."""

    name: str
    declared_by: str
    id: str
    display_name: Mapping[str, str] = field(default_factory=dict)
    description: Mapping[str, str] = field(default_factory=dict)
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Property(Declared):
    """A value that a twin (or relationship) stores.

    `initial_value` is what the Initialization extension gives a new twin, None if nothing.
    """

    schema: Schema
    writable: bool
    unit: str | None = None
    initial_value: object = None


@dataclass(frozen=True, slots=True)
class Telemetry(Declared):
    """A value that a twin emits and does not store."""

    schema: Schema
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Relationship(Declared):
    """A link to other twins; `target` is the DTMI of their interface, None for any.

    `max_multiplicity` None is no bound. `properties` are those that one such link stores, by name.
    """

    target: str | None
    properties: Mapping[str, Property]
    min_multiplicity: int
    max_multiplicity: int | None
    writable: bool


@dataclass(frozen=True, slots=True)
class Component(Declared):
    """A part of a twin; `schema` is the DTMI of the interface that describes it."""

    schema: str


@dataclass(frozen=True, slots=True)
class CommandPayload:
    """The request or response of a command; `nullable`: null stands for no value (from DTDL v4)."""

    name: str
    schema: Schema
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Command(Declared):
    """An operation a twin offers."""

    request: CommandPayload | None
    response: CommandPayload | None


Content: TypeAlias = Property | Telemetry | Relationship | Component | Command
_C = TypeVar("_C", Property, Telemetry, Relationship, Component, Command)


def _select(contents: Mapping[str, Content], kind: type[_C]) -> Mapping[str, _C]:
    found = {n: c for n, c in contents.items() if isinstance(c, kind)}
    return MappingProxyType(found) if found else EMPTY


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface with everything it inherits.

    `name` is the last path segment of `id`. `extends` are the direct bases; `ancestors` all of
    them, nearest first, without itself. `contents` are its own and the inherited ones by name; the
    views by kind hold the same objects. `dependencies` are the direct bases and the interfaces of
    its own components, in order, each once.
    """

    id: str
    name: str
    language_version: int
    display_name: Mapping[str, str]
    description: Mapping[str, str]
    extends: tuple[str, ...]
    ancestors: tuple[str, ...]
    contents: Mapping[str, Content]
    dependencies: tuple[str, ...]
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    properties: Mapping[str, Property] = field(init=False)
    telemetries: Mapping[str, Telemetry] = field(init=False)
    relationships: Mapping[str, Relationship] = field(init=False)
    components: Mapping[str, Component] = field(init=False)
    commands: Mapping[str, Command] = field(init=False)

    def __hash__(self) -> int:
        return hash(self.id)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "properties", _select(self.contents, Property))
        set_(self, "telemetries", _select(self.contents, Telemetry))
        set_(self, "relationships", _select(self.contents, Relationship))
        set_(self, "components", _select(self.contents, Component))
        set_(self, "commands", _select(self.contents, Command))


@dataclass(frozen=True, slots=True)
class ModelSet:
    """The result of parsing: all interfaces by DTMI, and which of them were uploaded."""

    interfaces: Mapping[str, Interface]
    uploaded: tuple[str, ...]


def build_initial_values(
    interface: Interface, lookup: Callable[[str], Interface]
) -> dict[str, object]:
    """Return the initial properties of a twin and, as objects, all its components.

    They come from the Initialization extension, and were checked when the models were parsed.
    The result conforms to the interface: a component without initial values is an empty object.
    `lookup` returns the interfaces of components; its errors are passed on.
    """
    values: dict[str, object] = {
        name: copy.deepcopy(prop.initial_value)
        for name, prop in interface.properties.items()
        if prop.initial_value is not None
    }
    for name, component in interface.components.items():
        part = lookup(component.schema)
        values[name] = {
            inner: copy.deepcopy(prop.initial_value)
            for inner, prop in part.properties.items()
            if prop.initial_value is not None
        }
    return values


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """An index of the `extends` relation; made by `build_hierarchy`.

    Storage keeps its own closure of the same relation.
    """

    _ancestors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _descendants: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ancestors(self, interface: str) -> tuple[str, ...]:
        """Return all bases of an interface, nearest first, without itself; none if unknown."""
        return self._ancestors.get(interface, ())

    def descendants(self, interface: str) -> tuple[str, ...]:
        """Return all interfaces that extend this one, directly or not, without itself."""
        return self._descendants.get(interface, ())

    def is_a(self, interface: str, base: str) -> bool:
        """Return whether `interface` is `base` or extends it, directly or not."""
        return interface == base or base in self._ancestors.get(interface, ())


def build_hierarchy(interfaces: Iterable[Interface]) -> Hierarchy:
    """Return the index of a set of interfaces; bases outside of the set are included."""
    ancestors: dict[str, tuple[str, ...]] = {}
    descendants: dict[str, list[str]] = {}
    for interface in interfaces:
        ancestors[interface.id] = interface.ancestors
        for base in interface.ancestors:
            descendants.setdefault(base, []).append(interface.id)
    return Hierarchy(ancestors, {base: tuple(found) for base, found in descendants.items()})
