"""Writes the joins of a statement in the order that the present graph suggests.

The relational layer leaves marks (`arrange`), `JoinChoice` replaces them at each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from time import monotonic
from typing import Final

from twinframe.query.engine import JoinEstimate
from twinframe.query.sql import Joins, SqlValue
from twinframe_storage_sqlite.compiler.estimates import CountReader, Counts, Estimates
from twinframe_storage_sqlite.compiler.factors import list_counts, list_parts, render_counted
from twinframe_storage_sqlite.compiler.joins import JoinGraph, has_choice
from twinframe_storage_sqlite.compiler.orders import JoinOrder, choose_order
from twinframe_storage_sqlite.statements import StatementRunner

_MARK: Final = "\0joins {}\0"
_SECONDS: Final = 1.0
"""How long a choice holds. PERF: it takes 0.03 ms to read the counts and up to 1 ms to choose."""

_CHANGE: Final = 0.1
"""The share by which a count must change before an order is chosen again."""

_WORTH_PARTS: Final = 20_000
"""The rows read, by the estimate, above which a count is tried as a sum. PERF: some 5 ms."""


def arrange(
    sources: Sequence[str], conditions: Sequence[str], joins: MutableMapping[str, Joins]
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the sources and conditions of a SELECT, with a mark for joins still to be ordered."""
    if not has_choice(sources, conditions):
        return sources, conditions
    graph = JoinGraph(sources, conditions)
    mark = _note(joins, Joins(tuple(sources), tuple(conditions)))
    # NOTE: a condition of a join may be on tables that come later in the order chosen.
    return [mark], graph.shown


def note_count(select_joins: MutableMapping[str, Joins], joins: Joins) -> str:
    """Return the mark of the derived table that counts the rows of these joins."""
    return _note(select_joins, joins)


def _note(noted: MutableMapping[str, Joins], joins: Joins) -> str:
    for mark, known in noted.items():
        if known == joins:
            return mark
    mark = _MARK.format(len(noted))
    noted[mark] = joins
    return mark


class _Term:
    """Joins as a graph, with the order chosen for them.

    Of a count that is a sum, `sign` says whether it is added or subtracted.
    """

    def __init__(self, joins: Joins, sign: int = 1) -> None:
        self.graph = JoinGraph(joins.sources, joins.conditions)
        self.sign = sign
        self.order: JoinOrder | None = None
        self._reader = CountReader(self.graph)
        self._keys = joins.keys

    def read(self, runner: StatementRunner, bindings: Mapping[str, SqlValue]) -> Counts:
        """Return the kept counts that the choice depends on."""
        return self._reader.read(runner, bindings)

    def choose(self, counts: Counts) -> float:
        """Choose an order; return what it costs."""
        estimates = Estimates(self.graph, self._reader, counts)
        self.order = choose_order(self.graph, estimates, self._keys)
        return self.order.cost


class _Choice:
    """The joins of one mark, and how they are written at present."""

    def __init__(self, joins: Joins) -> None:
        self._joins = joins
        self._whole = _Term(joins)
        self._parts: list[_Term] | None = None
        self._counts: Counts | None = None
        self.terms = [self._whole]

    def choose(self, runner: StatementRunner, bindings: Mapping[str, SqlValue]) -> bool:
        """Choose orders where the graph has changed; return whether it has."""
        counts = self._whole.read(runner, bindings)
        if self._counts is not None and _are_near(counts, self._counts):
            return False
        self._counts = counts
        self.terms = [self._whole]
        cost = self._whole.choose(counts)
        if cost > _WORTH_PARTS and self._joins.keys is not None:
            if self._parts is None:
                self._parts = [_Term(each, sign) for each, sign in list_parts(self._joins)]
            parts = sum(each.choose(each.read(runner, bindings)) for each in self._parts)
            if self._parts and parts < cost:
                self.terms = self._parts
        return True

    def list_estimates(self) -> Iterator[list[JoinEstimate]]:
        """Yield the orders chosen, with the estimated rows after each table."""
        for term in self.terms:
            if (order := term.order) is not None:
                counts = list_counts(term.graph, order, self._joins.keys or ())
                yield [
                    JoinEstimate(term.graph.tables[alias], alias, rows, at in order.cuts, count)
                    for at, (alias, rows, count) in enumerate(
                        zip(order.tables, order.rows, counts, strict=True)
                    )
                ]

    def render(self) -> str:
        """Render the sources in the order chosen, or as they were written."""
        joins, whole = self._joins, self._whole
        if joins.keys is not None:
            terms = [(each.graph, each.order, each.sign) for each in self.terms]
            return render_counted(terms, joins.keys, joins.alias)
        order = None if whole.order is None else whole.order.tables
        return " ".join(whole.graph.render(order))


def _are_near(counts: Counts, before: Counts) -> bool:
    """Return whether the counts have changed too little for another choice."""
    return all(
        abs(number - before[text]) <= _CHANGE * before[text] for text, number in counts.items()
    )


class JoinChoice:
    """The joins of one statement whose order is chosen, and the text for the present choice."""

    def __init__(self, joins: Mapping[str, Joins]) -> None:
        self._choices = {mark: _Choice(each) for mark, each in joins.items()}
        self._texts: dict[str, str] = {}
        self._until = 0.0

    def choose(self, text: str, runner: StatementRunner, bindings: Mapping[str, SqlValue]) -> str:
        """Return the statement with its joins in the order that the kept counts suggest."""
        if not self._choices:
            return text
        now = monotonic()
        if now >= self._until:
            changed = [each.choose(runner, bindings) for each in self._choices.values()]
            if any(changed):
                self._texts = {}
            self._until = now + _SECONDS
        chosen = self._texts.get(text)
        if chosen is None:
            self._texts[text] = chosen = self._render(text)
        return chosen

    def list_estimates(self) -> list[list[JoinEstimate]]:
        """The orders chosen, with the estimated rows after each table."""
        return [
            [
                join._replace(counting=join.counting and self._render(join.counting))
                for join in joins
            ]
            for each in self._choices.values()
            for joins in each.list_estimates()
        ]

    def strip(self, text: str) -> str:
        """Return the statement with its joins as they are written."""
        return self._render(text)

    def _render(self, text: str) -> str:
        # NOTE: a choice may be within a condition of another, which has its mark in its own text.
        for mark in reversed(self._choices):
            text = text.replace(mark, self._choices[mark].render())
        return text
