"""Finds the variables that a plan mentions, by name and without resolving scopes."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from functools import lru_cache

from twinframe.query.algebra import (
    Aggregate,
    Argument,
    Expression,
    GraphPattern,
    Literal,
    Operator,
    PathPattern,
    Project,
    Query,
    Unwind,
    Variable,
)
from twinframe.query.spans import Span


def find_names(part: Expression) -> frozenset[str]:
    """The variables that an expression mentions, those of its subplans included."""
    counted: Counter[str] = Counter()
    _count(part, counted)
    return frozenset(counted)


def find_needed(query: Query) -> frozenset[str]:
    """Return the variables that are mentioned outside the one pattern element that binds them."""
    counted: Counter[str] = Counter()
    _count(query.root, counted)
    counted.update(query.columns)
    return frozenset(name for name, times in counted.items() if times > 0)


def _count(part: Operator | Expression | GraphPattern, counted: Counter[str]) -> None:
    pending: list[object] = [part]
    bound: Counter[str] = Counter()
    while pending:
        each = pending.pop()
        match each:
            case Literal():
                pass
            case Variable(name=name):
                counted[name] += 1
            case Argument(variables=variables):
                counted.update(variables)
            case tuple():
                pending += each
            case None | Span() | str() | int() | float():
                pass
            case GraphPattern():
                _count_pattern(each, bound)
                pending += each.nodes + each.relationships
            case PathPattern():
                pass
            case _:
                bound.update(_list_introduced(each))
                kind: type = type(each)
                pending += (getattr(each, name) for name in _read_fields(kind))
    for name, times in bound.items():
        if times > 1:
            counted[name] += 1


def _list_introduced(operator: object) -> tuple[str, ...]:
    """List the variables that an operator binds: a pattern that has one of them reads it."""
    match operator:
        case Project(items=items):
            return tuple(name for name, _ in items)
        case Aggregate(keys=keys, aggregates=aggregates):
            return tuple(name for name, _ in (*keys, *aggregates))
        case Unwind(variable=variable):
            return (variable,)
        case _:
            return ()


def _count_pattern(pattern: GraphPattern, bound: Counter[str]) -> None:
    bound.update({node.variable for node in pattern.nodes})
    bound.update({relationship.variable for relationship in pattern.relationships})
    for path in pattern.paths:
        if path.variable is not None:
            bound[path.variable] += 1


@lru_cache(maxsize=256)
def _read_fields(kind: type) -> tuple[str, ...]:
    try:
        return tuple(each.name for each in fields(kind))
    except TypeError:  # an enumeration
        return ()
