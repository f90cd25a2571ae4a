"""Applies what has no operation on vectors to each distinct combination of values.

The evaluator computes it, so that values and errors are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NoReturn, TypeAlias

import numpy as np

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.algebra import (
    Binary,
    Expression,
    FunctionCall,
    Operator,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.expressions import compile_expression
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.run import Run as EvaluatorRun
from twinframe.query.evaluate.scope import Plans, Scope
from twinframe.query.traversal import walk_expressions
from twinframe_columns.frame import Frame, Run
from twinframe_columns.grouping import group
from twinframe_columns.merging import build_vector
from twinframe_columns.values import read_scalars
from twinframe_columns.vectors import Constant, Mixed, Numbers, Vector, simplify, take

Evaluate: TypeAlias = Callable[[Run, Frame], Vector]

MOST_VALUES: Final = 200_000
"""Distinct combinations, at about a microsecond each; for more another engine is as fast."""

_CHANGING: Final = frozenset({"rand", "randomUUID", "timestamp"})
_CLOCKS: Final = frozenset({"date", "datetime", "localdatetime", "localtime", "time", "duration"})


def is_random(expression: Expression) -> bool:
    """Whether it has another value each time, even within a run."""
    return any(
        isinstance(part, FunctionCall)
        and (part.name in _CHANGING or part.name.endswith(".realtime"))
        for part in walk_expressions(expression)
    )


def is_changing(expression: Expression) -> bool:
    """Whether it reads chance or a clock, or makes temporal values."""
    return any(
        isinstance(part, FunctionCall)
        and (part.name in _CHANGING or part.name.partition(".")[0] in _CLOCKS)
        for part in walk_expressions(expression)
    )


Apply: TypeAlias = Callable[[Run, Frame, Sequence[Vector]], Vector]


def apply_to_rows(expression: Binary | FunctionCall) -> Apply:
    """Compile an expression to a function of its operands' values."""
    if is_changing(expression):
        raise CannotRun("A value that changes from row to row.")
    count = 2 if isinstance(expression, Binary) else len(expression.arguments)
    names = tuple(str(at) for at in range(count))
    variables = tuple(Variable(name) for name in names)
    outer: Expression
    if isinstance(expression, Binary):
        outer = replace(expression, left=variables[0], right=variables[1])
    else:
        outer = replace(expression, arguments=variables)
    compute = compile_expression(outer, Scope(names, Plans(_refuse_plan, frozenset())))

    def apply(run: Run, frame: Frame, operands: Sequence[Vector]) -> Vector:
        vectors = [simplify(one) for one in operands]
        varying = [one for one in vectors if not isinstance(one, Constant)]
        if any(map(_has_negative_zero, varying)):
            raise CannotRun("A function of -0.0, which is another value than 0.0.")
        groups = group(Frame(frame.count, {}), varying)
        if groups.count > MOST_VALUES:
            raise CannotRun("A function of many different values.")
        if not frame.count:
            return Constant(None)
        firsts = groups.firsts.astype(np.int32)
        columns = [read_scalars(take(one, firsts), groups.count) for one in vectors]
        own = EvaluatorRun(run.reader, run.parameters, Limits())
        try:
            values = [compute(row, own) for row in zip(*columns, strict=True)]
        except (QueryInvalid, LimitExceeded) as error:
            raise CannotRun("A function that is an error for one of the rows.") from error
        found = build_vector(values)
        if groups.count == 1 and len(values) == 1:
            return Constant(values[0])
        return take(found, groups.members.astype(np.int32))

    return apply


def _has_negative_zero(vector: Vector) -> bool:
    match vector:
        case Numbers(data=data) | Mixed(numbers=data) if data is not None:
            return bool((np.signbit(data) & (data == 0)).any())
        case _:
            return False


def _refuse_plan(plan: Operator, outer: Scope) -> NoReturn:
    raise LookupError("An operator of values holds no plan.")
