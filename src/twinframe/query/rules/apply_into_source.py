"""Merges a subquery that reads its row into the surrounding query, so that they run as one plan.

Operations on each row separately are not merged: order, limits, distinct rows, grouping.
"""

from __future__ import annotations

from dataclasses import replace

from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Apply,
    Argument,
    Expression,
    Filter,
    Match,
    Operator,
    Project,
    Property,
    Subplan,
    SubplanKind,
    Unary,
    UnaryOperator,
    Unwind,
    Variable,
)
from twinframe.query.evaluate.analysis import find_arguments, find_pattern_variables, find_scope


def move_apply_into_source(operator: Operator) -> Operator:
    """Return `Apply(source, plan)` as the plan over the rows of the source, whose variables it
    keeps.
    """
    if not isinstance(operator, Apply) or not find_arguments(operator.plan):
        return operator
    grafted = _graft(operator.plan, operator.source, find_scope(operator.source))
    return operator if grafted is None else grafted


def _graft(plan: Operator, source: Operator, outer: tuple[str, ...]) -> Operator | None:
    """Return `plan` over `source` instead of its argument; None where that would change its
    meaning.
    """
    match plan:
        case Argument():
            return source
        case Match(pattern=pattern):
            return _graft_below(plan, find_pattern_variables(pattern), source, outer)
        case Filter():
            return _graft_below(plan, (), source, outer)
        case Unwind(variable=variable):
            return _graft_below(plan, (variable,), source, outer)
        case Project(items=items):
            below = _graft(plan.source, source, outer)
            kept = _keep(outer, items)
            return None if below is None or kept is None else Project(below, kept)
        case Aggregate(keys=(), aggregates=((name, call),)):
            subplan = _build_subplan(plan.source, call)
            kept = None if subplan is None else _keep(outer, ((name, subplan),))
            return None if kept is None else Project(source, kept)
        case _:
            return None


def _graft_below(
    plan: Match | Filter | Unwind, named: tuple[str, ...], source: Operator, outer: tuple[str, ...]
) -> Operator | None:
    # NOTE: a variable of the subquery may have the name of an outer one that it does not read.
    if not set(named) & set(outer) <= set(find_scope(plan.source)):
        return None
    below = _graft(plan.source, source, outer)
    return None if below is None else replace(plan, source=below)


def _keep(
    outer: tuple[str, ...], items: tuple[tuple[str, Expression], ...]
) -> tuple[tuple[str, Expression], ...] | None:
    """Return `items` beside the outer variables; None if one hides another value of its name."""
    if any(name in outer and expression != Variable(name) for name, expression in items):
        return None
    kept: tuple[tuple[str, Expression], ...] = tuple((name, Variable(name)) for name in outer)
    return kept + tuple(item for item in items if item[0] not in outer)


def _build_subplan(rows: Operator, call: AggregateCall) -> Subplan | None:
    """Return an aggregate over all `rows` as an expression of the row around them."""
    if call.distinct:
        return None
    match call.kind, call.arguments:
        case AggregateKind.COUNT_ROWS, ():
            return Subplan(SubplanKind.COUNT, rows, None, call.span)
        case AggregateKind.COUNT, (value,):
            present = Unary(UnaryOperator.IS_NOT_NULL, value, call.span)
            return Subplan(SubplanKind.COUNT, Filter(rows, present), None, call.span)
        case AggregateKind.COLLECT, (Variable() | Property() as value,):
            present = Unary(UnaryOperator.IS_NOT_NULL, value, call.span)
            return Subplan(SubplanKind.COLLECT, Filter(rows, present), value, call.span)
        case _:
            return None
