"""Replaces an operation on literals by its result; functions and parameters are not folded.

`WHERE n.area > 2 * 10` becomes `WHERE n.area > 20`. An operation with an error is kept, and raises
when a row reaches it.
"""

from __future__ import annotations

import math

from twinframe.errors import QueryInvalid
from twinframe.query.algebra import Binary, Expression, Literal, Operator, Unary
from twinframe.query.evaluate.constants import evaluate_constant
from twinframe.query.traversal import rewrite_expression, rewrite_own


def fold_constants(operator: Operator) -> Operator:
    """Return the operator with every constant operation in its own expressions folded."""
    return rewrite_own(operator, lambda one: rewrite_expression(one, _fold))


def _fold(expression: Expression) -> Expression:
    match expression:
        case Unary(operand=Literal()) | Binary(left=Literal(), right=Literal()):
            return _evaluate(expression)
        case _:
            return expression


def _evaluate(expression: Unary | Binary) -> Expression:
    try:
        value = evaluate_constant(expression)
    except QueryInvalid:
        return expression
    match value:
        case None | bool() | int() | str():
            return Literal(value, expression.span)
        case float() if math.isfinite(value):
            return Literal(value, expression.span)
        case _:
            # NOTE: no literal of the language spells NaN or infinity, so engines need not support
            # one.
            return expression
