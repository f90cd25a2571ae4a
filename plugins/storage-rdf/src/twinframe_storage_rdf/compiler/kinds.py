"""What kinds of value a SPARQL expression can yield: a set of Cypher types as an integer mask.

It knows nothing of SPARQL text; `term` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from twinframe.model.values import Value

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

NUMBER: Final = INTEGER | FLOAT
NESTED: Final = LIST | MAP
ENTITIES: Final = NODE | RELATIONSHIP
JSON: Final = NULL | BOOLEAN | NUMBER | STRING | NESTED
"""Everything a member of a stored document can be."""

CLASSES: Final = (NUMBER, STRING, BOOLEAN, LIST, MAP, NODE, RELATIONSHIP)
"""Sets of kinds within which values can be equal."""


def build_widened(kinds: int) -> int:
    """`kinds` without null, and with integer and float taken together."""
    known = kinds & ~NULL
    return known | NUMBER if known & NUMBER else known


def find_scalar_kinds(values: Sequence[Value]) -> int:
    """The kinds of these values; those that are no scalars of SPARQL are left out."""
    kinds = 0
    for value in values:
        kinds |= _KINDS.get(type(value), 0)
    return kinds


_KINDS: Final[Mapping[type, int]] = {
    type(None): NULL,
    bool: BOOLEAN,
    int: INTEGER,
    float: FLOAT,
    str: STRING,
}
