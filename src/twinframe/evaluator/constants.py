"""Evaluates an expression without row, graph or parameters: what a planner folds."""

from __future__ import annotations

from typing import NoReturn

from twinframe.cypher.algebra import Expression, Operator
from twinframe.evaluator.expressions import compile_expression
from twinframe.evaluator.limits import Limits
from twinframe.evaluator.reader import EmptyReader
from twinframe.evaluator.run import Run
from twinframe.evaluator.scope import Plans, Scope
from twinframe.model.values import Value


def evaluate_constant(expression: Expression) -> Value:
    """The value of an expression that reads no variable, parameter or graph.

    Raises `QueryInvalid` where its evaluation would.
    """
    evaluate = compile_expression(expression, Scope((), Plans(_refuse_plan, frozenset())))
    return evaluate((), Run(EmptyReader(), {}, Limits()))


def _refuse_plan(plan: Operator, outer: Scope) -> NoReturn:
    raise LookupError("A constant expression holds no plan.")
