"""Compiles plans of the algebra to functions on frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Apply,
    Argument,
    Distinct,
    Expression,
    Filter,
    Limit,
    Match,
    NodePattern,
    Operator,
    Project,
    RelationshipPattern,
    Skip,
    Sort,
    Subplan,
    Union,
    Unit,
    Unwind,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.analysis import (
    find_arguments,
    find_pattern_variables,
    find_scope,
    find_variables,
)
from twinframe.query.render import render_expression
from twinframe_columns.aggregates import (
    aggregate,
    count_present,
    find_percentile,
    leave_out_nulls,
)
from twinframe_columns.expressions import Evaluate, ExpressionCompiler, is_safe
from twinframe_columns.frame import Frame, Run, concatenate, unfold
from twinframe_columns.grouping import Groups, Present, group
from twinframe_columns.lists import find_owners, wrap
from twinframe_columns.members import read_member
from twinframe_columns.merging import list_items
from twinframe_columns.ordering import find_order
from twinframe_columns.patterns import PatternMatcher, drop
from twinframe_columns.projection import ID
from twinframe_columns.subplans import (
    INDEX,
    Execute,
    compile_apply,
    compile_subplan,
    count_found,
    keep_range,
    name_presence,
    number_rows,
    read_index,
)
from twinframe_columns.vectors import Constant, Entities, Truths, Vector, take
from twinframe_columns.weights import multiply

_ROW: Final = " row"
"""The number of the row to which an optional match belongs."""

_ZERO: Final = bytes(8)

_PERCENTILES: Final = (AggregateKind.PERCENTILE_CONT, AggregateKind.PERCENTILE_DISC)


class PlanCompiler:
    """Compiles an operator and all below it; with `is_inner` for each row of an argument."""

    def __init__(self, *, is_inner: bool = False) -> None:
        self._is_inner = is_inner
        self._marks = frozenset((INDEX,)) if is_inner else frozenset[str]()

    def compile(self, operator: Operator, needed: frozenset[str]) -> Execute:
        """Return the function for the rows of an operator, with the variables `needed` at least."""
        needed |= self._marks
        match operator:
            case Unit() | Argument():
                return self._compile_leaf(operator, needed)
            case Match():
                return self._compile_match(operator, needed)
            case Filter():
                return self._compile_filter(operator, needed)
            case Project():
                return self._compile_project(operator, needed)
            case Aggregate():
                return self._compile_aggregate(operator)
            case Distinct():
                return self._compile_distinct(operator.source)
            case Limit(source=source, count=count):
                return self._compile_limit(source, count, needed)
            case Skip(source=source, count=count):
                below, number = self.compile(source, needed), _compile_count(count)
                if self._is_inner:
                    return lambda run: keep_range(below(run), number(run), None)
                return lambda run: unfold(below(run)).take(slice(number(run), None))
            case Sort():
                return self._compile_sort(operator, needed, None)
            case Unwind():
                return self._compile_unwind(operator, needed)
            case Union():
                return self._compile_union(operator, needed)
            case Apply(source=source, plan=plan):
                names = frozenset(find_scope(source)) - frozenset(find_scope(plan))
                below = self.compile(source, (needed & names) | find_arguments(plan))
                return compile_apply(operator, below, self._compile_inner, needed)

    def _compile_leaf(self, operator: Unit | Argument, needed: frozenset[str]) -> Execute:
        if not self._is_inner:
            return lambda _run: Frame(1, {})

        def read(run: Run) -> Frame:
            frame = run.argument
            assert frame is not None  # noqa: S101  # as it is run for each row
            return replace(
                frame,
                variables={name: one for name, one in frame.variables.items() if name in needed},
            )

        return read

    # --- patterns -----------------------------------------------------------------------------

    def _compile_match(self, operator: Match, needed: frozenset[str]) -> Execute:
        bound = frozenset(find_scope(operator.source))
        names = frozenset(find_pattern_variables(operator.pattern))
        matcher = PatternMatcher(operator.pattern, operator.predicate, self._expressions(), bound)
        own = {node.variable for node in operator.pattern.nodes}
        presences = frozenset(map(name_presence, bound))
        wanted = (needed & (bound | presences)) | (_find_used(operator) & bound) | (own & bound)
        below = self.compile(operator.source, wanted)
        if not operator.optional:
            return lambda run: matcher.match(run, below(run), _keep(needed, names, bound))
        return _compile_optional(operator, matcher, below, needed, bound)

    def _compile_filter(self, operator: Filter, needed: frozenset[str]) -> Execute:
        test = self._expressions().compile_condition(operator.predicate)
        below = self.compile(operator.source, needed | find_variables(operator.predicate))

        def run_filter(run: Run) -> Frame:
            frame = below(run)
            return drop(frame.take(test(run, frame).true), needed)

        return run_filter

    # --- values -------------------------------------------------------------------------------

    def _compile_project(self, operator: Project, needed: frozenset[str]) -> Execute:
        # NOTE: what nobody reads is left out unless it could be an error.
        items = [(name, one) for name, one in operator.items if name in needed or not is_safe(one)]
        compiled = [(name, self._expressions().compile(one)) for name, one in items]
        used = frozenset[str]().union(*(find_variables(one) for _, one in items))
        below = self.compile(operator.source, used)

        def project(run: Run) -> Frame:
            frame = below(run)
            found = {name: evaluate(run, frame) for name, evaluate in compiled}
            kept = {name: one for name, one in found.items() if name in needed}
            kept |= {name: frame.variables[name] for name in self._marks}
            return replace(frame, variables=kept)

        return project

    def _compile_unwind(self, operator: Unwind, needed: frozenset[str]) -> Execute:
        listed = self._expressions().compile(operator.expression)
        used = find_variables(operator.expression)
        below = self.compile(operator.source, (needed - {operator.variable}) | used)

        def run_unwind(run: Run) -> Frame:
            frame = below(run)
            lists = wrap(listed(run, frame), frame.count)
            if int(lists.sizes.sum()) > run.most_rows:
                raise CannotRun("More rows than are held at once.")
            part = frame.take(find_owners(lists).astype(np.int32))
            return replace(part, variables={**part.variables, operator.variable: list_items(lists)})

        return run_unwind

    # --- groups -------------------------------------------------------------------------------

    def _compile_aggregate(self, operator: Aggregate) -> Execute:
        expressions = self._expressions()
        keys = [(name, expressions.compile(one)) for name, one in operator.keys]
        used: set[str] = set()
        for _, one in operator.keys:
            used |= find_variables(one)
        matched = _find_matched(operator)
        calls = []
        for name, call in operator.aggregates:
            compiled, names = self._compile_aggregate_call(call, matched)
            calls.append((name, compiled))
            used |= names
        below = self.compile(operator.source, frozenset(used))

        def run_aggregate(run: Run) -> Frame:
            frame = below(run)
            vectors = [(name, evaluate(run, frame)) for name, evaluate in keys]
            if vectors:
                vectors += [(name, frame.variables[name]) for name in self._marks]
                groups = group(frame, [vector for _, vector in vectors])
            else:
                groups = self._build_groups(run, frame)
            run.reader.check_deadline()
            firsts = groups.firsts.astype(np.int32)
            found = {name: take(vector, firsts) for name, vector in vectors}
            if self._is_inner and not vectors:
                found = dict(number_rows(Frame(groups.count, {})).variables)
            for name, compiled in calls:
                found[name] = compiled(run, frame, groups)
            return Frame(groups.count, found)

        return run_aggregate

    def _build_groups(self, run: Run, frame: Frame) -> Groups:
        """Return the groups of an aggregate without keys, which are there without rows too."""
        if run.argument is None or not self._is_inner:
            # PERF: one zero for all rows: most aggregates of one group do not look at it.
            members = np.ndarray((frame.count,), np.int64, _ZERO, strides=(0,))
            return Groups(1, members, np.zeros(1, np.int64))
        return Groups(run.argument.count, read_index(frame), np.zeros(0, np.int64))

    def _compile_aggregate_call(
        self, call: AggregateCall, nodes: frozenset[str]
    ) -> tuple[Callable[[Run, Frame, Groups], Vector], frozenset[str]]:
        """Return the function of an aggregate, and the variables that it reads."""
        kind, distinct = call.kind, call.distinct
        if not call.arguments:
            return lambda _run, frame, groups: count_present(None, frame, groups), frozenset()
        first = call.arguments[0]
        if (
            kind is AggregateKind.COUNT
            and not distinct
            and isinstance(first, Variable)
            and first.name in nodes
        ):
            return _count_present(name_presence(first.name)), frozenset(
                (name_presence(first.name),)
            )
        arguments = [self._expressions().compile(one) for one in call.arguments]
        names = frozenset[str]().union(*map(find_variables, call.arguments))
        if kind in _PERCENTILES:
            value, wanted = arguments
            is_continuous = kind is AggregateKind.PERCENTILE_CONT
            return lambda run, frame, groups: find_percentile(
                value(run, frame),
                wanted(run, frame),
                frame,
                groups,
                distinct=distinct,
                is_continuous=is_continuous,
            ), names
        (value,) = arguments
        text = render_expression(first)  # NOTE: 1 is not 1.0, which are equal
        if kind is AggregateKind.COUNT and not distinct:
            return lambda run, frame, groups: count_present(value(run, frame), frame, groups), names
        return lambda run, frame, groups: aggregate(
            kind, _find_present(run, frame, groups, text, value), distinct=distinct
        ), names

    def _compile_distinct(self, source: Operator) -> Execute:
        below = self.compile(source, frozenset(find_scope(source)))
        return lambda run: keep_distinct_rows(below(run))

    def _compile_union(self, operator: Union, needed: frozenset[str]) -> Execute:
        names = frozenset(find_scope(operator.left)) | self._marks
        wanted = needed if operator.all else names
        sides = [self.compile(one, wanted) for one in (operator.left, operator.right)]

        def unite(run: Run) -> Frame:
            frames = [side(run) for side in sides]
            frames = [
                replace(one, variables={name: one.variables[name] for name in sorted(wanted)})
                for one in frames
            ]
            joined = concatenate(frames)
            return joined if operator.all else keep_distinct_rows(joined)

        return unite

    # --- order --------------------------------------------------------------------------------

    def _compile_limit(
        self, source: Operator, count: Expression, needed: frozenset[str]
    ) -> Execute:
        number = _compile_count(count)
        if self._is_inner:
            every = self.compile(source, needed)
            return lambda run: keep_range(every(run), 0, number(run))
        if isinstance(source, Skip):
            skipped, beyond = _compile_count(source.count), number
            if isinstance(source.source, Sort):
                number = lambda run: skipped(run) + beyond(run)  # noqa: E731  # as above
                sort = self._note(source.source, self._compile_sort(source.source, needed, number))
                return self._note(source, lambda run: sort(run).take(slice(skipped(run), None)))
        if isinstance(source, Sort):
            return self._note(source, self._compile_sort(source, needed, number))
        if isinstance(source, Project) and isinstance(source.source, Sort):
            # PERF: only the rows of the limit are projected.
            pushed = replace(source, source=Limit(source.source, count))
            if all(is_safe(one) for _, one in source.items):
                return self._note(source, self._compile_project(pushed, needed))
        below = self.compile(source, needed)
        return lambda run: unfold(below(run)).take(slice(0, number(run)))

    def _compile_sort(
        self, operator: Sort, needed: frozenset[str], limit: Callable[[Run], int] | None
    ) -> Execute:
        expressions = self._expressions()
        keys = [(expressions.compile(key.expression), key) for key in operator.keys]
        used = frozenset[str]().union(*(find_variables(key.expression) for key in operator.keys))
        below = self.compile(operator.source, needed | used)

        def sort(run: Run) -> Frame:
            frame = unfold(below(run))
            vectors = [
                (_order_by_id(run, evaluate(run, frame)), key.descending) for evaluate, key in keys
            ]
            most = None if limit is None else limit(run)
            run.reader.check_deadline()
            kept = {name: one for name, one in frame.variables.items() if name in needed}
            return replace(frame, variables=kept).take(find_order(vectors, frame.count, most))

        return sort

    def _expressions(self) -> ExpressionCompiler:
        return ExpressionCompiler(self._compile_subplan)

    def _compile_subplan(self, subplan: Subplan) -> Evaluate:
        return compile_subplan(subplan, self._compile_inner, self._expressions())

    def _compile_inner(self, plan: Operator, needed: frozenset[str]) -> Execute:
        return PlanCompiler(is_inner=True).compile(plan, needed)

    def _note(self, _operator: Operator, execute: Execute) -> Execute:
        """Return the function of an operator that is compiled with the one above it."""
        return execute


def _order_by_id(run: Run, vector: Vector) -> Vector:
    """Return what twins are ordered by."""
    if isinstance(vector, Entities) and vector.edges is None:
        return read_member(run, vector, ID)
    return vector


def binds_entity(operator: Operator, name: str) -> bool:
    """Whether a variable is a twin or relationship in every row."""
    match operator:
        case Project(source=source, items=items):
            item = dict(items).get(name)
            return isinstance(item, Variable) and binds_entity(source, item.name)
        case Match(source=source, pattern=pattern):
            edges = {each.variable for each in pattern.relationships if not each.length}
            if name in edges | {node.variable for node in pattern.nodes}:
                return not operator.optional or binds_entity(source, name)
            return binds_entity(source, name)
        case (
            Filter(source=source)
            | Sort(source=source)
            | Skip(source=source)
            | Limit(source=source)
            | Distinct(source=source)
        ):
            return binds_entity(source, name)
        case _:
            return False


def keep_distinct_rows(frame: Frame) -> Frame:
    """Return one of each set of equal rows."""
    groups = group(frame, list(frame.variables.values()))
    return replace(frame.take(groups.firsts.astype(np.int32)), weights=None)


def _keep(needed: frozenset[str], names: frozenset[str], bound: frozenset[str]) -> frozenset[str]:
    """Return what a pattern keeps: presences of what it binds itself are certain."""
    return needed - frozenset(map(name_presence, names - bound))


def _find_matched(operator: Aggregate) -> frozenset[str]:
    """Return the variables below an aggregate that are bound by patterns, null or not."""
    found: set[str] = set()
    source: Operator = operator.source
    while True:
        match source:
            case Match(source=below, pattern=pattern):
                found |= {node.variable for node in pattern.nodes}
                found |= {each.variable for each in pattern.relationships if not each.length}
                source = below
            case Filter(source=below) | Sort(source=below):
                source = below
            case _:
                return frozenset(found - set(find_scope(source)))


def _find_present(
    run: Run, frame: Frame, groups: Groups, expression: str, evaluate: Evaluate
) -> Present:
    """PERF: each expression is computed once, however many aggregates read it."""
    found = groups.present.get(expression)
    if found is None:
        found = leave_out_nulls(evaluate(run, frame), frame, groups)
        groups.present[expression] = found
    return found


def _count_present(name: str) -> Callable[[Run, Frame, Groups], Vector]:
    def count(_run: Run, frame: Frame, groups: Groups) -> Vector:
        # NOTE: only optional patterns say which rows have what they bind.
        return count_present(frame.variables.get(name), frame, groups)

    return count


# --- optional patterns --------------------------------------------------------------------------


def _compile_optional(
    operator: Match,
    matcher: PatternMatcher,
    below: Execute,
    needed: frozenset[str],
    bound: frozenset[str],
) -> Execute:
    """Compile an optional match: rows without a match are kept once, with null for what is new."""
    added = frozenset(find_pattern_variables(operator.pattern)) - bound
    presences = frozenset(map(name_presence, added)) & needed

    def count_optionally(run: Run) -> Frame:
        """PERF: where only the number of matches matters, no row is made of each."""
        source = below(run)
        counts = count_found(run, matcher, source)
        is_found = counts > 0
        times = np.maximum(counts, 1)
        weights = times if source.weights is None else multiply(source.weights, times)
        found = Truths(is_found, is_found)
        variables = {name: one for name, one in source.variables.items() if name in needed}
        variables |= dict.fromkeys(presences, found)
        return drop(Frame(source.count, variables, weights), needed)

    if not added & needed:
        return count_optionally

    def match_optionally(run: Run) -> Frame:
        source = below(run)
        found = matcher.match(run, number_rows(source, _ROW), (needed - presences) | {_ROW})
        is_found = np.zeros(source.count, np.bool_)
        is_found[read_index(found, _ROW)] = True
        rest = source.take(~is_found)
        parts = []
        for part, is_there in ((found, True), (rest, False)):
            variables = {
                name: part.variables.get(name, Constant(None))
                for name in (needed & (bound | added | source.variables.keys()))
            }
            presence = Truths(np.full(part.count, is_there), np.full(part.count, is_there))
            variables |= dict.fromkeys(presences, presence)
            parts.append(replace(part, variables=variables))
        return concatenate(parts) if rest.count else parts[0]

    return match_optionally


def _find_used(operator: Match) -> frozenset[str]:
    """Return the variables that the conditions of a match read."""
    found: set[str] = set()
    if operator.predicate is not None:
        found |= find_variables(operator.predicate)
    pattern = operator.pattern
    parts: list[NodePattern | RelationshipPattern] = [*pattern.nodes, *pattern.relationships]
    for part in parts:
        for _, value in part.properties:
            found |= find_variables(value)
    return frozenset(found)


# --- numbers of rows ------------------------------------------------------------------------------


def _compile_count(count: Expression) -> Callable[[Run], int]:
    if find_variables(count):
        raise CannotRun("A number of rows that differs from row to row.")
    evaluate = ExpressionCompiler(_refuse_subplan).compile(count)
    return lambda run: _check_count(evaluate(run, Frame(1, {})))


def _refuse_subplan(_subplan: Subplan) -> Evaluate:
    raise CannotRun("A number of rows from a subquery.")


def _check_count(vector: Vector) -> int:
    value = vector.value if isinstance(vector, Constant) else None
    if type(value) is not int or value < 0:
        raise CannotRun("A number of rows that is none.")
    return value
