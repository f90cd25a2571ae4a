"""Runs plans inside of a query, for all rows at once: subqueries, and patterns in expressions.

Each row of such a plan has the number of the row for which it is: what a plan groups, orders or
limits, it does so among the rows with one number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from twinframe.query.algebra import Apply, Operator, Subplan, SubplanKind
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.analysis import find_arguments, find_scope, find_variables
from twinframe_columns.expressions import Evaluate, ExpressionCompiler
from twinframe_columns.frame import Frame, Run, unfold
from twinframe_columns.grouping import order_members
from twinframe_columns.kinds import Integers
from twinframe_columns.patterns import PatternMatcher, drop
from twinframe_columns.vectors import Entities, Lists, Numbers, Truths, Vector, read_rows, take
from twinframe_columns.weights import count_weighted, multiply

Execute: TypeAlias = Callable[[Run], Frame]
CompilePlan: TypeAlias = Callable[[Operator, frozenset[str]], Execute]

INDEX: Final = " index"
"""A variable that no query can name: the number of the row to which a subplan belongs."""


def name_presence(variable: str) -> str:
    """Return the variable that says whether another one is there, and not null."""
    return f" has {variable}"


def number_rows(frame: Frame, name: str = INDEX) -> Frame:
    """Return the frame with the number of each row, each standing for one."""
    index = Entities(np.arange(frame.count, dtype=np.int32), edges=name)
    return Frame(frame.count, {**frame.variables, name: index}, frame.weights)


def read_index(frame: Frame, name: str = INDEX) -> Integers:
    """Return the numbers that rows were given."""
    vector = frame.variables.get(name)
    return read_rows(vector.rows) if isinstance(vector, Entities) else np.empty(0, np.int32)


def count_found(run: Run, matcher: PatternMatcher, source: Frame) -> Integers:
    """Return how many matches each row has."""
    plain = replace(source, weights=None)
    found = matcher.match(run, number_rows(plain), frozenset((INDEX,)))
    return count_weighted(read_index(found), found.weights, source.count)


def keep_range(frame: Frame, low: int, high: int | None) -> Frame:
    """Return from `low` to `high` of the rows with each number, in the order in which they are."""
    frame = unfold(frame)
    index = read_index(frame)
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    ranks = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    kept = ranks >= low
    if high is not None:
        kept &= ranks < high
    return frame.take(order[kept].astype(np.int32))


def run_inner(run: Run, plan: Execute, frame: Frame, names: frozenset[str]) -> Frame:
    """Run a plan for each row of a frame, of which it reads the variables `names`."""
    own = Frame(frame.count, {name: frame.variables[name] for name in names})
    return plan(replace(run, argument=number_rows(own)))


def compile_subplan(
    subplan: Subplan, compile_inner: CompilePlan, expressions: ExpressionCompiler
) -> Evaluate:
    """Return the function of a plan that is tested, counted or listed for each row."""
    names = find_arguments(subplan.plan)
    if subplan.kind is SubplanKind.COLLECT and subplan.value is not None:
        value = expressions.compile(subplan.value)
        listed = compile_inner(subplan.plan, find_variables(subplan.value))

        def collect(run: Run, frame: Frame) -> Vector:
            found = unfold(run_inner(run, listed, frame, names))
            index = read_index(found)
            order = order_members(index, frame.count)
            items = take(value(run, found), order.astype(np.int32))
            sizes = np.bincount(index, minlength=frame.count)
            return Lists(np.cumsum(sizes) - sizes, sizes, items)

        return collect
    plan = compile_inner(subplan.plan, frozenset())
    is_test = subplan.kind is SubplanKind.EXISTS

    def evaluate(run: Run, frame: Frame) -> Vector:
        found = run_inner(run, plan, frame, names)
        counts = count_weighted(read_index(found), found.weights, frame.count)
        return Truths(counts > 0) if is_test else Numbers(counts.astype(np.float64), True)

    return evaluate


def compile_apply(
    operator: Apply, below: Execute, compile_inner: CompilePlan, needed: frozenset[str]
) -> Execute:
    """Compile a subquery: each row with each row that the plan has for it."""
    names = find_arguments(operator.plan)
    plan = compile_inner(operator.plan, needed & frozenset(find_scope(operator.plan)))

    def run_apply(run: Run) -> Frame:
        frame = below(run)
        found = run_inner(run, plan, frame, names)
        if found.count > run.most_rows:
            raise CannotRun("More rows than are held at once.")
        part = frame.take(read_index(found).astype(np.int32))
        weights = part.weights
        if found.weights is not None:
            weights = found.weights if weights is None else multiply(weights, found.weights)
        added = {name: one for name, one in found.variables.items() if name != INDEX}
        return drop(Frame(part.count, {**part.variables, **added}, weights), needed)

    return run_apply
