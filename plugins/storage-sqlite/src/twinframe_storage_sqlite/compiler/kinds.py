"""What kinds of value an SQL expression can yield: a set of Cypher types as an integer mask.

It knows nothing of SQL text; `term` does.
"""

from __future__ import annotations

from typing import Final

from twinframe.evaluator.kinds import (
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
    "NATIVE",
    "NODE",
    "NULL",
    "NUMBER",
    "PATH",
    "RELATIONSHIP",
    "STRING",
    "build_classes",
    "build_widened",
    "find_kind",
    "is_plain",
    "render_kinds",
]

NATIVE: Final = NUMBER | STRING | NULL
"""Kinds that SQLite's own storage classes tell apart."""
ENTITIES: Final = NODE | RELATIONSHIP | PATH
"""Kinds that travel as row ids, a path as a list of them."""

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


def is_plain(kinds: int) -> bool:
    """Whether a native SQL value alone tells which of `kinds` it is."""
    known = kinds & ~NULL
    return not known & ~NATIVE or known in _NAMES


def render_kinds(kinds: int) -> str:
    """For messages: `integer or string`."""
    return " or ".join(name for kind, name in _NAMES.items() if kinds & kind) or "nothing"
