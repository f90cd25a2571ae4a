"""Walks the terms of the algebra: `children` are the parts of a term, `map_children` changes them.

A term is an expression or an operator. What a pass does at each term is its own; how to reach the
parts is decided here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import is_
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

from twinframe.query import algebra as al
from twinframe.query.algebra import Expression, GraphPattern, Operator

Term: TypeAlias = Expression | Operator
T = TypeVar("T")

HELD: Final[Mapping[type, tuple[str, ...]]] = {
    al.Literal: (),
    al.Parameter: (),
    al.Variable: (),
    al.Property: ("subject",),
    al.Subscript: ("subject", "index"),
    al.Slice: ("subject", "start", "end"),
    al.ListExpression: ("items",),
    al.MapExpression: ("entries",),
    al.Unary: ("operand",),
    al.Binary: ("left", "right"),
    al.HasLabels: ("subject",),
    al.Case: ("operand", "branches", "default"),
    al.FunctionCall: ("arguments",),
    al.ListComprehension: ("source", "predicate", "projection"),
    al.Quantifier: ("source", "predicate"),
    al.Reduce: ("initial", "source", "step"),
    al.Subplan: ("plan", "value"),
    al.Unit: (),
    al.Argument: (),
    al.Match: ("source", "pattern", "predicate"),
    al.Filter: ("source", "predicate"),
    al.Project: ("source", "items"),
    al.Aggregate: ("source", "keys", "aggregates"),
    al.Distinct: ("source",),
    al.Sort: ("source", "keys"),
    al.Skip: ("source", "count"),
    al.Limit: ("source", "count"),
    al.Unwind: ("source", "expression"),
    al.Union: ("left", "right"),
    al.Apply: ("source", "plan"),
    # The parts of operators that hold terms and are none themselves:
    al.GraphPattern: ("nodes", "relationships"),
    al.NodePattern: ("properties",),
    al.RelationshipPattern: ("properties",),
    al.AggregateCall: ("arguments",),
    al.SortKey: ("expression",),
}
"""Class -> its fields in which there are terms, alone or within tuples and such parts."""

_OPERATORS: Final = frozenset(get_args(Operator))
_INPUTS: Final = {
    kind: tuple(name for name in HELD[kind] if name in ("source", "left", "right", "plan"))
    for kind in _OPERATORS
}
_TERMS: Final = frozenset(get_args(Expression)) | _OPERATORS


def children(term: Term | GraphPattern) -> tuple[Term, ...]:
    """The terms directly within a term, in the order of its fields; the plan of a subplan is one,
    as are sources.
    """
    names = HELD[type(term)]
    if not names:
        return ()
    found: list[Term] = []
    for name in names:
        held = getattr(term, name)
        if type(held) in _TERMS:
            found.append(held)
        elif held is not None:
            _add_terms(held, found)
    return tuple(found)


def _add_terms(held: Any, found: list[Term]) -> None:
    if type(held) is tuple:
        # PERF: a list of thousands of literals is added at once; a tuple that begins with a term
        # has nothing else.
        if held and type(held[0]) in _TERMS:
            found += held
        else:
            for item in held:
                if type(item) in _TERMS:
                    found.append(item)
                else:
                    _add_terms(item, found)
    elif type(held) in HELD:
        found += children(held)


def find_parts(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly within one; the plan of a subplan is none."""
    if isinstance(expression, al.Subplan):
        return () if expression.value is None else (expression.value,)
    return cast("tuple[Expression, ...]", children(expression))


def find_expressions(operator: Operator) -> tuple[Expression, ...]:
    """The expressions that the operator itself evaluates, those of its pattern included."""
    return tuple(
        cast("Expression", one) for one in children(operator) if type(one) not in _OPERATORS
    )


def find_inputs(operator: Operator) -> tuple[Operator, ...]:
    """The operators directly below: its sources, and the plan of an `Apply`."""
    return tuple(getattr(operator, name) for name in _INPUTS[type(operator)])


def walk_inputs(operator: Operator) -> Iterator[Operator]:
    """Yield the operator and all whose rows flow to it, each before its sources, as in plans that
    are shown; those of subplans in expressions are none.
    """
    waiting = [operator]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(find_inputs(one)))


def find_sources(operator: Operator) -> tuple[Operator, ...]:
    """The operators whose rows it consumes, without the plan of an `Apply`."""
    inputs = find_inputs(operator)
    return inputs[:1] if isinstance(operator, al.Apply) else inputs


def walk(term: Term, without: Term | None = None) -> Iterator[Term]:
    """Yield the term and all terms below it, those of subplans included.

    The object `without`, and everything below it, is left out.
    """
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if one is not without:
            yield one
            if HELD[type(one)]:  # PERF: most terms are literals and variables
                waiting += children(one)


def walk_operators(operator: Operator) -> Iterator[Operator]:
    """Yield the operator and all operators below it, those of subplans included."""
    return (cast("Operator", one) for one in walk(operator) if type(one) in _OPERATORS)


def walk_expressions(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all its parts, without those of the plans of subplans."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += find_parts(one)


# --- change -----------------------------------------------------------------------------------


def map_children(term: T, change: Callable[[Term], Term]) -> T:
    """Return the term with `change` applied to each of its children.

    The result is the same object where they are. NOTE: by identity, not by equality: an equal term
    may stand elsewhere in the text.
    """
    changed: dict[str, object] | None = None
    for name in HELD[type(term)]:
        held = getattr(term, name)
        mapped = change(held) if type(held) in _TERMS else _map_terms(held, change)
        if mapped is not held:
            changed = changed or {}
            changed[name] = mapped
    return replace(term, **changed) if changed else term  # type: ignore[type-var]  # a dataclass


def _map_terms(held: Any, change: Callable[[Term], Term]) -> Any:
    if type(held) is tuple:
        mapped = tuple(
            [change(one) if type(one) in _TERMS else _map_terms(one, change) for one in held]
        )
        return held if all(map(is_, held, mapped)) else mapped
    return map_children(held, change) if type(held) in HELD else held


def rewrite_operators(operator: Operator, rewrite: Callable[[Operator], Operator]) -> Operator:
    """Return the plan with `rewrite` applied to each operator after those below it.

    The plans of `Apply` and of subplans within expressions are entered too.
    """

    def enter(term: Term) -> Term:
        rebuilt = map_children(term, enter)
        return rewrite(cast("Operator", rebuilt)) if type(rebuilt) in _OPERATORS else rebuilt

    return cast("Operator", enter(operator))


def rewrite_expression(
    expression: Expression, rewrite: Callable[[Expression], Expression]
) -> Expression:
    """Return the expression with `rewrite` applied to each part, inner ones first; not to plans."""

    def enter(term: Term) -> Term:
        if type(term) in _OPERATORS:
            return term
        return rewrite(cast("Expression", map_children(term, enter)))

    return cast("Expression", enter(expression))


def rewrite_own(operator: Operator, rewrite: Callable[[Expression], Expression]) -> Operator:
    """Return the operator with `rewrite` applied to each expression that it evaluates itself."""

    def enter(term: Term) -> Term:
        return term if type(term) in _OPERATORS else rewrite(cast("Expression", term))

    return map_children(operator, enter)
