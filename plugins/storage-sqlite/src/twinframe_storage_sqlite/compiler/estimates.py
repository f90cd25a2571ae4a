"""Estimates how many rows the joins of a graph have, from the counts that the store keeps."""
# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from twinframe.query.sql import SqlValue
from twinframe_storage_sqlite.compiler.joins import COLUMN, Access, JoinGraph
from twinframe_storage_sqlite.compiler.paths import find_bounded, is_identified
from twinframe_storage_sqlite.statements import StatementRunner

_ALL: Final = {
    "twin": "SELECT coalesce(sum(twins), 0) FROM twin_count",
    "relationship": "SELECT coalesce(sum(relationships), 0) FROM relationship_count",
}
_KINDS: Final = {"twin": "model", "relationship": "name"}
_COMPARED: Final = re.compile(r" (=|IN|IS NOT NULL|IS NOT) ")
_SHARES: Final = {"=": 0.05, "IN": 0.1, "IS NOT NULL": 0.9, "IS NOT": 0.9}
_OTHER_SHARE: Final = 0.3
_FEW: Final = 10.0
"""The number of rows assumed for a list of ids."""

Counts: TypeAlias = Mapping[str, float]
"""The text of a count -> its value."""


@dataclass(frozen=True, slots=True)
class Step:
    """The rows after joining a table, by an estimate, and those that are read for it."""

    rows: float
    read: float


class CountReader:
    """The kept counts that a graph needs, as one statement.

    `of_table` has the text of the number of rows of each table, `of_end` that of the number of
    twins that a relationship may have at an end.
    """

    def __init__(self, graph: JoinGraph) -> None:
        self._graph = graph
        self._texts = dict.fromkeys(_ALL.values())
        self.of_table: dict[str, str] = {}
        self.of_end: dict[tuple[str, str], str] = {}
        for alias, table in graph.tables.items():
            if table == "twin":
                self.of_table[alias] = self._keep(table, self._list_own(alias, "model", "t.model"))
            else:
                self._add_relationship(alias)
        self._sql = f"SELECT {', '.join(f'({text})' for text in self._texts)}"

    def _add_relationship(self, alias: str) -> None:
        names = self._list_own(alias, "name", "t.name")
        both = any(each.either for each in self._graph.accesses[alias])
        conditions = list(names)
        for end in ("source", "target"):
            node = self._graph.nodes.get(f"{alias}.{end}", "")
            labels = self._list_own(node, "model", "t.model")
            models = [
                f"t.model IN ({_render_models(one, names)})"
                for one in (("source", "target") if both else (end,))
            ]
            if names:
                labels = [*labels, f"({' OR '.join(models)})"]
            self.of_end[alias, end] = self._keep("twin", labels)
            if not both:
                conditions += self._list_own(node, "model", f"t.{end}_model")
        self.of_table[alias] = self._keep("relationship", conditions)

    def _list_own(self, alias: str, column: str, new: str) -> list[str]:
        """Return the conditions on nothing but this column, with another name for it."""
        own = re.compile(rf"\0n\d+\0|\b{alias}\.{column}\b")
        return [
            own.sub(lambda match: "" if match[0][0] == "\0" else new, each.text)
            for each in self._graph.conditions
            if {*COLUMN.findall(each.text)} == {(alias, column)}
            and "'" not in each.text.replace("'.'", "")
        ]

    def _keep(self, table: str, conditions: Collection[str]) -> str:
        text = f"{_ALL[table]} AS t WHERE {' AND '.join(conditions)}" if conditions else _ALL[table]
        self._texts[text] = None
        return text

    def read(self, runner: StatementRunner, bindings: Mapping[str, SqlValue]) -> Counts:
        """Return the value of each count by its text."""
        found = runner.read_one(self._sql, bindings)
        return dict(zip(self._texts, found, strict=True))


def _render_models(end: str, names: Collection[str]) -> str:
    """Render the query of the interfaces that twins at an end of these relationships have."""
    return f"SELECT t.{end}_model FROM relationship_count AS t WHERE {' AND '.join(names)}"


class Estimates:
    """The numbers of rows of one graph, by the kept `counts`."""

    def __init__(self, graph: JoinGraph, reader: CountReader, counts: Counts) -> None:
        self._graph = graph
        self._twins = counts[_ALL["twin"]]
        self._relationships = counts[_ALL["relationship"]]
        self._ends = {end: counts[text] for end, text in reader.of_end.items()}
        self._sizes = {alias: counts[text] for alias, text in reader.of_table.items()}
        self._labelled = dict(self._sizes)
        for link, node in graph.nodes.items():
            alias, _, end = link.partition(".")
            if node in self._sizes and (alias, end) in self._ends:
                # NOTE: its relationships tell more of a twin than its label.
                self._sizes[node] = min(self._sizes[node], self._ends[alias, end])
        self._shares = {alias: self._find_share(alias) for alias in graph.tables}

    def _find_share(self, alias: str) -> float:
        """Return the share of the rows of a label or name that other conditions leave."""
        graph, size = self._graph, max(self._sizes[alias], 1.0)
        own = graph.list_own(alias)
        if is_identified(own, alias):
            listed = any(find_bounded(each) == alias and " IN " in each for each in own)
            return min((_FEW if listed else 1.0) / size, 1.0)
        column = _KINDS[graph.tables[alias]]
        share = 1.0
        for each in graph.conditions:
            if each.aliases == {alias} and each.columns != {(alias, column)}:
                word = _COMPARED.search(each.text)
                share *= _SHARES[word[1]] if word else _OTHER_SHARE
        return share

    def start(self, alias: str) -> Step:
        """The table read first, or beside tables that nothing connects it with."""
        rows = self._sizes[alias] * self._shares[alias]
        if self._graph.tables[alias] == "relationship":
            return Step(rows, max(self._relationships, 1.0))
        size = self._labelled[alias]
        return Step(rows, rows if is_identified(self._graph.list_own(alias), alias) else size)

    def join(self, alias: str, access: Access) -> Step:
        """The rows and reads for each row before, when a table is found in this way."""
        share = self._shares[alias]
        if self._graph.tables[alias] == "twin":
            return Step(min(share, 1.0) * self._find_fit(alias), 1.0)
        size = self._sizes[alias]
        if access.ends == ("id",):
            return Step(share, 1.0)
        if len(access.ends) == 2:
            found = size / (self.count_ends(alias, "source") * self.count_ends(alias, "target"))
            return Step(found * (2 if access.either else 1) * share, 1.0)
        found = size / self.count_ends(alias, access.ends[0])
        found *= 2 if access.either else 1
        return Step(found * share, found + 0.5)

    def _find_fit(self, alias: str) -> float:
        """Return the share of the twins reached that have the label."""
        links = [link for link, node in self._graph.nodes.items() if node == alias]
        if links:  # NOTE: a relationship's name mostly says what its ends are
            return 1.0
        return min(self._sizes[alias] / max(self._twins, 1.0), 1.0)

    def count_ends(self, alias: str, end: str) -> float:
        """The number of twins that relationships of this table may have at an end."""
        return max(min(self._ends[alias, end], 2 * self._sizes[alias]), 1.0)

    def count_distinct(self, columns: Collection[tuple[str, str]]) -> float:
        """The number of combinations of values that these columns may have."""
        number = 1.0
        for alias, name in columns:
            if name in ("source", "target"):
                number *= self.count_ends(alias, name)
            else:
                number *= max(self._sizes[alias] * self._shares[alias], 1.0)
        return number
