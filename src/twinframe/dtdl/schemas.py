"""The types of schemas: descriptions of the values of a property, field or array item.

`twinframe.dtdl.values` checks values against them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class PrimitiveSchema:
    """A predefined scalar; `name` is its DTDL term, such as `double` or `dateTime`."""

    name: str


@dataclass(frozen=True, slots=True)
class GeospatialSchema:
    """A predefined GeoJSON geometry; `name` is its DTDL term, such as `point`."""

    name: str


@dataclass(frozen=True, slots=True)
class EnumSchema:
    """One of a set of values; `values` maps each value to its name, all of `value_type`."""

    id: str
    value_type: str
    values: Mapping[str | int, str]


@dataclass(frozen=True, slots=True)
class ObjectSchema:
    """A JSON object with declared members; `fields` in declared order.

    All members are optional, except those in `required`, which the Requirement extension names, if
    the validation enforces it.
    """

    id: str
    fields: Mapping[str, Schema]
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MapSchema:
    """A JSON object from free string keys to values of one schema."""

    id: str
    key_name: str
    value_name: str
    value: Schema


@dataclass(frozen=True, slots=True)
class ArraySchema:
    """A JSON array whose items have one schema.

    DTDL limits no array; those within the predefined geometries have at least `least` items.
    """

    id: str
    element: Schema
    least: int = 0


@dataclass(frozen=True, slots=True)
class OpenSchema:
    """A schema of an unknown context: any JSON value but null."""

    name: str = field(default="")


@dataclass(slots=True)
class SchemaCell:
    """The place of a schema that contains itself; filled once it is built.

    `tests` caches its compiled tests: False with all fields optional, True with required ones.
    """

    schema: Schema = field(default_factory=OpenSchema)
    tests: dict[bool, Callable[[object], bool]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A reference to the schema `id` inside of itself, which DTDL v4 allows."""

    id: str
    cell: SchemaCell = field(compare=False, repr=False)

    @property
    def target(self) -> Schema:
        """The schema that is referred to."""
        return self.cell.schema


Schema: TypeAlias = (
    PrimitiveSchema
    | GeospatialSchema
    | EnumSchema
    | ObjectSchema
    | MapSchema
    | ArraySchema
    | OpenSchema
    | SchemaReference
)
