"""Analyses algebra terms: free variables, conjuncts, scopes.

Engines and planner rules use it to decide where a predicate may be tested and which variables a row
needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from twinframe.query.algebra import (
    Aggregate,
    Apply,
    Argument,
    Binary,
    BinaryOperator,
    Distinct,
    Expression,
    Filter,
    GraphPattern,
    Limit,
    ListComprehension,
    Literal,
    Match,
    Operator,
    Project,
    Quantifier,
    Reduce,
    Skip,
    Sort,
    Subplan,
    Union,
    Unit,
    Unwind,
    Variable,
)
from twinframe.query.traversal import find_parts, find_sources, walk

# --- predicates ---------------------------------------------------------------------------------


def find_conjuncts(predicate: Expression | None) -> tuple[Expression, ...]:
    """The operands of the outermost ANDs, in order; empty for no predicate."""
    if predicate is None:
        return ()
    found: list[Expression] = []
    waiting = [predicate]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Binary) and one.operator is BinaryOperator.AND:
            waiting += (one.right, one.left)
        else:
            found.append(one)
    return tuple(found)


def build_conjunction(conjuncts: Sequence[Expression]) -> Expression | None:
    """All of them joined by AND, in a tree of least height; None for none."""
    joined = list(conjuncts)
    while len(joined) > 1:
        # NOTE: thousands of conditions are no deeper than a dozen, for any recursion over them.
        pairs = zip(joined[::2], joined[1::2], strict=False)
        paired: list[Expression] = [Binary(BinaryOperator.AND, *pair) for pair in pairs]
        joined = paired + joined[len(paired) * 2 :]
    return joined[0] if joined else None


# --- expressions --------------------------------------------------------------------------------


def find_variables(expression: Expression) -> frozenset[str]:
    """Return the variables of the row that the expression reads, without those it binds itself."""
    found: set[str] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        match one:
            case Literal():  # PERF: first, as lists have thousands
                pass
            case Variable(name=name):
                found.add(name)
            case ListComprehension(variable=bound, source=source):
                inner = (part for part in (one.predicate, one.projection) if part is not None)
                found |= _find_inner(inner, bound)
                waiting.append(source)
            case Quantifier(variable=bound, source=source, predicate=predicate):
                found |= _find_inner([predicate], bound)
                waiting.append(source)
            case Reduce(accumulator=accumulator, variable=bound, step=step):
                found |= _find_inner([step], accumulator, bound)
                waiting += (one.initial, one.source)
            case Subplan(plan=plan):
                found |= find_arguments(plan)
            case _:
                waiting += find_parts(one)
    return frozenset(found)


def _find_inner(expressions: Iterable[Expression], *bound: str) -> frozenset[str]:
    names = frozenset[str]().union(*(find_variables(one) for one in expressions))
    return names.difference(bound)


# --- operators ----------------------------------------------------------------------------------


def find_pattern_variables(pattern: GraphPattern) -> tuple[str, ...]:
    """The variables of a pattern, each once: nodes, relationships, then named paths."""
    names = [one.variable for one in pattern.nodes]
    names += [one.variable for one in pattern.relationships]
    names += [one.variable for one in pattern.paths if one.variable is not None]
    return tuple(dict.fromkeys(names))


def find_arguments(plan: Operator) -> frozenset[str]:
    """Return the outer variables that a correlated plan reads at its `Argument` leaves."""
    found: set[str] = set()
    for operator in walk_sources(plan):
        if isinstance(operator, Argument):
            found.update(operator.variables)
    return frozenset(found)


def walk_sources(operator: Operator) -> Iterator[Operator]:
    """The operator and everything below it, without the plans of `Apply` and `Subplan`."""
    waiting = [operator]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += find_sources(one)


def find_scope(operator: Operator) -> tuple[str, ...]:
    """The variables that the operator's rows carry, in order."""
    match operator:
        case Unit():
            return ()
        case Argument(variables=variables):
            return variables
        case Match(source=source, pattern=pattern):
            return tuple(dict.fromkeys((*find_scope(source), *find_pattern_variables(pattern))))
        case Project(items=items):
            return tuple(name for name, _ in items)
        case Aggregate(keys=keys, aggregates=aggregates):
            return (*(name for name, _ in keys), *(name for name, _ in aggregates))
        case Unwind(source=source, variable=variable):
            return tuple(dict.fromkeys((*find_scope(source), variable)))
        case Apply(source=source, plan=plan):
            return tuple(dict.fromkeys((*find_scope(source), *find_scope(plan))))
        case Union(left=left):
            return find_scope(left)
        case (
            Filter(source=source)
            | Distinct(source=source)
            | Sort(source=source)
            | Skip(source=source)
            | Limit(source=source)
        ):
            return find_scope(source)
        case _:
            assert_never(operator)


def find_mentioned(root: Operator, columns: Sequence[str]) -> frozenset[str]:
    """Return the variables that something reads: an expression, a column, or a second pattern."""
    read, matched = _find_names(root)
    shared = (name for name, times in matched.items() if times > 1)
    return frozenset((*columns, *shared, *read))


def find_mentioned_outside(
    root: Operator, columns: Sequence[str], without: Operator
) -> frozenset[str]:
    """Return the variables that the plan reads or matches again outside of one of its operators."""
    read, matched = _find_names(root, without)
    return frozenset((*columns, *matched, *read))


def _find_names(root: Operator, without: Operator | None = None) -> tuple[set[str], Counter[str]]:
    """The variables that are read, and how many patterns match each."""
    read: set[str] = set()
    matched: Counter[str] = Counter()
    for term in walk(root, without):
        if isinstance(term, Variable):
            read.add(term.name)
        elif isinstance(term, Argument):
            read.update(term.variables)
        elif isinstance(term, Match):
            matched.update(find_pattern_variables(term.pattern))
    return read, matched
