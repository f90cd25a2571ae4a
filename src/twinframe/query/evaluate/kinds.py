"""Sets of value types as integer masks, by which a store's compiler types expressions.

A compiler adds the kinds that only its own engine distinguishes.
"""

from __future__ import annotations

from collections.abc import Mapping
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
PATH: Final = 512

NUMBER: Final = INTEGER | FLOAT
NESTED: Final = LIST | MAP
ENTITIES: Final = NODE | RELATIONSHIP
SCALAR: Final = NULL | BOOLEAN | NUMBER | STRING
JSON: Final = SCALAR | NESTED
"""Everything a member of a stored document can be."""

_KINDS: Final[Mapping[type, int]] = {
    type(None): NULL,
    bool: BOOLEAN,
    int: INTEGER,
    float: FLOAT,
    str: STRING,
    list: LIST,
    dict: MAP,
}


def find_kind(value: Value) -> int | None:
    """Return the kind of a value that JSON has; None for another."""
    return _KINDS.get(type(value))
