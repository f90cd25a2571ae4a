"""Compiles algebra operators to lazy generators over rows: one short function an operator.

Operators run in the order of the algebra, except inside of a pattern, and a LIMIT limits the rows
that a sort below it holds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Final, TypeAlias, assert_never

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import build_equivalence_key, build_order_key, name_type
from twinframe.query.algebra import (
    Aggregate,
    Apply,
    Argument,
    Distinct,
    Expression,
    Filter,
    Limit,
    Match,
    Operator,
    Project,
    Skip,
    Sort,
    Union,
    Unit,
    Unwind,
    Variable,
)
from twinframe.query.evaluate.expressions import compile_expression, compile_items
from twinframe.query.evaluate.failures import note_span
from twinframe.query.evaluate.grouping import compile_groups
from twinframe.query.evaluate.looking_ahead import compile_look_ahead, count_calls
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.ordering import PART, sort_in_parts
from twinframe.query.evaluate.patterns.matching import compile_filter, compile_pattern
from twinframe.query.evaluate.run import Evaluate, Row, Run, Stream
from twinframe.query.evaluate.scope import CompiledPlan, Plans, Scope


@dataclass(frozen=True, slots=True)
class Leaf:
    """An operator whose rows another engine supplies, in the order of `columns`.

    It stands for one operator object of the plan (by identity) and everything below it.
    """

    operator: Operator
    columns: tuple[str, ...]
    read_rows: Callable[[Run], Iterator[Row]]


Count: TypeAlias = Callable[[Run], int]
"""A compiled SKIP or LIMIT."""

_Keys: TypeAlias = Sequence[tuple[Evaluate, bool]]
"""What rows are sorted by, and whether in reverse."""

_MOST_PICKED: Final = 10_000

Probe: TypeAlias = Callable[[Operator, Stream], Stream]
"""Changes the stream of an operator, to measure it."""


@dataclass(frozen=True, slots=True)
class Leaves:
    """What comes from elsewhere: leaves by the `id` of their operator, which they keep alive."""

    by_identity: Mapping[int, Leaf]
    probe: Probe | None = None


def compile_plan(
    root: Operator,
    mentioned: frozenset[str],
    leaves: Sequence[Leaf] = (),
    typing: MemberTyping | None = None,
    probe: Probe | None = None,
) -> CompiledPlan:
    """Compile the whole plan as one stream. `mentioned`: the variables it reads (`find_mentioned`).

    `typing` says which members have types other than JSON's.
    """
    given = Leaves({id(leaf.operator): leaf for leaf in leaves}, probe)
    plans = Plans(lambda plan, outer: _compile(plan, outer, given), mentioned, typing)
    return _compile(root, Scope((), plans), given)


def build_scope(
    names: Sequence[str], mentioned: frozenset[str], typing: MemberTyping | None = None
) -> Scope:
    """Return the scope of rows that come from elsewhere, to compile expressions over them."""
    given = Leaves({})
    plans = Plans(lambda plan, outer: _compile(plan, outer, given), mentioned, typing)
    return Scope(tuple(names), plans)


def _compile(  # noqa: C901  # one arm an operator
    operator: Operator, outer: Scope, leaves: Leaves, most: Count | None = None
) -> CompiledPlan:
    """`outer` is the scope of the argument row; `most` bounds how many rows will be taken."""
    plan: CompiledPlan
    leaf = leaves.by_identity.get(id(operator))
    if leaf is not None:
        read_rows = leaf.read_rows
        plan = CompiledPlan(outer.replace(leaf.columns), lambda run, argument: read_rows(run))
        return _measure(operator, plan, leaves)
    match operator:
        case Unit():
            plan = CompiledPlan(outer.replace(()), lambda run, argument: iter(((),)))
        case Argument():
            plan = _compile_argument(operator, outer)
        case Union():
            plan = _compile_union(operator, outer, leaves)
        case Apply():
            plan = _compile_apply(operator, outer, leaves)
        case Limit():
            plan = _compile_limit(operator, outer, leaves)
        case Skip():
            plan = _compile_skip(operator, outer, leaves, most)
        case Project():
            plan = _compile_project(operator, _compile(operator.source, outer, leaves, most))
        case Sort():
            plan = _compile_sort(operator, _compile(operator.source, outer, leaves), most)
        case Match():
            plan = _compile_match(operator, _compile(operator.source, outer, leaves))
        case Filter():
            plan = _compile_filter(operator, _compile(operator.source, outer, leaves))
        case Aggregate():
            plan = _compile_aggregate(operator, _compile(operator.source, outer, leaves))
        case Distinct():
            plan = _compile_distinct(_compile(operator.source, outer, leaves))
        case Unwind():
            plan = _compile_unwind(operator, _compile(operator.source, outer, leaves))
        case _:
            assert_never(operator)
    return _measure(operator, plan, leaves)


def _measure(operator: Operator, plan: CompiledPlan, leaves: Leaves) -> CompiledPlan:
    if leaves.probe is None:
        return plan
    return CompiledPlan(plan.scope, leaves.probe(operator, plan.stream))


# --- leaves -------------------------------------------------------------------------------------


def _compile_argument(operator: Argument, outer: Scope) -> CompiledPlan:
    slots = [outer.find_slot(name) for name in operator.variables]
    scope = outer.replace(operator.variables)
    return CompiledPlan(
        scope, lambda run, argument: iter((tuple([argument[slot] for slot in slots]),))
    )


# --- patterns -----------------------------------------------------------------------------------


def _compile_match(operator: Match, source: CompiledPlan) -> CompiledPlan:
    if operator.optional:
        return _compile_optional(operator, source)
    scope, match = compile_pattern(operator.pattern, operator.predicate, source.scope)
    return CompiledPlan(scope, lambda run, argument: match(run, source.stream(run, argument)))


def _compile_optional(operator: Match, source: CompiledPlan) -> CompiledPlan:
    """Compile an optional match: input rows are numbered; matches keep the order, so gaps are
    unmatched rows.
    """
    width = len(source.scope.names)
    numbered_scope = source.scope.extend(" row number")
    matched_scope, match = compile_pattern(operator.pattern, operator.predicate, numbered_scope)
    added = matched_scope.names[width + 1 :]
    nulls: Row = (None,) * len(added)

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        waiting: deque[Row] = deque()

        def number() -> Iterator[Row]:
            for position, row in enumerate(source.stream(run, argument)):
                waiting.append(row)
                yield (*row, position)

        first, is_matched = 0, False
        for found in match(run, number()):
            position = found[width]
            while first != position:
                row = waiting.popleft()
                if not is_matched:
                    yield row + nulls
                first, is_matched = first + 1, False
            is_matched = True
            yield found[:width] + found[width + 1 :]
        if is_matched:
            waiting.popleft()
        for row in waiting:
            yield row + nulls

    return CompiledPlan(source.scope.extend(*added), stream)


# --- one row at a time --------------------------------------------------------------------------


def _compile_filter(operator: Filter, source: CompiledPlan) -> CompiledPlan:
    keep = compile_filter(operator.predicate, source.scope)
    return CompiledPlan(source.scope, lambda run, argument: keep(run, source.stream(run, argument)))


def _compile_project(operator: Project, source: CompiledPlan) -> CompiledPlan:
    scope = source.scope.replace([name for name, _ in operator.items])
    expressions = [expression for _, expression in operator.items]
    pick = _compile_pick(expressions, source.scope)
    if pick is not None:
        return CompiledPlan(scope, lambda run, argument: map(pick, source.stream(run, argument)))
    items = [compile_expression(expression, source.scope) for expression in expressions]
    look_ahead = compile_look_ahead(expressions, items)

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        for row in look_ahead(run, source.stream(run, argument)):
            yield tuple([item(row, run) for item in items])

    return CompiledPlan(scope, stream)


def _compile_pick(expressions: Sequence[Expression], scope: Scope) -> Callable[[Row], Row] | None:
    """PERF: a projection of two or more bare variables is one `itemgetter`."""
    slots = [scope.find_slot(one.name) for one in expressions if isinstance(one, Variable)]
    if len(slots) < 2 or len(slots) != len(expressions):
        return None
    return itemgetter(*slots)


def _compile_unwind(operator: Unwind, source: CompiledPlan) -> CompiledPlan:
    expression = compile_items(operator.expression, source.scope)
    look_ahead = compile_look_ahead([operator.expression], [expression])

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        for row in look_ahead(run, source.stream(run, argument)):
            value = expression(row, run)
            if value is None:
                continue
            for item in value if isinstance(value, list | range) else (value,):
                run.budget.tick()
                yield (*row, item)

    return CompiledPlan(source.scope.extend(operator.variable), stream)


# --- all rows at once ---------------------------------------------------------------------------


def _compile_aggregate(operator: Aggregate, source: CompiledPlan) -> CompiledPlan:
    names = [name for name, _ in (*operator.keys, *operator.aggregates)]
    group = compile_groups(operator, source.scope)
    return CompiledPlan(
        source.scope.replace(names),
        lambda run, argument: group(run, source.stream(run, argument)),
    )


def _compile_distinct(source: CompiledPlan) -> CompiledPlan:
    return CompiledPlan(
        source.scope, lambda run, argument: _keep_distinct(run, source.stream(run, argument))
    )


def _keep_distinct(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
    seen: set[Hashable] = set()
    kept = run.budget.open()
    try:
        for row in rows:
            run.budget.tick()
            key = tuple([build_equivalence_key(value) for value in row])
            if key not in seen:
                kept.add_row(row)
                seen.add(key)
                yield row
    finally:
        kept.release()


def _compile_sort(operator: Sort, source: CompiledPlan, most: Count | None) -> CompiledPlan:
    if any(count_calls(key.expression) for key in operator.keys):
        return _compile_sort_by_past(operator, source, most)
    keys = [
        (compile_expression(key.expression, source.scope), key.descending) for key in operator.keys
    ]
    return CompiledPlan(
        source.scope,
        lambda run, argument: _sort(run, source.stream(run, argument), keys, most),
    )


def _compile_sort_by_past(operator: Sort, source: CompiledPlan, most: Count | None) -> CompiledPlan:
    """PERF: keys that need the past are computed as rows come, for many of them at once."""
    expressions = [key.expression for key in operator.keys]
    evaluates = [compile_expression(expression, source.scope) for expression in expressions]
    look_ahead = compile_look_ahead(expressions, evaluates)
    width = len(source.scope.names)
    keys: _Keys = [
        (_build_getter(width + at), key.descending) for at, key in enumerate(operator.keys)
    ]

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        rows = look_ahead(run, source.stream(run, argument))
        keyed = ((*row, *[evaluate(row, run) for evaluate in evaluates]) for row in rows)
        return (row[:width] for row in _sort(run, keyed, keys, most))

    return CompiledPlan(source.scope, stream)


def _build_getter(slot: int) -> Evaluate:
    return lambda row, run: row[slot]


def _sort(run: Run, rows: Iterator[Row], keys: _Keys, most: Count | None) -> Iterator[Row]:
    wanted = None if most is None else most(run)
    if wanted is not None and wanted <= _MOST_PICKED:
        return iter(_pick_first(run, rows, keys, wanted))
    return _sort_all(run, rows, keys)


def _sort_all(run: Run, rows: Iterator[Row], keys: _Keys) -> Iterator[Row]:
    held: list[Row] = []
    kept = run.budget.open()
    try:
        for row in rows:
            run.budget.tick()
            kept.add_row(row)
            held.append(row)
        yield from _sort_held(run, held, keys)
    finally:
        kept.release()


def _sort_held(run: Run, held: list[Row], keys: _Keys) -> Iterator[Row]:
    if len(held) > PART:
        return sort_in_parts(held, _compile_key(run, keys))
    for evaluate, descending in reversed(keys):
        # NOTE: the sort is stable, also in reverse: earlier keys keep the order of later ones.
        held.sort(key=lambda row: build_order_key(evaluate(row, run)), reverse=descending)
    return iter(held)


class _Descending:
    """An order key that sorts in reverse."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key

    def __lt__(self, other: _Descending) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.key == other.key

    __hash__ = None  # type: ignore[assignment]  # keys are compared, never hashed


def _pick_first(run: Run, rows: Iterator[Row], keys: _Keys, wanted: int) -> list[Row]:
    """PERF: a sort below a LIMIT holds only as many rows as the limit."""
    return heapq.nsmallest(wanted, rows, key=_compile_key(run, keys))


def _compile_key(run: Run, keys: _Keys) -> Callable[[Row], list[Any]]:
    def build_key(row: Row) -> list[Any]:
        run.budget.tick()
        parts = ((build_order_key(evaluate(row, run)), down) for evaluate, down in keys)
        return [_Descending(key) if down else key for key, down in parts]

    return build_key


# --- counts -------------------------------------------------------------------------------------


def _compile_limit(operator: Limit, outer: Scope, leaves: Leaves) -> CompiledPlan:
    count = _compile_count(operator.count, outer, "LIMIT")
    source = _compile(operator.source, outer, leaves, count)

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        wanted = count(run)
        return islice(source.stream(run, argument), wanted) if wanted else iter(())

    return CompiledPlan(source.scope, stream)


def _compile_skip(operator: Skip, outer: Scope, leaves: Leaves, most: Count | None) -> CompiledPlan:
    count = _compile_count(operator.count, outer, "SKIP")
    both: Count | None = None if most is None else lambda run: most(run) + count(run)
    source = _compile(operator.source, outer, leaves, both)

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        return islice(source.stream(run, argument), count(run), None)

    return CompiledPlan(source.scope, stream)


def _compile_count(expression: Expression, outer: Scope, clause: str) -> Count:
    """Compile the number of rows of SKIP or LIMIT; raise `QueryInvalid` unless it is a count."""
    evaluate, span = compile_expression(expression, outer.replace(())), expression.span

    def count(run: Run) -> int:
        value = evaluate((), run)
        if type(value) is int and value >= 0:
            return value
        given = str(value) if type(value) is int else name_type(value)
        detail = "NegativeIntegerArgument" if type(value) is int else "InvalidArgumentType"
        error = QueryInvalid(
            f"{clause} takes a non-negative Integer, not {given}.",
            kind="SyntaxError",
            detail=detail,
            phase="runtime",
        )
        raise note_span(error, span)

    return count


# --- two plans ----------------------------------------------------------------------------------


def _compile_union(operator: Union, outer: Scope, leaves: Leaves) -> CompiledPlan:
    left = _compile(operator.left, outer, leaves)
    right = _compile(operator.right, outer, leaves)
    slots = [right.scope.find_slot(name) for name in left.scope.names]

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        arranged = (tuple([row[slot] for slot in slots]) for row in right.stream(run, argument))
        rows = chain(left.stream(run, argument), arranged)
        return rows if operator.all else _keep_distinct(run, rows)

    return CompiledPlan(left.scope, stream)


def _compile_apply(operator: Apply, outer: Scope, leaves: Leaves) -> CompiledPlan:
    source = _compile(operator.source, outer, leaves)
    plan = _compile(operator.plan, source.scope, leaves)
    added = [name for name in plan.scope.names if name not in source.scope.names]
    slots = [plan.scope.find_slot(name) for name in added]

    def stream(run: Run, argument: Row) -> Iterator[Row]:
        for row in source.stream(run, argument):
            for found in plan.stream(run, row):
                run.budget.tick()
                yield row + tuple([found[slot] for slot in slots])

    return CompiledPlan(source.scope.extend(*added), stream)
