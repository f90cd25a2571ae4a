"""Compiles arithmetic over 64-bit integers and doubles; strings and lists are left to the
evaluator.
"""

from __future__ import annotations

from collections.abc import Callable

from twinframe.query.engine import CannotRun
from twinframe_storage_rdf.compiler import kinds as k
from twinframe_storage_rdf.compiler.term import Term, render_bound

LARGEST_OPERAND = 2_000
"""The limit on characters of SPARQL, since guards repeat their operands."""


def compile_arithmetic(
    left: Term, operator: str, right: Term, guard: Callable[[str], None]
) -> Term:
    """Compile `left + right` and the same for `- * /`.

    A guard covers results that are no number, caused by an overflow or another type.
    """
    if k.NULL in (left.kinds, right.kinds):
        raise CannotRun("An operation that the type of null decides.")
    if not (left.kinds & k.NUMBER and right.kinds & k.NUMBER):
        raise CannotRun(f"The operator {operator} over values that are no numbers.")
    if len(left.text) + len(right.text) > LARGEST_OPERAND:
        raise CannotRun(f"The operator {operator} in so deep an expression.")
    kinds = _find_kinds(left, right)
    if kinds & k.FLOAT:
        # NOTE: a sum of doubles may be infinite, and engines differ in what they return then.
        _check_finite(left, operator, right, guard)
    result = f"({left.text} {operator} {right.text})"
    if operator == "/":
        if kinds & k.INTEGER:
            raise CannotRun("A division that may be one of integers.")
        guard(f"{right.text} = 0")
    bound = " && ".join(render_bound(each) for each in (left, right))
    guard(f"{bound} && !COALESCE(isNumeric({result}), false)")
    return Term(kinds | (left.kinds | right.kinds) & k.NULL, result)


def _check_finite(left: Term, operator: str, right: Term, guard: Callable[[str], None]) -> None:
    guard(f"ABS({left.text} {operator} {right.text}) > 1.0e308")


def _find_kinds(left: Term, right: Term) -> int:
    a, b = left.kinds & k.NUMBER, right.kinds & k.NUMBER
    return k.FLOAT if k.FLOAT in (a, b) else a | b
