"""Replaces a count of matches by whether there is one, and a list of matches by their count, where
no more is asked for.

`size([(a)-->(b) | b]) > 0` becomes `EXISTS { (a)-->(b) }`, which ends at the first match.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from twinframe.query.algebra import (
    MIRRORED,
    Binary,
    BinaryOperator,
    Expression,
    FunctionCall,
    Literal,
    Operator,
    Parameter,
    Subplan,
    SubplanKind,
    Unary,
    UnaryOperator,
    Variable,
)
from twinframe.query.traversal import rewrite_expression, rewrite_own

_SOME: Final = frozenset(
    {(BinaryOperator.GREATER, 0), (BinaryOperator.GREATER_EQUAL, 1), (BinaryOperator.NOT_EQUAL, 0)}
)
_NONE: Final = frozenset(
    {(BinaryOperator.EQUAL, 0), (BinaryOperator.LESS, 1), (BinaryOperator.LESS_EQUAL, 0)}
)


def replace_counts_by_exists(operator: Operator) -> Operator:
    """Return the operator with every such count or list in its own expressions replaced."""
    return rewrite_own(operator, lambda one: rewrite_expression(one, _rewrite))


def _rewrite(expression: Expression) -> Expression:
    match expression:
        case FunctionCall(name="size", arguments=(Subplan() as inner,)) if _is_plain_list(inner):
            return replace(inner, kind=SubplanKind.COUNT, value=None)
        case FunctionCall(name="isEmpty", arguments=(Subplan() as inner,)) if _is_plain_list(inner):
            return _build_test(inner, wanted=False)
        case Binary(operator=operator, left=Subplan(kind=SubplanKind.COUNT) as inner):
            return _compare(expression, operator, inner, expression.right)
        case Binary(operator=operator, right=Subplan(kind=SubplanKind.COUNT) as inner):
            mirrored = MIRRORED.get(operator, operator)
            return _compare(expression, mirrored, inner, expression.left)
        case _:
            return expression


def _is_plain_list(subplan: Subplan) -> bool:
    """Return whether a subplan makes a list of values that no error can come from."""
    plain = isinstance(subplan.value, Literal | Parameter | Variable)
    return subplan.kind is SubplanKind.COLLECT and plain


def _compare(
    expression: Binary, operator: BinaryOperator, inner: Subplan, other: Expression
) -> Expression:
    # NOTE: a count equals 0.0 as it equals 0; true is no number.
    if not isinstance(other, Literal) or type(other.value) not in (int, float):
        return expression
    if (operator, other.value) in _SOME:
        return _build_test(inner, wanted=True)
    if (operator, other.value) in _NONE:
        return _build_test(inner, wanted=False)
    return expression


def _build_test(inner: Subplan, *, wanted: bool) -> Expression:
    exists = replace(inner, kind=SubplanKind.EXISTS, value=None)
    return exists if wanted else Unary(UnaryOperator.NOT, exists, inner.span)
