"""Reads rows ahead of expressions about the past, to ask for the past of many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from twinframe.errors import LimitExceeded, QueryInvalid, TwinframeError
from twinframe.query.algebra import Expression, FunctionCall
from twinframe.query.evaluate.functions.history import FUNCTIONS
from twinframe.query.evaluate.past_answers import PastAnswers, Unanswered
from twinframe.query.evaluate.run import Row, Run
from twinframe.query.evaluate.sizes import measure
from twinframe.query.traversal import walk

LookAhead = Callable[[Run, Iterator[Row]], Iterator[Row]]
"""Yields the rows that it is given; what expressions ask of the past for them is known then."""

_FIRST_ROWS: Final = 16
_MOST_ROWS: Final = 256
_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_ROUNDS: Final = 4
"""How often questions are gathered, where one depends on the answer to another."""


def compile_look_ahead(
    expressions: Sequence[Expression], evaluates: Sequence[Callable[[Row, Run], object]]
) -> LookAhead:
    """Compile what is done with rows before these expressions, compiled too, are evaluated."""
    asking = [
        (evaluate, count)
        for expression, evaluate in zip(expressions, evaluates, strict=True)
        if (count := count_calls(expression))
    ]
    if not asking:
        return lambda run, rows: rows
    wanted = [evaluate for evaluate, _ in asking]
    rounds = min(max(count for _, count in asking), _MOST_ROUNDS)

    def look_ahead(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        past = run.past
        if past is None:
            return rows
        if past.gathers:
            return _gather_here(run, rows, wanted)
        return _look_ahead(run, past, rows, wanted, rounds)

    return look_ahead


def count_calls(expression: Expression) -> int:
    """Return how many functions on the past an expression has."""
    return sum(
        isinstance(term, FunctionCall) and term.name in FUNCTIONS for term in walk(expression)
    )


def _look_ahead(
    run: Run,
    past: PastAnswers,
    rows: Iterator[Row],
    wanted: Sequence[Callable[[Row, Run], object]],
    rounds: int,
) -> Iterator[Row]:
    most, is_more = _FIRST_ROWS, True
    kept = run.budget.open()
    try:
        while is_more:
            held: list[Row] = []
            failure: TwinframeError | None = None
            try:
                size = _take(rows, held, min(most, past.at_once))
                kept.add_size(size)
            except TwinframeError as error:  # those before it come first
                failure = error
            is_more = failure is None and bool(held)
            for _ in range(rounds):
                with past.gathering():
                    _gather(run, held, wanted)
                if not past.fetch_wanted():
                    break
            yield from held
            if failure is not None:
                raise failure
            kept.release()
            most = _MOST_ROWS
    finally:
        kept.release()


def _take(rows: Iterator[Row], held: list[Row], most: int) -> int:
    """Take some rows, and return their size. SEC: each may have a mebibyte."""
    size = 0
    for row in islice(rows, most):
        held.append(row)
        size += sum([measure(value, _MOST_BYTES) for value in row])
        if size > _MOST_BYTES:
            break
    return size


def _gather(run: Run, rows: Sequence[Row], wanted: Sequence[Callable[[Row, Run], object]]) -> bool:
    """Evaluate expressions to gather their questions; return whether all were answered."""
    is_answered = True
    for row in rows:
        for evaluate in wanted:
            try:
                evaluate(row, run)
            except Unanswered:
                is_answered = False
            except (QueryInvalid, LimitExceeded):
                pass  # it is raised when the row is evaluated, if it is
    return is_answered


def _gather_here(
    run: Run, rows: Iterator[Row], wanted: Sequence[Callable[[Row, Run], object]]
) -> Iterator[Row]:
    """Yield the rows within an expression whose questions are gathered already."""
    while held := [*islice(rows, _MOST_ROWS)]:
        if not _gather(run, held, wanted):
            raise Unanswered
        yield from held
