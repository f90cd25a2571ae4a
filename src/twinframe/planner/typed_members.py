"""Keeps a store's engine from plans that read members which are more than JSON. It runs none.

Engines know documents alone, where a time is text. Whatever names such a member, or may reach it
without naming it, is left to the evaluator, which is told the members' types; conditions are taken
out of the matches that they stand in, so that the engine can still find these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from twinframe.cypher.algebra import (
    Binary,
    BinaryOperator,
    Expression,
    Filter,
    FunctionCall,
    GraphPattern,
    Literal,
    Match,
    NodePattern,
    Operator,
    PathKind,
    Property,
    Query,
    RelationshipPattern,
    Subscript,
    Unit,
    Variable,
)
from twinframe.evaluator.analysis import (
    build_conjunction,
    find_conjuncts,
    find_expressions,
    walk_expressions,
    walk_operators,
)
from twinframe.model.values import Value
from twinframe.planner.traversal import rewrite_operators
from twinframe.storage.base import CannotRun, CompiledQuery, QueryEngine

Part = TypeVar("Part", NodePattern, RelationshipPattern)


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


def move_typed_conditions(root: Operator, names: frozenset[str]) -> Operator:
    """The plan with every condition that may read a member of `names` above its match.

    What is left of the match is the engine's; the rows that it finds are then tested.
    """
    return rewrite_operators(root, lambda operator: _move_conditions(operator, names))


def _move_conditions(operator: Operator, names: frozenset[str]) -> Operator:
    # NOTE: an optional match would turn into rows what a filter behind it drops; a shortest path is
    # another one without its conditions.
    if not isinstance(operator, Match) or operator.optional:
        return operator
    pattern = operator.pattern
    if any(path.kind is not PathKind.ALL for path in pattern.paths):
        return operator
    typed: list[Expression] = []
    plain: list[Expression] = []
    nodes = tuple(_split_members(node, names, typed) for node in pattern.nodes)
    relationships = tuple(
        crossed if crossed.length is not None else _split_members(crossed, names, typed)
        for crossed in pattern.relationships
    )
    for conjunct in find_conjuncts(operator.predicate):
        (typed if _is_typed(conjunct, names) else plain).append(conjunct)
    condition = build_conjunction(typed)
    if condition is None:
        return operator
    left = replace(pattern, nodes=nodes, relationships=relationships)
    return Filter(replace(operator, pattern=left, predicate=build_conjunction(plain)), condition)


def _split_members(part: Part, names: frozenset[str], typed: list[Expression]) -> Part:
    """The part of a pattern without the equalities that are added to `typed`."""
    kept: list[tuple[str, Expression]] = []
    for key, value in part.properties:
        member = Property(Variable(part.variable, part.span), key, part.span)
        equality = Binary(BinaryOperator.EQUAL, member, value, part.span)
        if _is_typed(equality, names):
            typed.append(equality)
        else:
            kept.append((key, value))
    return part if len(kept) == len(part.properties) else replace(part, properties=tuple(kept))


def _is_typed(condition: Expression, names: frozenset[str]) -> bool:
    return find_typed_member(Filter(Unit(), condition), names) is not None


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
