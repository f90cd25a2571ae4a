"""Compiles patterns inside of expressions: for each row whether there is a match, or how many."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from twinframe.query.algebra import Argument, Match, Project, Subplan, SubplanKind
from twinframe.query.engine import CannotRun
from twinframe_columns.expressions import Evaluate, ExpressionCompiler, is_safe
from twinframe_columns.frame import Frame, Run
from twinframe_columns.kinds import Integers
from twinframe_columns.patterns import PatternMatcher
from twinframe_columns.vectors import Entities, Numbers, Truths, Vector, read_rows
from twinframe_columns.weights import count_weighted

INDEX: Final = " index"
"""A variable that no query can name: the number of the row to which a subplan belongs."""


def name_presence(variable: str) -> str:
    """Return the variable that says whether another one is there, and not null."""
    return f" has {variable}"


def number_rows(frame: Frame) -> Frame:
    """Return the frame with the number of each row, each standing for one."""
    index = Entities(np.arange(frame.count, dtype=np.int32), edges=INDEX)
    return Frame(frame.count, {**frame.variables, INDEX: index}, frame.weights)


def count_found(run: Run, matcher: PatternMatcher, source: Frame) -> Integers:
    """Return how many matches each row has."""
    plain = replace(source, weights=None)
    found = matcher.match(run, number_rows(plain), frozenset((INDEX,)))
    index = found.variables.get(INDEX)
    if not isinstance(index, Entities):
        return np.zeros(source.count, np.int64)
    return count_weighted(read_rows(index.rows), found.weights, source.count)


def compile_subplan(subplan: Subplan, expressions: ExpressionCompiler) -> Evaluate:
    """Return the function of a pattern that is tested or counted for each row."""
    plan = subplan.plan
    if subplan.kind is SubplanKind.COLLECT:
        raise CannotRun("A list of what a pattern matches.")
    while isinstance(plan, Project) and all(is_safe(one) for _, one in plan.items):
        plan = plan.source
    if not isinstance(plan, Match) or plan.optional or not isinstance(plan.source, Argument):
        raise CannotRun("This subquery in columns.")
    bound = frozenset(plan.source.variables)
    matcher = PatternMatcher(plan.pattern, plan.predicate, expressions, bound)
    is_test = subplan.kind is SubplanKind.EXISTS

    def evaluate(run: Run, frame: Frame) -> Vector:
        variables = {name: one for name, one in frame.variables.items() if name in bound}
        counts = count_found(run, matcher, Frame(frame.count, variables))
        if is_test:
            return Truths(counts > 0)
        return Numbers(counts.astype(np.float64), True)

    return evaluate
