"""Finds the variables that a plan mentions, by name and without resolving scopes."""

from __future__ import annotations

from collections import Counter

from twinframe.query.algebra import (
    Aggregate,
    Argument,
    Expression,
    GraphPattern,
    Literal,
    Match,
    Operator,
    Project,
    Query,
    Unwind,
    Variable,
)
from twinframe.query.traversal import walk


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


def _count(term: Operator | Expression, counted: Counter[str]) -> None:
    bound: Counter[str] = Counter()
    for each in walk(term):
        match each:
            case Literal():  # PERF: first, as lists have thousands
                pass
            case Variable(name=name):
                counted[name] += 1
            case Argument(variables=variables):
                counted.update(variables)
            case Match(pattern=pattern):
                _count_pattern(pattern, bound)
            # What an operator binds is read by a pattern that has one of these variables.
            case Project(items=items):
                bound.update(name for name, _ in items)
            case Aggregate(keys=keys, aggregates=aggregates):
                bound.update(name for name, _ in (*keys, *aggregates))
            case Unwind(variable=variable):
                bound[variable] += 1
            case _:
                pass
    for name, times in bound.items():
        if times > 1:
            counted[name] += 1


def _count_pattern(pattern: GraphPattern, bound: Counter[str]) -> None:
    bound.update({node.variable for node in pattern.nodes})
    bound.update({relationship.variable for relationship in pattern.relationships})
    for path in pattern.paths:
        if path.variable is not None:
            bound[path.variable] += 1
