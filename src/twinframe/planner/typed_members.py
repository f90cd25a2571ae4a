"""Keeps a store's engine from plans that read members which are more than JSON. It runs none.

Engines know documents alone, where a time is text. Whatever names such a member, or may reach it
without naming it, is left to the evaluator, which is told the members' types.
"""

from __future__ import annotations

from collections.abc import Mapping

from twinframe.cypher.algebra import (
    Expression,
    FunctionCall,
    GraphPattern,
    Literal,
    Match,
    Operator,
    Property,
    Query,
    Subscript,
)
from twinframe.evaluator.analysis import find_expressions, walk_expressions, walk_operators
from twinframe.model.values import Value
from twinframe.storage.base import CannotRun, CompiledQuery, QueryEngine


class TextEngine(QueryEngine):
    """Another engine, that declines what reads one of `names`."""

    def __init__(self, engine: QueryEngine, names: frozenset[str]) -> None:
        self.name = engine.name
        self._engine = engine
        self._names = names

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """As the other engine does; `CannotRun` names the member that it would take for text."""
        found = find_typed_member(query.root, self._names)
        if found is not None:
            raise CannotRun(f"Reading {found}, which a stored model declares as temporal.")
        return self._engine.compile(query, parameters)


def find_typed_member(root: Operator, names: frozenset[str]) -> str | None:
    """What of the plan may read a member of these names; None where nothing does."""
    for operator in walk_operators(root):
        if isinstance(operator, Match):
            for key in _list_keys(operator.pattern):
                if key in names:
                    return f"the member {key}"
        for expression in find_expressions(operator):
            for part in walk_expressions(expression):
                found = _find_read(part, names)
                if found is not None:
                    return found
    return None


def _list_keys(pattern: GraphPattern) -> list[str]:
    maps = [node.properties for node in pattern.nodes]
    maps += [crossed.properties for crossed in pattern.relationships]
    return [key for properties in maps for key, _ in properties]


def _find_read(part: Expression, names: frozenset[str]) -> str | None:
    match part:
        case Property(key=key) | Subscript(index=Literal(value=str(key))):
            return f"the member {key}" if key in names else None
        case Subscript(index=Literal()):
            return None
        case Subscript():
            return "a member whose name is computed"
        case FunctionCall(name="properties"):
            return "properties()"
        case _:
            return None
