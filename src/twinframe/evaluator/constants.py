"""Evaluates an expression without row or graph: what a planner folds, or a store binds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    return compile_constant(expression)({})


def compile_constant(expression: Expression) -> Callable[[Mapping[str, Value]], Value]:
    """A function of the parameters to the value of an expression that reads nothing else.

    Raises `LookupError` for one that reads a variable or the graph.
    """
    evaluate = compile_expression(expression, Scope((), Plans(_refuse_plan, frozenset())))
    return lambda parameters: evaluate((), Run(EmptyReader(), parameters, Limits()))


def _refuse_plan(plan: Operator, outer: Scope) -> NoReturn:
    raise LookupError("A constant expression holds no plan.")
