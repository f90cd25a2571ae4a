"""Rebuilds algebra terms bottom-up with a function applied to every operator or expression.

An unchanged term is returned as the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias, TypeVar, assert_never

from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    Apply,
    Argument,
    Binary,
    Case,
    Distinct,
    Expression,
    Filter,
    FunctionCall,
    GraphPattern,
    HasLabels,
    Limit,
    ListComprehension,
    ListExpression,
    Literal,
    MapExpression,
    Match,
    NodePattern,
    Operator,
    Parameter,
    Project,
    Property,
    Quantifier,
    Reduce,
    RelationshipPattern,
    Skip,
    Slice,
    Sort,
    Subplan,
    Subscript,
    Unary,
    Union,
    Unit,
    Unwind,
    Variable,
)

RewriteOperator: TypeAlias = Callable[[Operator], Operator]
RewriteExpression: TypeAlias = Callable[[Expression], Expression]

T = TypeVar("T")
Part = TypeVar("Part", NodePattern, RelationshipPattern)


def rewrite_operators(operator: Operator, rewrite: RewriteOperator) -> Operator:
    """Return the plan with `rewrite` applied to each operator after its sources.

    The plans of `Apply` and of subplans within expressions are entered too.
    """
    rebuilt = _rewrite_sources(operator, lambda source: rewrite_operators(source, rewrite))

    def enter(expression: Expression) -> Expression:
        if not isinstance(expression, Subplan):
            return expression
        return _keep(expression, plan=rewrite_operators(expression.plan, rewrite))

    return rewrite(rewrite_own(rebuilt, lambda one: rewrite_expression(one, enter)))


def rewrite_expression(expression: Expression, rewrite: RewriteExpression) -> Expression:
    """Return the expression with `rewrite` applied to each part, inner ones first; not to plans."""
    return rewrite(_rewrite_parts(expression, lambda part: rewrite_expression(part, rewrite)))


# --- operators --------------------------------------------------------------------------------


def _rewrite_sources(operator: Operator, rewrite: RewriteOperator) -> Operator:
    match operator:
        case Unit() | Argument():
            return operator
        case Union(left=left, right=right):
            return _keep(operator, left=rewrite(left), right=rewrite(right))
        case Apply(source=source, plan=plan):
            return _keep(operator, source=rewrite(source), plan=rewrite(plan))
        case _:
            return _keep(operator, source=rewrite(operator.source))


def rewrite_own(operator: Operator, rewrite: RewriteExpression) -> Operator:  # one arm an operator
    """Return the operator with `rewrite` applied to each expression that it evaluates itself."""
    match operator:
        case Unit() | Argument() | Distinct() | Union() | Apply():
            return operator
        case Match(pattern=pattern, predicate=predicate):
            return _keep(
                operator,
                pattern=_rewrite_pattern(pattern, rewrite),
                predicate=None if predicate is None else rewrite(predicate),
            )
        case Filter(predicate=predicate):
            return _keep(operator, predicate=rewrite(predicate))
        case Project(items=items):
            return _keep(operator, items=_rewrite_named(items, rewrite))
        case Aggregate(keys=keys, aggregates=aggregates):
            return _keep(
                operator,
                keys=_rewrite_named(keys, rewrite),
                aggregates=_rewrite_calls(aggregates, rewrite),
            )
        case Sort(keys=sort_keys):
            rewritten = [_keep(key, expression=rewrite(key.expression)) for key in sort_keys]
            return _keep(operator, keys=_same_or(sort_keys, rewritten))
        case Skip(count=count) | Limit(count=count):
            return _keep(operator, count=rewrite(count))
        case Unwind(expression=expression):
            return _keep(operator, expression=rewrite(expression))
        case _:
            assert_never(operator)


def _rewrite_pattern(pattern: GraphPattern, rewrite: RewriteExpression) -> GraphPattern:
    def rewrite_part(part: Part) -> Part:
        return _keep(part, properties=_rewrite_named(part.properties, rewrite))

    return _keep(
        pattern,
        nodes=_same_or(pattern.nodes, map(rewrite_part, pattern.nodes)),
        relationships=_same_or(pattern.relationships, map(rewrite_part, pattern.relationships)),
    )


def _rewrite_named(
    items: tuple[tuple[str, Expression], ...], rewrite: RewriteExpression
) -> tuple[tuple[str, Expression], ...]:
    rewritten = tuple((name, rewrite(expression)) for name, expression in items)
    changed = any(one[1] is not other[1] for one, other in zip(items, rewritten, strict=True))
    return rewritten if changed else items


def _rewrite_calls(
    calls: tuple[tuple[str, AggregateCall], ...], rewrite: RewriteExpression
) -> tuple[tuple[str, AggregateCall], ...]:
    rewritten = tuple(
        (name, _keep(call, arguments=_same_or(call.arguments, map(rewrite, call.arguments))))
        for name, call in calls
    )
    changed = any(one[1] is not other[1] for one, other in zip(calls, rewritten, strict=True))
    return rewritten if changed else calls


# --- expressions ------------------------------------------------------------------------------


def _rewrite_parts(expression: Expression, rewrite: RewriteExpression) -> Expression:  # noqa: C901  # one arm a kind
    def optional(part: Expression | None) -> Expression | None:
        return None if part is None else rewrite(part)

    match expression:
        case Literal() | Parameter() | Variable():
            return expression
        case Property(subject=subject) | HasLabels(subject=subject):
            return _keep(expression, subject=rewrite(subject))
        case Subscript(subject=subject, index=index):
            return _keep(expression, subject=rewrite(subject), index=rewrite(index))
        case Slice(subject=subject, start=start, end=end):
            return _keep(
                expression, subject=rewrite(subject), start=optional(start), end=optional(end)
            )
        case ListExpression(items=items):
            return _keep(expression, items=_same_or(items, map(rewrite, items)))
        case MapExpression(entries=entries):
            return _keep(expression, entries=_rewrite_named(entries, rewrite))
        case Unary(operand=operand):
            return _keep(expression, operand=rewrite(operand))
        case Binary(left=left, right=right):
            return _keep(expression, left=rewrite(left), right=rewrite(right))
        case Case():
            return _rewrite_case(expression, rewrite)
        case FunctionCall(arguments=arguments):
            return _keep(expression, arguments=_same_or(arguments, map(rewrite, arguments)))
        case ListComprehension():
            return _keep(
                expression,
                source=rewrite(expression.source),
                predicate=optional(expression.predicate),
                projection=optional(expression.projection),
            )
        case Quantifier(source=source, predicate=predicate):
            return _keep(expression, source=rewrite(source), predicate=rewrite(predicate))
        case Reduce(initial=initial, source=source, step=step):
            return _keep(
                expression, initial=rewrite(initial), source=rewrite(source), step=rewrite(step)
            )
        case Subplan(value=value):
            return _keep(expression, value=optional(value))
        case _:
            assert_never(expression)


def _rewrite_case(case: Case, rewrite: RewriteExpression) -> Case:
    branches = tuple((rewrite(when), rewrite(then)) for when, then in case.branches)
    changed = any(
        one[0] is not other[0] or one[1] is not other[1]
        for one, other in zip(case.branches, branches, strict=True)
    )
    return _keep(
        case,
        operand=None if case.operand is None else rewrite(case.operand),
        branches=branches if changed else case.branches,
        default=None if case.default is None else rewrite(case.default),
    )


# --- sameness ---------------------------------------------------------------------------------


def _keep(term: T, **changes: object) -> T:
    """Return the term with other members, or the term itself when they are the same objects.

    NOTE: by identity, not by equality: literals 1, 1.0 and true are equal in Python.
    """
    if all(getattr(term, name) is value for name, value in changes.items()):
        return term
    return replace(term, **changes)  # type: ignore[type-var]  # every term is a dataclass


def _same_or(old: tuple[T, ...], new: Iterable[T]) -> tuple[T, ...]:
    rewritten = tuple(new)
    same = all(one is other for one, other in zip(old, rewritten, strict=True))
    return old if same else rewritten
