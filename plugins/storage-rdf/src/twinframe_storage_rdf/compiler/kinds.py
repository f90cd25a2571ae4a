"""The kinds of value that a SPARQL expression can yield, as a set of the query language's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twinframe.model.values import Value
from twinframe.query.evaluate.kinds import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    JSON,
    LIST,
    MAP,
    NESTED,
    NODE,
    NULL,
    NUMBER,
    RELATIONSHIP,
    SCALAR,
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
    "NESTED",
    "NODE",
    "NULL",
    "NUMBER",
    "RELATIONSHIP",
    "SCALAR",
    "STRING",
    "build_widened",
    "find_element_kinds",
    "find_kind",
    "find_scalar_kinds",
]

ENTITIES: Final = NODE | RELATIONSHIP

CLASSES: Final = (NUMBER, STRING, BOOLEAN, LIST, MAP, NODE, RELATIONSHIP)
"""Sets of kinds within which values can be equal."""


def build_widened(kinds: int) -> int:
    """`kinds` without null, and with integer and float taken together."""
    known = kinds & ~NULL
    return known | NUMBER if known & NUMBER else known


def find_scalar_kinds(values: Sequence[Value]) -> int:
    """Return the kinds of these values; values that are no SPARQL scalars are left out."""
    kinds = 0
    for value in values:
        kinds |= (find_kind(value) or 0) & SCALAR
    return kinds


def find_element_kinds(values: Sequence[Value]) -> int:
    """Return the kinds of these values; any other value counts as a node, which no text can
    hold.
    """
    kinds = 0
    for value in values:
        kinds |= find_kind(value) or NODE
    return kinds
