"""Groups rows and runs the aggregate functions of each group."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import build_equivalence_key
from twinframe.model.values import Value
from twinframe.query.algebra import Aggregate, AggregateCall, AggregateKind
from twinframe.query.evaluate.expressions import compile_expression
from twinframe.query.evaluate.failures import note_span
from twinframe.query.evaluate.functions.aggregates import Accumulator, Percentile, build_accumulator
from twinframe.query.evaluate.limits import Holding
from twinframe.query.evaluate.looking_ahead import compile_look_ahead
from twinframe.query.evaluate.run import Evaluate, Row, Run
from twinframe.query.evaluate.scope import Scope
from twinframe.query.spans import Span

_AGGREGATION: Final = 300
"""Bytes that an aggregate of a group takes itself."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A compiled aggregate: its call and the values it takes from a row."""

    kind: AggregateKind
    arguments: tuple[Evaluate, ...]
    distinct: bool
    span: Span | None


class _Aggregation:
    """One aggregate of one group."""

    __slots__ = ("_accumulator", "_call", "_kept", "_seen")

    def __init__(self, call: _Call, kept: Holding) -> None:
        self._call = call
        self._kept = kept
        self._accumulator: Accumulator = build_accumulator(call.kind, kept)
        self._seen: set[Hashable] | None = set() if call.distinct else None

    def add(self, row: Row, run: Run) -> None:
        call = self._call
        if not call.arguments:
            self._accumulator.add(None, run)
            return
        value = call.arguments[0](row, run)
        if value is None or (self._seen is not None and self._has_seen(value)):
            return
        if isinstance(self._accumulator, Percentile):
            self._accumulator.add_pair(value, call.arguments[1](row, run), run)
        else:
            self._accumulator.add(value, run)

    @property
    def span(self) -> Span | None:
        return self._call.span

    def result(self) -> Value:
        return self._accumulator.result()

    def _has_seen(self, value: Value) -> bool:
        assert self._seen is not None  # noqa: S101  # asked for distinct calls only
        key = build_equivalence_key(value)
        if key in self._seen:
            return True
        self._kept.add(value)
        self._seen.add(key)
        return False


@dataclass(frozen=True, slots=True)
class _Group:
    keys: Row
    aggregations: tuple[_Aggregation, ...]

    def add(self, row: Row, run: Run) -> None:
        for aggregation in self.aggregations:
            try:
                aggregation.add(row, run)
            except QueryInvalid as error:
                raise note_span(error, aggregation.span) from None

    def finish(self) -> Row:
        return (*self.keys, *map(_read_result, self.aggregations))


def _read_result(aggregation: _Aggregation) -> Value:
    try:
        return aggregation.result()
    except QueryInvalid as error:
        raise note_span(error, aggregation.span) from None


def compile_groups(
    operator: Aggregate, scope: Scope
) -> Callable[[Run, Iterator[Row]], Iterator[Row]]:
    """Compile grouping: rows of `scope` to one row per group, keys then aggregates, in order of
    first appearance.
    """
    keys = [compile_expression(expression, scope) for _, expression in operator.keys]
    calls = [_compile_call(call, scope) for _, call in operator.aggregates]
    arguments = [argument for _, call in operator.aggregates for argument in call.arguments]
    look_ahead = compile_look_ahead(
        [*[expression for _, expression in operator.keys], *arguments],
        [*keys, *[argument for call in calls for argument in call.arguments]],
    )

    def group(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        kept = run.budget.open()
        try:
            groups = _collect_groups(run, look_ahead(run, rows), keys, calls, kept)
            if not groups and not keys:
                yield _build_group((), calls, kept).finish()
            for one in groups.values():
                yield one.finish()
        finally:
            kept.release()

    return group


def _collect_groups(
    run: Run,
    rows: Iterator[Row],
    keys: Sequence[Evaluate],
    calls: Sequence[_Call],
    kept: Holding,
) -> dict[Hashable, _Group]:
    groups: dict[Hashable, _Group] = {}
    for row in rows:
        run.budget.tick()
        values = tuple([key(row, run) for key in keys])
        identity = tuple([build_equivalence_key(value) for value in values])
        group = groups.get(identity)
        if group is None:
            kept.add_row(values)
            group = groups[identity] = _build_group(values, calls, kept)
        group.add(row, run)
    return groups


def _build_group(keys: Row, calls: Sequence[_Call], kept: Holding) -> _Group:
    kept.add_size(len(calls) * _AGGREGATION)
    return _Group(keys, tuple(_Aggregation(call, kept) for call in calls))


def _compile_call(call: AggregateCall, scope: Scope) -> _Call:
    arguments = tuple(compile_expression(argument, scope) for argument in call.arguments)
    return _Call(call.kind, arguments, call.distinct, call.span)
