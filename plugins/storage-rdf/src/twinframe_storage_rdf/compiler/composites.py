"""Lists, maps and paths that a query builds of other terms, as several columns of the SPARQL
result.

SPARQL has no such values: they are assembled when rows are read, and only result columns may use
them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twinframe.model.values import Value
from twinframe.query.algebra import (
    Expression,
    FunctionCall,
    ListExpression,
    MapExpression,
    PathPattern,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.constants import find_known
from twinframe_storage_rdf.compiler.term import Term

LARGEST = 64
"""Parts of a composite; each is a column of the query."""


class Shape(enum.Enum):
    """What the parts are assembled into."""

    LIST = "list"
    MAP = "map"
    PATH = "path"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class Composite:
    """A value assembled of `parts`, by name for a map. With `strict` it is null where a part is.

    One of the shape KNOWN has no parts: it is `value` in all rows.
    """

    shape: Shape
    parts: tuple[tuple[str, Term | Composite], ...]
    strict: bool = False
    value: Value = None


Composites = Mapping[str, Composite]


def build_path(path: PathPattern, scope: Mapping[str, Term]) -> Composite:
    """The path of a match, whose elements are all single."""
    parts = []
    for name in path.elements:
        term = scope.get(name)
        if term is None:
            raise CannotRun("A named path of a variable-length pattern.")
        parts.append((name, term))
    return Composite(Shape.PATH, tuple(parts), strict=True)


def compile_composite(
    expression: Expression,
    made: Composites,
    known: Mapping[str, Value],
    compile_term: Callable[[Expression], Term],
) -> Composite | None:
    """Compile the expression as a composite; None if it is another kind of value.

    `made` maps variables to composites, `known` to values that are the same in all rows.
    """
    found = find_known(expression, known)
    if found is not None:
        is_nested = isinstance(found.value, list | dict) and is_json(found.value)
        return Composite(Shape.KNOWN, (), value=found.value) if is_nested else None

    def compile_part(part: Expression) -> Term | Composite:
        return compile_composite(part, made, known, compile_term) or compile_term(part)

    match expression:
        case Variable(name=name):
            return made.get(name)
        case ListExpression(items=items) if 0 < len(items) <= LARGEST:
            return Composite(Shape.LIST, tuple(("", compile_part(each)) for each in items))
        case MapExpression(entries=entries) if len(entries) <= LARGEST:
            if len({key for key, _ in entries}) < len(entries):
                return None
            return Composite(Shape.MAP, tuple((key, compile_part(each)) for key, each in entries))
        case FunctionCall(name="nodes" | "relationships", arguments=(Variable(name=name),)):
            path = made.get(name)
            if path is None or path.shape is not Shape.PATH:
                return None
            parts = path.parts[0 if expression.name == "nodes" else 1 :: 2]
            if not parts or len(path.parts) < 3:
                return None
            return Composite(Shape.LIST, parts, strict=True)
        case _:
            return None


def is_json(value: Value) -> bool:
    """Return whether the value, with all its parts, has a JSON form."""
    match value:
        case None | bool() | int() | str():
            return True
        case float():
            return math.isfinite(value)
        case list():
            return all(map(is_json, value))
        case dict():
            return all(map(is_json, value.values()))
        case _:
            return False
