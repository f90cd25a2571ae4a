"""Evaluates expressions without a row or a graph, for planners that fold them and stores that bind
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.model.values import Value
from twinframe.query.algebra import (
    Expression,
    FunctionCall,
    Operator,
    Parameter,
    Subplan,
)
from twinframe.query.evaluate.analysis import find_variables
from twinframe.query.evaluate.expressions import compile_expression
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.run import Run
from twinframe.query.evaluate.scope import Plans, Scope
from twinframe.query.reader import EmptyReader
from twinframe.query.traversal import walk_expressions

_LONGEST: Final = 1000
_LARGEST: Final = 64 * 1024
_FEW: Final = 8
_MANY: Final = 400
"""The number of deadline checks of a run: 2,048 and 102,400 steps."""

CHANGING: Final = frozenset({"rand", "randomUUID", "timestamp"})
CLOCKS: Final = frozenset({"date", "datetime", "localdatetime", "localtime", "time"})


@dataclass(frozen=True, slots=True)
class Known:
    """A value that is the same for all rows of a query, however often it runs."""

    value: Value


class _BriefReader(EmptyReader):
    """An empty graph that ends a run after too many deadline checks.

    A run checks every 256th step. NOTE: computations at compile time have no deadline of their own,
    and `reduce` over a `range()` may take any number of steps.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    def check_deadline(self) -> None:
        """Raise `LimitExceeded` when the steps are used up."""
        self._left -= 1
        if self._left < 0:
            raise LimitExceeded(
                "An expression that reads no row takes too many steps; send its value as parameter."
            )


def find_known(expression: Expression, known: Mapping[str, Value]) -> Known | None:
    """Return the value of an expression that reads no variable but `known` ones; None for all
    others.

    None too for an expression that reads parameters, the graph, the clock or chance, that makes
    more than a thousand elements or 64 KiB, that takes more than two thousand steps, or that ends
    in an error: an error belongs to the rows that meet it.
    """
    names = find_variables(expression)
    if not names <= known.keys() or _is_changing(expression):
        return None
    scope = Scope(tuple(names), Plans(_refuse_plan, frozenset()))
    run = Run(_BriefReader(_FEW), {}, Limits(max_rows=_LONGEST, max_bytes=_LARGEST))
    try:
        return Known(compile_expression(expression, scope)(tuple(map(known.get, names)), run))
    except (QueryInvalid, LimitExceeded):
        return None


def _is_changing(expression: Expression) -> bool:
    for part in walk_expressions(expression):
        match part:
            case Parameter() | Subplan():
                return True
            case FunctionCall(name=name):
                if name in CHANGING or name.partition(".")[0] in CLOCKS:
                    return True
            case _:
                pass
    return False


def evaluate_constant(expression: Expression) -> Value:
    """The value of an expression that reads no variable, parameter or graph.

    Raises `QueryInvalid` where its evaluation would.
    """
    return compile_constant(expression)({})


def evaluate_briefly(expression: Expression, parameters: Mapping[str, Value]) -> Value:
    """The value of an expression that reads only parameters, on the event loop.

    Raises `LookupError` as `compile_constant`, `QueryInvalid`, and `LimitExceeded` for more than
    two thousand steps, a thousand elements or 64 KiB.
    """
    run = Run(_BriefReader(_FEW), parameters, Limits(max_rows=_LONGEST, max_bytes=_LARGEST))
    return compile_in_run(expression)(run)


def compile_constant(expression: Expression) -> Callable[[Mapping[str, Value]], Value]:
    """Compile an expression that reads only parameters to a function of the parameters.

    Raises `LookupError` for one that reads a variable or the graph. The function raises
    `LimitExceeded` for one that takes more than a hundred thousand steps.
    """
    evaluate = compile_in_run(expression)
    return lambda parameters: evaluate(open_constant_run(parameters))


def compile_in_run(expression: Expression) -> Callable[[Run], Value]:
    """As `compile_constant`, for several expressions that see one clock: that of a common run."""
    evaluate = compile_expression(expression, Scope((), Plans(_refuse_plan, frozenset())))
    return lambda run: evaluate((), run)


def open_constant_run(parameters: Mapping[str, Value]) -> Run:
    """A run for what `compile_in_run` returns."""
    return Run(_BriefReader(_MANY), parameters, Limits())


def _refuse_plan(plan: Operator, outer: Scope) -> NoReturn:
    raise LookupError("A constant expression holds no plan.")
