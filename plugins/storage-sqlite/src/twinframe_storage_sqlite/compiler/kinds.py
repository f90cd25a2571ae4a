"""What kinds of value an SQL expression can yield: a set of Cypher types as an integer mask.

It knows nothing of SQL text; `term` does.
"""

from __future__ import annotations

from typing import Final

# PERF: plain integers, not `enum.Flag`, whose operators cost half a microsecond each.
NULL: Final = 1
BOOLEAN: Final = 2
INTEGER: Final = 4
FLOAT: Final = 8
STRING: Final = 16
LIST: Final = 32
MAP: Final = 64
NODE: Final = 128
RELATIONSHIP: Final = 256
PATH: Final = 512

NUMBER: Final = INTEGER | FLOAT
NATIVE: Final = NUMBER | STRING | NULL
"""Kinds that SQLite's own storage classes tell apart."""
ENTITIES: Final = NODE | RELATIONSHIP | PATH
"""Kinds that travel as row ids, a path as a list of them."""
JSON: Final = NULL | BOOLEAN | NUMBER | STRING | LIST | MAP
"""Everything a member of a stored document can be."""

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
