"""Compiles expressions over lists and maps: literals, parts, comprehensions and quantifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from twinframe.query.algebra import (
    Expression,
    ListComprehension,
    ListExpression,
    MapExpression,
    Quantifier,
    Reduce,
    Slice,
    Subscript,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.analysis import find_variables
from twinframe_columns.frame import Frame, Run
from twinframe_columns.lists import (
    build_lists,
    cut,
    find_owners,
    join_rows,
    open_items,
    quantify,
    read_element,
)
from twinframe_columns.merging import merge, read_lists
from twinframe_columns.rowwise import Evaluate
from twinframe_columns.vectors import Lists, Maps, Vector, read_truths, take

Nested = (
    ListExpression | MapExpression | Subscript | Slice | ListComprehension | Quantifier | Reduce
)

_LONGEST: Final = 5_000
"""Items up to which `reduce` goes over all lists at once, place by place."""


def compile_nested(expression: Nested, compile_one: Callable[[Expression], Evaluate]) -> Evaluate:
    """Return the function of an expression; `compile_one` compiles what it consists of."""
    match expression:
        case ListExpression(items=items):
            listed = [compile_one(one) for one in items]
            return lambda run, frame: join_rows([one(run, frame) for one in listed], frame.count)
        case MapExpression(entries=entries):
            members = [(name, compile_one(one)) for name, one in entries]
            return lambda run, frame: Maps({name: one(run, frame) for name, one in members})
        case Subscript():
            return _compile_subscript(expression, compile_one)
        case Slice():
            return _compile_slice(expression, compile_one)
        case ListComprehension():
            return _compile_comprehension(expression, compile_one)
        case Quantifier():
            return _compile_quantifier(expression, compile_one)
        case Reduce():
            return _compile_reduce(expression, compile_one)


def _compile_subscript(
    expression: Subscript, compile_one: Callable[[Expression], Evaluate]
) -> Evaluate:
    subject, index = compile_one(expression.subject), compile_one(expression.index)
    return lambda run, frame: read_element(
        read_lists(subject(run, frame), frame.count), index(run, frame)
    )


def _compile_slice(expression: Slice, compile_one: Callable[[Expression], Evaluate]) -> Evaluate:
    subject = compile_one(expression.subject)
    start = None if expression.start is None else compile_one(expression.start)
    end = None if expression.end is None else compile_one(expression.end)

    def evaluate(run: Run, frame: Frame) -> Vector:
        lists = read_lists(subject(run, frame), frame.count)
        return cut(lists, start and start(run, frame), end and end(run, frame))

    return evaluate


def _compile_comprehension(
    expression: ListComprehension, compile_one: Callable[[Expression], Evaluate]
) -> Evaluate:
    variable, source = expression.variable, compile_one(expression.source)
    inner = [one for one in (expression.predicate, expression.projection) if one is not None]
    names = frozenset[str]().union(*map(find_variables, inner)) - {variable}
    keeps = None if expression.predicate is None else compile_one(expression.predicate)
    project = None if expression.projection is None else compile_one(expression.projection)

    def evaluate(run: Run, frame: Frame) -> Vector:
        lists = read_lists(source(run, frame), frame.count)
        opened, owners = open_items(lists, frame, variable, names), find_owners(lists)
        if keeps is not None:
            holds = read_truths(keeps(run, opened), opened.count).true
            opened, owners = opened.take(holds), owners[holds]
        items = opened.variables[variable] if project is None else project(run, opened)
        return build_lists(items, owners, lists)

    return evaluate


def _compile_quantifier(
    expression: Quantifier, compile_one: Callable[[Expression], Evaluate]
) -> Evaluate:
    variable, source = expression.variable, compile_one(expression.source)
    test = compile_one(expression.predicate)
    names = find_variables(expression.predicate) - {variable}

    def evaluate(run: Run, frame: Frame) -> Vector:
        lists = read_lists(source(run, frame), frame.count)
        opened = open_items(lists, frame, variable, names)
        return quantify(expression.kind, read_truths(test(run, opened), opened.count), lists)

    return evaluate


def _compile_reduce(expression: Reduce, compile_one: Callable[[Expression], Evaluate]) -> Evaluate:
    source, initial = compile_one(expression.source), compile_one(expression.initial)
    step = compile_one(expression.step)
    bound = expression.accumulator, expression.variable
    names = find_variables(expression.step) - {*bound}

    def evaluate(run: Run, frame: Frame) -> Vector:
        lists = read_lists(source(run, frame), frame.count)
        found = initial(run, frame)
        longest = int(lists.sizes.max()) if frame.count else 0
        if longest > _LONGEST:
            raise CannotRun("A reduction of long lists.")
        kept = {name: one for name, one in frame.variables.items() if name in names}
        for at in range(longest):
            run.reader.check_deadline()
            rows = np.flatnonzero(lists.sizes > at).astype(np.int32)
            part = Frame(frame.count, kept).take(rows)
            item = take(lists.items, (lists.starts[rows] + at).astype(np.int32))
            opened = {**part.variables, bound[0]: take(found, rows), bound[1]: item}
            own = step(run, Frame(part.count, opened))
            found = own if len(rows) == frame.count else _replace(found, rows, own, frame.count)
        return found if lists.valid is None else _keep_valid(found, lists)

    return evaluate


def _replace(found: Vector, rows: np.ndarray, own: Vector, count: int) -> Vector:
    others = np.ones(count, np.bool_)
    others[rows] = False
    rest = np.flatnonzero(others).astype(np.int32)
    return merge([(rest, take(found, rest)), (rows, own)], count)


def _keep_valid(found: Vector, lists: Lists) -> Vector:
    assert lists.valid is not None  # noqa: S101  # as asked
    rows = np.flatnonzero(lists.valid).astype(np.int32)
    return merge([(rows, take(found, rows))], len(lists.sizes))
