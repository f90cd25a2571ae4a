"""The kinds of value that an SQL expression can yield, as an integer mask of Cypher types."""

from __future__ import annotations

from typing import Final

from twinframe.query.evaluate.kinds import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    JSON,
    LIST,
    MAP,
    NODE,
    NULL,
    NUMBER,
    PATH,
    RELATIONSHIP,
    STRING,
    find_kind,
)

__all__ = [
    "BOOLEAN",
    "CLASSES",
    "ENTITIES",
    "FLOAT",
    "INTEGER",
    "JSON",
    "LIST",
    "MAP",
    "NODE",
    "NULL",
    "NUMBER",
    "ONE_ENTITY",
    "PATH",
    "RELATIONSHIP",
    "STRING",
    "build_classes",
    "build_widened",
    "find_kind",
    "is_plain",
    "render_kinds",
]

ENTITIES: Final = NODE | RELATIONSHIP | PATH
"""Kinds that are passed as row ids, a path as a list of them."""

ONE_ENTITY: Final = (NODE, RELATIONSHIP, PATH)
"""Kinds of which a list has either one or none."""

CLASSES: Final = (NUMBER, STRING, BOOLEAN, LIST, MAP, NODE, RELATIONSHIP, PATH)
"""Sets of kinds within which values can be equal."""

_NAMES: Final = {
    NULL: "null",
    BOOLEAN: "boolean",
    INTEGER: "integer",
    FLOAT: "float",
    STRING: "string",
    LIST: "list",
    MAP: "map",
    NODE: "node",
    RELATIONSHIP: "relationship",
    PATH: "path",
}


def build_classes(kinds: int) -> tuple[int, ...]:
    """The comparison classes that have a member in `kinds`."""
    return tuple(each for each in CLASSES if each & kinds)


def build_widened(kinds: int) -> int:
    """`kinds` with integer and float taken together."""
    return kinds | NUMBER if kinds & NUMBER else kinds


def is_plain(kinds: int, native: int) -> bool:
    """Return whether a native SQL value alone determines which of `kinds` it is.

    `native` are the kinds that values of one column distinguish.
    """
    known = kinds & ~NULL
    return not known & ~native or known in _NAMES


def render_kinds(kinds: int) -> str:
    """For messages: `integer or string`."""
    return " or ".join(name for kind, name in _NAMES.items() if kinds & kind) or "nothing"
