"""Runs a query for PROFILE: the whole of it, with the rows and the time of each operator.

The evaluator and engines that run operators one by one are measured while they run. Of a statement
only its rows and its time as a whole are known: the rows of the operators within it are counted
after the run, by a statement for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from time import perf_counter
from typing import Final, NamedTuple, cast

from twinframe.errors import LimitExceeded, QueryInvalid, QueryTimeout
from twinframe.model.values import Value
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Apply,
    Argument,
    Binary,
    BinaryOperator,
    Expression,
    Limit,
    Literal,
    Operator,
    Project,
    Query,
    Skip,
    Sort,
    Unit,
)
from twinframe.query.engine import CannotRun, Explanation, QueryEngine
from twinframe.query.evaluate.analysis import find_arguments
from twinframe.query.evaluate.engine import compile_query
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.measures import Measures
from twinframe.query.plan.execution import (
    EvaluatedExecution,
    Execution,
    PreferredExecution,
    PushedPart,
    WholeExecution,
)
from twinframe.query.plan.split import build_leaf, split
from twinframe.query.reader import GraphReader
from twinframe.query.traversal import find_inputs, rewrite_operators, walk_inputs

COUNTED: Final = "Counted by a statement of its own."
COUNTED_ALL: Final = "Counted by a statement of its own: all its rows, of which LIMIT needs some."
COUNTED_ONCE: Final = "Counted by a statement of its own, for one row of the Apply above it."
_LATE: Final = "Unknown: the time of the query (Query__Timeout) was over before it was counted."
_CORRELATED: Final = "Unknown: the statement runs it for each row of another operator."


class Figure(NamedTuple):
    """The rows of an operator, and the seconds of it and all below it; None is unknown.

    `note` says why, or how else than in the run they were found.
    """

    rows: int | None
    seconds: float | None
    note: str = ""


@dataclass(slots=True)
class PartProfile:
    """A part that the store ran: `engine` answered it.

    `joins` are the rows after each of the joins of the explanation, in this order; None is unknown.
    """

    explanation: Explanation
    engine: str
    joins: list[int | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Profile:
    """A query that was run by `execution`, with its rows and seconds in all.

    `figures` are those of its operators, by their positions in `walk_inputs`.
    """

    execution: Execution
    rows: int
    seconds: float
    figures: Mapping[int, Figure]
    parts: Sequence[PartProfile]


@dataclass(frozen=True, slots=True)
class Profiler:
    """Profiles the runs of a query. `engine` is that of the store, if it has one."""

    engine: QueryEngine | None
    typing: MemberTyping | None

    def run(
        self,
        execution: Execution,
        session: GraphReader,
        parameters: Mapping[str, Value],
        limits: Limits,
    ) -> Profile:
        """Run it as without PROFILE, to its last row. Raises the same errors."""
        if not isinstance(execution, PreferredExecution):
            return _Run(self, session, parameters).run(execution, limits)
        try:
            return self.run(execution.preferred, session, parameters, limits)
        except CannotRun:
            chosen = execution.choose(session, parameters)
            fallback = execution.fallback if chosen is execution.preferred else chosen
            return self.run(fallback, session, parameters, limits)


@dataclass(slots=True)
class _Run:
    profiler: Profiler
    session: GraphReader
    parameters: Mapping[str, Value]
    is_late: bool = False

    def run(self, execution: Execution, limits: Limits) -> Profile:
        explanations = execution.explain_parts(self.session, self.parameters)
        whole, measures = Measures(), [Measures() for _ in execution.parts]
        measured = self._build_measured(execution, measures, whole)
        begun = perf_counter()
        # NOTE: rows are dropped as they come: there are no pages for which to keep them.
        rows = sum(1 for _ in measured.run_json(self.session, self.parameters, limits))
        seconds = perf_counter() - begun
        figures = {at: Figure(one.rows, one.seconds) for at, one in whole.operators.items()}
        if measured.is_whole:
            figures[0] = Figure(rows, seconds)
        places = {id(one): at for at, one in enumerate(walk_inputs(execution.query.root))}
        parts = []
        for part, explanation, one in zip(execution.parts, explanations, measures, strict=True):
            parts.append(found := PartProfile(explanation, one.engine or part.engine))
            start = places[id(part.operator)]
            if one.engine is None:
                self._count_part(part, start, found, figures)
                continue
            for at, each in one.operators.items():
                if at:  # NOTE: the rows of the first one are those of the run above
                    figures[start + at] = Figure(each.rows, each.seconds)
        return Profile(execution, rows, seconds, figures, parts)

    def _build_measured(
        self, execution: Execution, measures: Sequence[Measures], whole: Measures
    ) -> Execution:
        query = execution.query
        parts = [
            replace(part, compiled=part.compiled.build_measured(one))
            for part, one in zip(execution.parts, measures, strict=True)
        ]
        if execution.is_whole:
            return WholeExecution(query, parts[0].engine, parts[0].compiled)
        leaves = [build_leaf(part) for part in parts]
        plan = compile_query(query, leaves, self.profiler.typing, whole)
        return EvaluatedExecution(query, plan, tuple(parts))

    def _count_part(
        self, part: PushedPart, start: int, found: PartProfile, figures: dict[int, Figure]
    ) -> None:
        """Count the rows of what a statement ran, except those of its first operator."""
        joins = [*chain.from_iterable(found.explanation.joins)]
        # NOTE: a statement that groups rows between its joins never builds all that there are.
        is_fenced = not any(join.grouped for join in joins)
        bounded = [*_walk_bounded(part.operator)]
        # PERF: the short counts first, so that most are known where the time is over: those that a
        # LIMIT bounds, then from the sources on.
        for at in sorted(range(1, len(bounded)), key=lambda at: (not bounded[at].bounds, -at)):
            figures[start + at] = self._count(bounded[at], is_fenced=is_fenced)
        try:
            for one in part.compiled.count_joins(self.session, self.parameters, joins):
                found.joins.append(one)
        except (CannotRun, QueryTimeout):
            return

    def _count(self, bounded: _Bounded, *, is_fenced: bool) -> Figure:
        operator = bounded.operator
        if isinstance(operator, Unit):
            return Figure(1, 0.0)
        if operator == Argument(()):
            return Figure(1, 0.0, bounded.note)
        if find_arguments(operator):
            return Figure(None, None, _CORRELATED)
        if self.is_late or self.profiler.engine is None:
            return Figure(None, None, _LATE)
        operator = rewrite_operators(operator, _detach)
        reason = "nothing of it reads the graph."
        for form in bounded.build_forms(operator, is_fenced=is_fenced):
            query = Query(Aggregate(form, (), (("rows", _COUNT),)), ("rows",))
            try:
                seconds, rows = self._read_count(query, self.profiler.engine)
            except QueryTimeout:
                self.is_late = True
                return Figure(None, None, _LATE)
            except (CannotRun, LimitExceeded, QueryInvalid) as error:
                reason = error.message
            else:
                return Figure(rows, seconds, bounded.note)
        return Figure(None, None, f"Unknown, since the store cannot count it: {reason}")

    def _read_count(self, query: Query, engine: QueryEngine) -> tuple[float, int]:
        execution = split(query, engine.statements, self.parameters, self.profiler.typing)
        if isinstance(execution, EvaluatedExecution):
            raise CannotRun(execution.declined)
        begun = perf_counter()
        ((rows,),) = execution.run_rows(self.session, self.parameters, Limits())
        return perf_counter() - begun, cast("int", rows)


_COUNT: Final = AggregateCall(AggregateKind.COUNT_ROWS)


class _Bounded(NamedTuple):
    """An operator of which no more rows are needed than `bounds` say, each a number of rows.

    `note` says which rows are counted then.
    """

    operator: Operator
    bounds: tuple[Expression, ...] = ()
    note: str = COUNTED

    def list_inputs(self) -> list[_Bounded]:
        """Return what the operator reads, as it bounds that."""
        note = COUNTED_ALL if self.bounds and self.note == COUNTED else self.note
        match self.operator:
            case Limit(source=source, count=count):
                return [_Bounded(source, (*self.bounds, count), self.note)]
            case Skip(source=source, count=count):
                bounds = tuple([_add(one, count) for one in self.bounds])
                return [_Bounded(source, bounds, self.note)]
            case Project(source=source):
                return [_Bounded(source, self.bounds, self.note)]
            case Apply(source=source, plan=plan):
                return [_Bounded(source, (), note), _Bounded(plan, (), COUNTED_ONCE)]
            case Sort() | Aggregate():
                note = COUNTED if self.note == COUNTED_ALL else self.note
            case _:
                pass
        return [_Bounded(one, (), note) for one in find_inputs(self.operator)]

    def build_forms(self, operator: Operator, *, is_fenced: bool) -> list[Operator]:
        """Return plans with the rows of the operator, the best to count them first."""
        if self.bounds:
            return [reduce(Limit, self.bounds, operator)]
        # NOTE: a fence makes the rows that are counted; without it, they may be a kept number.
        return [Skip(operator, Literal(0)), operator] if is_fenced else [operator]


def _add(one: Expression, other: Expression) -> Expression:
    # NOTE: some stores take nothing but constants.
    values = [each.value for each in (one, other) if isinstance(each, Literal)]
    numbers = [each for each in values if type(each) is int]
    return Literal(sum(numbers)) if len(numbers) == 2 else Binary(BinaryOperator.ADD, one, other)


def unshare(query: Query) -> Query:
    """Return the query with each operator an object of its own, by which it is measured."""
    return replace(query, root=rewrite_operators(query.root, replace))


def _walk_bounded(root: Operator) -> Iterator[_Bounded]:
    """Yield the operators in the order of `walk_inputs`."""
    waiting = [_Bounded(root)]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.list_inputs()))


def _detach(operator: Operator) -> Operator:
    """Return what stands for a row of which nothing is read where there is no such row."""
    return Unit() if operator == Argument(()) else operator
