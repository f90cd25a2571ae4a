"""The closed tree of schemas: what a value of a property, field or array item is.

It describes values and checks none; checking is `twinframe.dtdl.values`.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """A JSON object with declared members, all of them optional; `fields` in declared order."""

    id: str
    fields: Mapping[str, Schema]


@dataclass(frozen=True, slots=True)
class MapSchema:
    """A JSON object from free string keys to values of one schema."""

    id: str
    key_name: str
    value_name: str
    value: Schema


@dataclass(frozen=True, slots=True)
class ArraySchema:
    """A JSON array whose items have one schema."""

    id: str
    element: Schema


@dataclass(frozen=True, slots=True)
class OpenSchema:
    """A schema of a context that is not known here: any JSON value but null."""

    name: str = field(default="")


Schema: TypeAlias = (
    PrimitiveSchema
    | GeospatialSchema
    | EnumSchema
    | ObjectSchema
    | MapSchema
    | ArraySchema
    | OpenSchema
)
