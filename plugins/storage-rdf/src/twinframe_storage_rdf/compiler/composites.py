"""Lists, maps and paths that a query makes of other terms: SPARQL has none, result columns do.

They are put together of their parts when rows are taken; nothing else may use them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twinframe.cypher.algebra import (
    Expression,
    FunctionCall,
    ListExpression,
    MapExpression,
    PathPattern,
    Variable,
)
from twinframe.storage.base import CannotRun
from twinframe_storage_rdf.compiler.term import Term

LARGEST = 64
"""Parts of a composite; each is a column of the query."""


class Shape(enum.Enum):
    """What the parts make."""

    LIST = "list"
    MAP = "map"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class Composite:
    """A value of `parts`, by name for a map. One with `strict` is null where a part is."""

    shape: Shape
    parts: tuple[tuple[str, Term | Composite], ...]
    strict: bool = False


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
    expression: Expression, known: Composites, compile_term: Callable[[Expression], Term]
) -> Composite | None:
    """The composite that the expression is; None where it is another value."""

    def compile_part(part: Expression) -> Term | Composite:
        return compile_composite(part, known, compile_term) or compile_term(part)

    match expression:
        case Variable(name=name):
            return known.get(name)
        case ListExpression(items=items) if 0 < len(items) <= LARGEST:
            return Composite(Shape.LIST, tuple(("", compile_part(each)) for each in items))
        case MapExpression(entries=entries) if len(entries) <= LARGEST:
            if len({key for key, _ in entries}) < len(entries):
                return None
            return Composite(Shape.MAP, tuple((key, compile_part(each)) for key, each in entries))
        case FunctionCall(name="nodes" | "relationships", arguments=(Variable(name=name),)):
            path = known.get(name)
            if path is None or path.shape is not Shape.PATH:
                return None
            parts = path.parts[0 if expression.name == "nodes" else 1 :: 2]
            if not parts or len(path.parts) < 3:
                return None
            return Composite(Shape.LIST, parts, strict=True)
        case _:
            return None
