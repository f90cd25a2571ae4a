"""Splits a query between a store's own engine and the evaluator.

The engine gets the whole query if it accepts it, else the largest part at the bottom of the plan
that it accepts, else nothing; the evaluator runs the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from twinframe.model.values import Value
from twinframe.query.algebra import (
    Aggregate,
    Argument,
    Distinct,
    Filter,
    Match,
    Operator,
    PathKind,
    Project,
    Query,
    Union,
)
from twinframe.query.engine import CannotRun, QueryEngine
from twinframe.query.evaluate.analysis import (
    build_conjunction,
    find_conjuncts,
    find_mentioned_outside,
    find_scope,
    walk_sources,
)
from twinframe.query.evaluate.engine import compile_query
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.operators import Leaf
from twinframe.query.evaluate.run import Row, Run
from twinframe.query.plan.execution import (
    EvaluatedExecution,
    Execution,
    PreferredExecution,
    PushedPart,
    WholeExecution,
)
from twinframe.query.plan.typed_members import TextEngine, move_typed_conditions, reads_as_text
from twinframe.query.traversal import find_sources, rewrite_operators

_MOST_TESTED = 20
"""The most conditions of a match that are tried one by one.

PERF: a compilation takes up to 1 ms.
"""


def split(
    query: Query,
    engine: QueryEngine | None,
    parameters: Mapping[str, Value],
    typing: MemberTyping | None = None,
) -> Execution:
    """Return how the query will be run. Only names and types of `parameters` matter.

    With a `typing`, the engine gets nothing that reads a member with a type other than JSON's,
    unless it knows types and may always leave the query to what else runs it.
    """
    if engine is None:
        return EvaluatedExecution(query, compile_query(query, typing=typing))
    found = _split(query, engine, parameters, typing)
    if typing is None or reads_as_text(query.root, typing.names):
        return found
    try:
        compiled = engine.compile_typed(query, parameters, typing)
    except CannotRun as declined:
        if engine.typed_name is not None:
            found.declined_by = {engine.typed_name: declined.message}
        return found
    return PreferredExecution(WholeExecution(query, engine.name, compiled), found)


def _split(
    query: Query,
    engine: QueryEngine,
    parameters: Mapping[str, Value],
    typing: MemberTyping | None,
) -> Execution:
    whole = engine
    if typing is not None:
        whole = TextEngine(engine, typing.names, typing.declared, gives_results=True)
        engine = TextEngine(engine, typing.names, typing.declared)
        query = replace(query, root=move_typed_conditions(query.root, typing.names))
    try:
        return WholeExecution(query, engine.name, whole.compile(query, parameters))
    except CannotRun as declined:
        tester = _Tester(engine, parameters)
        query = replace(query, root=rewrite_operators(query.root, tester.free_match))
        cutter = _Cutter(query, engine, parameters)
        parts = tuple(cutter.cut(query.root, needs_all=False))
        leaves = [build_leaf(part) for part in parts]
        return EvaluatedExecution(
            query, compile_query(query, leaves, typing), parts, declined.message
        )


@dataclass(frozen=True, slots=True)
class _Tester:
    """Finds the conditions that keep an engine from accepting their match."""

    engine: QueryEngine
    parameters: Mapping[str, Value]

    def free_match(self, operator: Operator) -> Operator:
        """Return a match that the engine accepts without some of its conditions, with these above
        it.
        """
        # NOTE: an optional match would turn rows dropped by a later filter into null rows, and a
        # shortest path differs without its conditions.
        if not isinstance(operator, Match) or operator.optional or _has_shortest(operator):
            return operator
        conjuncts = find_conjuncts(operator.predicate)
        if not 0 < len(conjuncts) <= _MOST_TESTED or self._takes(operator):
            return operator
        if not self._takes(replace(operator, predicate=None)):
            return operator
        taken = [one for one in conjuncts if self._takes(replace(operator, predicate=one))]
        condition = build_conjunction([one for one in conjuncts if one not in taken])
        if condition is None:
            return operator
        return Filter(replace(operator, predicate=build_conjunction(taken)), condition)

    def _takes(self, operator: Operator) -> bool:
        if not _is_worth_pushing(operator):
            return False
        try:
            self.engine.compile(Query(operator, find_scope(operator)[:1]), self.parameters)
        except CannotRun:
            return False
        return True


def _has_shortest(match: Match) -> bool:
    return any(path.kind is not PathKind.ALL for path in match.pattern.paths)


@dataclass(frozen=True, slots=True)
class _Cutter:
    query: Query
    engine: QueryEngine
    parameters: Mapping[str, Value]

    def cut(self, operator: Operator, *, needs_all: bool) -> Iterator[PushedPart]:
        """Yield the largest parts below `operator` (itself declined) that the engine accepts.

        `needs_all`: the operators above compare whole rows, so every variable is needed.
        """
        match operator:
            case Project() | Aggregate():
                needs_all = False
            case Distinct() | Union():
                needs_all = True
            case _:
                pass
        for source in find_sources(operator):
            if not _is_worth_pushing(source):
                continue
            part = self._push(source, needs_all=needs_all)
            if part is not None:
                yield part
            else:
                yield from self.cut(source, needs_all=needs_all)

    def _push(self, operator: Operator, *, needs_all: bool) -> PushedPart | None:
        scope = find_scope(operator)
        columns = scope
        if not needs_all:
            used = find_mentioned_outside(self.query.root, self.query.columns, operator)
            # NOTE: rows without columns still count; one column keeps them distinguishable.
            columns = tuple(name for name in scope if name in used) or scope[:1]
        part = Query(operator, columns)
        try:
            compiled = self.engine.compile(part, self.parameters)
        except CannotRun:
            return None
        return PushedPart(operator, columns, self.engine.name, compiled)


def _is_worth_pushing(operator: Operator) -> bool:
    """Return whether it reads the graph, and is independent (no correlated plan is)."""
    below = tuple(walk_sources(operator))
    return any(isinstance(one, Match) for one in below) and not any(
        isinstance(one, Argument) for one in below
    )


def build_leaf(part: PushedPart) -> Leaf:
    """Return the rows of a part for the evaluator above it."""
    compiled = part.compiled

    def read_rows(run: Run) -> Iterator[Row]:
        return compiled.run_rows(run.reader, run.parameters)

    return Leaf(part.operator, part.columns, read_rows)
