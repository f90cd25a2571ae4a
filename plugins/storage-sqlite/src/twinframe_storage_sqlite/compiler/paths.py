"""Chooses at each run whether a statement finds twins by a range of their ids or by their models.

SQLite keeps no statistics here: it takes the index on the model, however few ids are in the range.
"""
# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from math import isqrt
from typing import Final

from twinframe.query.sql import SqlValue
from twinframe_storage_sqlite.statements import StatementRunner

_MARK: Final = "\0{}\0"
"""Stands before a test of the model of the twin `{}`. No other part of a statement has a NUL."""

_OPERATOR: Final = "(=|<=|<|>=|>)"
_COMPARED: Final = re.compile(
    rf"(?P<left>n\d+)\.dt_id {_OPERATOR} :\w+|:\w+ {_OPERATOR} (?P<right>n\d+)\.dt_id"
)
_LISTED: Final = re.compile(r"(n\d+)\.dt_id IN \(SELECT e\.value FROM json_each\([^()]*\)[^()]*\)")
_WORDS: Final = re.compile(r" AND | OR ")
_COLUMN: Final = re.compile(r"\b([a-z]\d+)\.(\w+)")
_CONSTANT: Final = "'.'"
_ROWS: Final = frozenset(("id", "source", "target"))
_MOST_TEXTS: Final = 16
_LARGEST_ROW: Final = "SELECT max(id) FROM twin"


def mark_paths(
    conditions: Sequence[str], ranges: MutableMapping[str, tuple[str, str]]
) -> Sequence[str]:
    """Mark the tests of the models of twins that a range of ids bounds too, and add both to
    `ranges`.

    Beside a list of ids SQLite is kept from searching by the model at all.
    """
    found = [(find_bounded(each), each) for each in conditions]
    for alias in sorted({alias for alias, _ in found if alias is not None}):
        ids = [each for name, each in found if name == alias]
        models = [each for each in conditions if _reads_model(each, alias)]
        if any(map(_is_exact, ids)):
            conditions = [_put_before_models(each, {alias}, "+") for each in conditions]
        elif models:
            ranges[alias] = " AND ".join(ids), " AND ".join(models)
            # NOTE: what is joined to the twin is found from it, or SQLite would start there.
            joined = _find_joined(conditions, alias)
            mark = _MARK.format(alias)
            conditions = [_put_before_models(each, joined, mark) for each in conditions]
    return conditions


def _find_joined(conditions: Sequence[str], alias: str) -> set[str]:
    """Return the aliases that equalities of row ids connect with `alias`, itself included."""
    joins = []
    for each in conditions:
        columns = _COLUMN.findall(each)
        if " = " in each and not any(name not in _ROWS for _, name in columns):
            joins.append({one for one, _ in columns})
    found = {alias}
    while more := [join for join in joins if join & found and join - found]:
        found = found.union(*more)
    return found


def find_bounded(condition: str) -> str | None:
    """Return the alias of the twin whose id a condition compares with given values alone."""
    if ".dt_id" not in condition:
        return None
    if listed := _LISTED.fullmatch(condition):
        return listed[1]
    found = set()
    # NOTE: each part is a comparison, so an index serves whatever joins them.
    for part in _WORDS.split(condition.replace("(", "").replace(")", "")):
        match = _COMPARED.fullmatch(part)
        if match is None:
            return None
        found.add(match["left"] or match["right"])
    return found.pop() if len(found) == 1 else None


def is_identified(conditions: Sequence[str], alias: str) -> bool:
    """Return whether a condition compares the twin's id with a value or a list of values."""
    return any(find_bounded(each) == alias and _is_exact(each) for each in conditions)


def _is_exact(bounded: str) -> bool:
    """Return whether a condition on an id is an equality or a list of values, not a range."""
    return "<" not in bounded and ">" not in bounded


def _reads_model(condition: str, alias: str) -> bool:
    """Return whether a condition is on nothing but the model of `alias`."""
    if "'" in condition.replace(_CONSTANT, ""):  # SEC: a literal may hold the same text
        return False
    return set(_COLUMN.findall(condition)) == {(alias, "model")}


def _put_before_models(condition: str, aliases: Iterable[str], mark: str) -> str:
    """Put `mark` before each test of a model, in a condition on nothing but that of one alias."""
    for alias in aliases:
        if _reads_model(condition, alias):
            return re.sub(rf"(?<!\w)(?={alias}\.model (?:IN|=) \()", mark, condition)
    return condition


def mark_order(
    row: str, conditions: Sequence[str], ranges: MutableMapping[str, tuple[str, str]]
) -> str:
    """Return the row id by which a scan of relationships is paged, as the order of a page.

    By the ids of twins the relationships come in another order: where a condition bounds some, the
    `+` or its mark keeps SQLite from reading all relationships in the order of their rows.
    """
    found = [(alias, each) for each in conditions if (alias := find_bounded(each)) is not None]
    if any(_is_exact(each) for _, each in found):
        return f"+{row}"
    for alias in sorted({alias for alias, _ in found}):
        ids = " AND ".join(each for name, each in found if name == alias)
        ranges.setdefault(alias, (ids, ""))
        row = _MARK.format(alias) + row
    return row


class IdRanges:
    """The ranges of ids in a statement, and its text for each choice.

    PERF: by the index on ids or on models a statement reads each twin that the index yields, at 0.1
    to 0.4 us, and tests the model of those found by id. So it goes by ids where the range has at
    most half as many twins as the label. The number of the label is kept; those of the range are
    counted up to half of it, at 0.03 us each.
    """

    def __init__(self, ranges: Mapping[str, tuple[str, str]]) -> None:
        self._counts = {
            alias: (
                models
                and f"SELECT coalesce(sum(twins), 0) FROM twin_count AS {alias} WHERE {models}",
                (
                    f"SELECT count(*) FROM (SELECT 1 FROM twin AS {alias} WHERE {ids} "
                    "LIMIT :path_most)"
                ),
            )
            for alias, (ids, models) in ranges.items()
        }
        self._texts: dict[tuple[str, frozenset[str]], str] = {}

    def choose(self, text: str, runner: StatementRunner, bindings: Mapping[str, SqlValue]) -> str:
        """Return the statement with its marks as the present graph suggests."""
        if not self._counts:
            return text
        by_id = frozenset(each for each in self._counts if self._has_few(each, runner, bindings))
        chosen = self._texts.get((text, by_id))
        if chosen is None:
            if len(self._texts) >= _MOST_TEXTS:  # the orders of joins change with the graph
                self._texts.clear()
            self._texts[text, by_id] = chosen = self._render(text, by_id)
        return chosen

    def strip(self, text: str) -> str:
        """Return the statement without marks: it goes by the models."""
        return self._render(text, frozenset())

    def _render(self, text: str, by_id: frozenset[str]) -> str:
        for alias in self._counts:
            text = text.replace(_MARK.format(alias), "+" if alias in by_id else "")
        return text

    def _has_few(
        self, alias: str, runner: StatementRunner, bindings: Mapping[str, SqlValue]
    ) -> bool:
        """Return whether to go by ids."""
        count_models, count_ids = self._counts[alias]
        if not count_models:
            enough = read_enough(runner, bindings, filtered=False)
            return self._count(count_ids, enough, runner, bindings)
        found: int = runner.read_one(count_models, bindings)
        after = bindings.get("page_after")
        if isinstance(after, str):
            # PERF: a page in the order of ids ends when it is full: pages after the first are in
            # all one pass over the range, which need not be counted for each.
            if found >= read_enough(runner, bindings, filtered=True):
                return True
            if after:
                return False
        return self._count(count_ids, found // 2, runner, bindings)

    def _count(
        self, sql: str, most: int, runner: StatementRunner, bindings: Mapping[str, SqlValue]
    ) -> bool:
        """Return whether a range has at most so many twins."""
        found: int = runner.read_one(sql, {**bindings, "path_most": most + 1})
        return found <= most


def read_enough(
    runner: StatementRunner, bindings: Mapping[str, SqlValue], *, filtered: bool
) -> int:
    """Return how many twins fill pages so well that it is best to read on until a page is full.

    PERF: to go by an index costs 0.4 us for each of its twins and nothing for the rest of the
    graph; to read on in the order of the pages 0.1 us for every twin passed until the page is full.
    Both cost the same for `sqrt(limit * twins / 4)` twins. With further conditions (`filtered`) it
    is unknown how many twins fill a page: for the first page it is a quarter of all twins, which
    costs at most a pass over all of them; for later pages the rule without conditions keeps that
    bound.
    """
    twins: int = runner.read_one(_LARGEST_ROW) or 0
    limit = bindings["page_limit"]
    if (filtered and not bindings["page_after"]) or not isinstance(limit, int) or limit < 0:
        return max(twins // 4, 1)
    return max(isqrt(limit * twins // 4), 1)
