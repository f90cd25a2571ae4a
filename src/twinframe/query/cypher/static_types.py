"""The static types of values, as far as they are known before running; ANY is always allowed."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """Kinds of values; the value is their name in error messages."""

    ANY = "a value"
    NULL = "null"
    BOOLEAN = "a boolean"
    INTEGER = "an integer"
    FLOAT = "a float"
    STRING = "a string"
    LIST = "a list"
    MAP = "a map"
    NODE = "a node"
    RELATIONSHIP = "a relationship"
    PATH = "a path"
    TEMPORAL = "a temporal value"


@dataclass(frozen=True, slots=True)
class StaticType:
    """A kind and, for lists, the type of every element."""

    kind: Kind
    element: StaticType | None = None


ANY = StaticType(Kind.ANY)
NULL = StaticType(Kind.NULL)
BOOLEAN = StaticType(Kind.BOOLEAN)
INTEGER = StaticType(Kind.INTEGER)
FLOAT = StaticType(Kind.FLOAT)
STRING = StaticType(Kind.STRING)
MAP = StaticType(Kind.MAP)
NODE = StaticType(Kind.NODE)
RELATIONSHIP = StaticType(Kind.RELATIONSHIP)
PATH = StaticType(Kind.PATH)
TEMPORAL = StaticType(Kind.TEMPORAL)
LIST = StaticType(Kind.LIST, ANY)
NODES = StaticType(Kind.LIST, NODE)
RELATIONSHIPS = StaticType(Kind.LIST, RELATIONSHIP)
PATHS = StaticType(Kind.LIST, PATH)
STRINGS = StaticType(Kind.LIST, STRING)
INTEGERS = StaticType(Kind.LIST, INTEGER)

UNKNOWN = frozenset({Kind.ANY, Kind.NULL})
"""Kinds that are never refused: null is a value of every kind."""

LOGICAL = UNKNOWN | {Kind.BOOLEAN}
ARITHMETIC = UNKNOWN | {Kind.INTEGER, Kind.FLOAT, Kind.TEMPORAL}


def list_of(element: StaticType) -> StaticType:
    """The type of a list with such elements."""
    return StaticType(Kind.LIST, element)


def common_type(types: list[StaticType]) -> StaticType:
    """Return the type of a value that has one of these types."""
    known = [found for found in types if found.kind is not Kind.NULL]
    if not known:
        return NULL if types else ANY
    first = known[0]
    if all(found == first for found in known):
        return first
    if all(found.kind is Kind.LIST for found in known):
        return LIST
    return ANY
