"""Renders the count of the rows of joins without building them all.

After some joins, rows that later joins cannot tell apart become one row with their number. So a
star costs the sum of its rays instead of their product, and a chain one pass over each of its
relationships.
"""
# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, TypeAlias

from twinframe.query.sql import Joins, render_balanced
from twinframe_storage_sqlite.compiler.joins import ROW_IDS, Column, JoinGraph
from twinframe_storage_sqlite.compiler.orders import JoinOrder, find_live, find_same

Term: TypeAlias = tuple[JoinGraph, JoinOrder | None, int]
"""Joins whose rows are counted, the order of the tables, and the sign with which they count."""

_MOST_UNEQUAL: Final = 3
_UNEQUAL: Final = re.compile(r"[nr]\d+\.(?:id|source|target) <> [nr]\d+\.(?:id|source|target)")
_TOKEN: Final = re.compile(r"'[^']*'|\b([a-z]\d+)\.(\w+)")


def list_parts(joins: Joins) -> list[tuple[Joins, int]]:
    """Return counts whose sum, each with its sign, is that of `joins`; none if they are too many.

    The rows in which two ids differ are all rows without those in which they are equal. Without the
    inequality fewer row ids have to be kept until the end.
    """
    unequal = [text for text in joins.conditions if _UNEQUAL.fullmatch(text)]
    if not 0 < len(unequal) <= _MOST_UNEQUAL:
        return []
    others = tuple(text for text in joins.conditions if text not in unequal)
    return [
        (
            replace(joins, conditions=(*others, *(text.replace(" <> ", " = ") for text in some))),
            -1 if len(some) % 2 else 1,
        )
        for number in range(len(unequal) + 1)
        for some in combinations(unequal, number)
    ]


def render_counted(terms: Sequence[Term], keys: Sequence[str], alias: str) -> str:
    """Render the table `alias` of the rows: the row ids of `keys` as `c0`, `c1`, and `n`, how many
    rows there are with these.
    """
    bodies = [
        _render_term(graph, order, keys, f"{alias}s{number}", sign)
        for number, (graph, order, sign) in enumerate(terms)
    ]
    rows = " UNION ALL ".join(bodies)
    if len(terms) > 1 and keys:
        # NOTE: what is added for a key and subtracted again is no group.
        columns = ", ".join(f"c{i}" for i in range(len(keys)))
        rows = f"SELECT {columns}, sum(n) AS n FROM ({rows}) GROUP BY {columns} HAVING sum(n) > 0"
    return f"({rows}) AS {alias}"


def _render_term(
    graph: JoinGraph, order: JoinOrder | None, keys: Sequence[str], stem: str, sign: int
) -> str:
    stages = _Stages(graph, keys, stem)
    for position, table in enumerate(graph.tables if order is None else order.tables):
        stages.add(table)
        if order is not None and position in order.cuts:
            stages.cut()
    return stages.finish(sign)


def list_counts(graph: JoinGraph, order: JoinOrder, keys: Sequence[str]) -> list[str | None]:
    """Return the SELECTs of the number of rows after each table, in this order.

    None stands for those of joins that read what is not among their own sources.
    """
    if not graph.is_closed:
        return [None] * len(order.tables)
    stages = _Stages(graph, keys, "x")
    texts: list[str | None] = []
    for position, table in enumerate(order.tables):
        stages.add(table)
        if position in order.cuts:
            stages.cut()
        texts.append(stages.count())
    return texts


class _Stages:
    """The common tables of a count, of which each reads the one before."""

    def __init__(self, graph: JoinGraph, keys: Sequence[str], stem: str) -> None:
        self._graph = graph
        self._keys = keys
        self._stem = stem
        self._tables: list[str] = []
        self._placed: list[str] = []
        self._pending = list(graph.conditions)
        self._sources = list(graph.before)
        self._conditions: list[str] = []
        self._number = "1"
        self._columns: dict[Column, str] = {}
        self._read: set[str] = set()

    def add(self, alias: str) -> None:
        """Join a table, with the conditions that can be tested then."""
        self._join(f"{self._graph.tables[alias]} AS {alias}")
        self._placed.append(alias)
        self._read.add(alias)
        testable = [each for each in self._pending if each.aliases.issubset(self._placed)]
        self._pending = [each for each in self._pending if each not in testable]
        self._conditions += [
            self._render(each.shown) for each in testable if each.shown is not None
        ]

    def cut(self) -> None:
        """Group the rows so far by the row ids that are still needed."""
        live = find_live(self._graph, self._placed, self._keys)
        stage = f"{self._stem}x{len(self._tables)}"
        heads = [f"c{i}" for i in range(len(live))]
        values = [self._read_column(column) for column in live]
        number = "count(*)" if self._number == "1" else f"sum({self._number})"
        tail = f"GROUP BY {', '.join(values)}" if values else "HAVING count(*) > 0"
        body = f"{self._render_rows([*values, number])} {tail}"
        self._tables.append(f"{stage}({', '.join([*heads, 'n'])}) AS MATERIALIZED ({body})")
        self._sources, self._conditions, self._number = [], [], f"{stage}.n"
        self._join(stage)
        self._columns, self._read = {}, set()
        same = find_same(self._graph, self._placed)
        for head, column in zip(heads, live, strict=True):
            self._columns[column] = f"{stage}.{head}"
        for column, one in same.items():
            if one in self._columns:
                self._columns[column] = self._columns[one]
        self._read_again()

    def finish(self, sign: int) -> str:
        """Return the SELECT of the row ids of the keys, and the number of rows with this sign."""
        keys = [self._read_column((alias, "id")) for alias in self._keys]
        columns = [f"{text} AS c{i}" for i, text in enumerate(keys)]
        number = self._number if sign > 0 else f"-{self._number}"
        rows = self._render_rows([*columns, f"{number} AS n"])
        if not self._tables:
            return rows
        # NOTE: a compound has one WITH, before all its parts.
        return f"SELECT * FROM (WITH {', '.join(self._tables)} {rows})"

    def count(self) -> str:
        """Return the SELECT of the number of rows so far."""
        tables = f"WITH {', '.join(self._tables)} " if self._tables else ""
        return tables + self._render_rows(["count(*)"])

    def _read_again(self) -> None:
        """Join the tables of which later conditions read more than row ids."""
        again = {
            alias
            for each in self._pending
            for alias, name in each.columns
            if alias in self._placed and name not in ROW_IDS
        }
        for alias in sorted(again):
            row = self._columns[alias, "id"]
            self._join(f"{self._graph.tables[alias]} AS {alias}")
            self._conditions.append(f"{alias}.id = {row}")
        self._read |= again

    def _join(self, source: str) -> None:
        self._sources.append(f"CROSS JOIN {source}" if self._sources else source)

    def _read_column(self, column: Column) -> str:
        return f"{column[0]}.{column[1]}" if column[0] in self._read else self._columns[column]

    def _render(self, text: str) -> str:
        """Render a condition, with columns of tables that were grouped as those of the groups."""
        return _replace_columns(text, self._columns, self._read)

    def _render_rows(self, columns: Iterable[str]) -> str:
        where = ""
        if self._conditions:
            where = f" WHERE {render_balanced(self._conditions, 'AND')}"
        return f"SELECT {', '.join(columns)} FROM {' '.join(self._sources)}{where}"


def _replace_columns(text: str, columns: Mapping[Column, str], read: Iterable[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        column = match[1], match[2]
        # SEC: what looks like a column within a literal is none.
        return match[0] if match[1] is None or match[1] in read else columns.get(column, match[0])

    return _TOKEN.sub(replace, text)
