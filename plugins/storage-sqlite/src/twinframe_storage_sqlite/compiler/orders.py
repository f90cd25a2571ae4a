"""Chooses the order of the joins of a graph by estimated rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from twinframe_storage_sqlite.compiler.estimates import Estimates, Step
from twinframe_storage_sqlite.compiler.joins import ROW_IDS, Column, JoinGraph

_WORTH_GROUPING: Final = 1.5
"""Rows for each combination of the columns that are still needed, above which they are grouped."""

_GROUPING: Final = 1.5
"""What it costs to group a row, in rows read."""

_MOST_STEPS: Final = 96
"""The number of joins that are tried in all. PERF: one takes some 0.02 ms."""


@dataclass(frozen=True, slots=True)
class JoinOrder:
    """Tables in the order of their joins, and for each the estimated rows after it.

    Rows are grouped by the columns that are needed later after the tables at `cuts`.
    """

    tables: tuple[str, ...]
    rows: tuple[float, ...]
    cuts: frozenset[int]
    cost: float


def choose_order(
    graph: JoinGraph, estimates: Estimates, keys: Collection[str] | None = None
) -> JoinOrder:
    """Return the order that reads the fewest rows by the estimates.

    With `keys`, the aliases of the tables that are needed at the end, only numbers of rows are
    asked for, so that rows may be grouped in between.
    """
    given = [
        alias for alias in graph.tables if any(not each.needs for each in graph.accesses[alias])
    ]
    starts = given or sorted(graph.tables, key=lambda alias: estimates.start(alias).rows)
    most = max(_MOST_STEPS // len(graph.tables), 2)
    orders = [_Search(graph, estimates, keys).run(start) for start in starts[:most]]
    return min(orders, key=lambda order: order.cost)


class _Search:
    """One order, grown from a table by the join that leaves the fewest rows."""

    def __init__(
        self, graph: JoinGraph, estimates: Estimates, keys: Collection[str] | None
    ) -> None:
        self._graph = graph
        self._estimates = estimates
        self._keys = keys
        self._placed: list[str] = []
        self._left = dict.fromkeys(graph.tables)
        self._rows = 1.0
        self._cost = 0.0

    def run(self, start: str) -> JoinOrder:
        """Return the order that begins with this table."""
        rows: list[float] = []
        cuts: list[int] = []
        found = self._find_step(start) or self._estimates.start(start)
        self._place(start, found)
        rows.append(self._rows)
        while self._left:
            alias, step = self._find_next()
            self._place(alias, step)
            if self._keys is not None and (self._left or self._keys) and self._group():
                cuts.append(len(self._placed) - 1)
            rows.append(self._rows)
        return JoinOrder(tuple(self._placed), tuple(rows), frozenset(cuts), self._cost)

    def _find_step(self, alias: str) -> Step | None:
        """Return the best way to find a table from those placed; None when nothing leads to it."""
        placed = self._placed
        steps = [
            self._estimates.join(alias, each)
            for each in self._graph.accesses[alias]
            if all(one in placed for one in each.needs)
        ]
        return min(steps, key=lambda step: (step.rows, step.read)) if steps else None

    def _find_next(self) -> tuple[str, Step]:
        found = [(alias, self._find_step(alias)) for alias in self._left]
        steps = [(alias, step) for alias, step in found if step is not None]
        if not steps:
            steps = [(alias, self._estimates.start(alias)) for alias in self._left]
        return min(steps, key=lambda one: (one[1].rows, one[1].read))

    def _place(self, alias: str, step: Step) -> None:
        del self._left[alias]
        self._placed.append(alias)
        self._cost += self._rows * step.read
        self._rows *= step.rows

    def _group(self) -> bool:
        live = find_live(self._graph, self._placed, self._keys or ())
        distinct = max(self._estimates.count_distinct(live), 1.0)
        if self._rows <= _WORTH_GROUPING * distinct:
            return False
        self._cost += _GROUPING * self._rows
        self._rows = distinct
        return True


def find_live(graph: JoinGraph, placed: Collection[str], keys: Collection[str]) -> list[Column]:
    """Return the row ids of the placed tables that later joins, conditions and `keys` need.

    Of those that are equal, the first stands for all. Another column than a row id needs the row.
    """
    needed = dict.fromkeys((alias, "id") for alias in placed if alias in keys)
    for each in graph.conditions:
        if each.aliases.isdisjoint(placed) or each.aliases.issubset(placed):
            continue
        for alias, name in sorted(each.columns):
            if alias in placed:
                needed[alias, name if name in ROW_IDS else "id"] = None
    same = find_same(graph, placed)
    return list(dict.fromkeys(same.get(column, column) for column in needed))


def find_same(graph: JoinGraph, placed: Collection[str]) -> dict[Column, Column]:
    """Return for each row id that equals another one of the placed tables which one stands for
    them.
    """
    groups: dict[Column, set[Column]] = {}
    for one, other in graph.equal:
        if one[0] in placed and other[0] in placed:
            merged = groups.get(one, {one}) | groups.get(other, {other})
            groups.update(dict.fromkeys(merged, merged))
    return {column: min(group) for column, group in groups.items()}
