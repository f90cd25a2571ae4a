"""Groups rows by keys that may be any expression."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from twinframe.query.algebra import AggregateCall, AggregateKind
from twinframe.query.sql import NULL_TERM, Groups, Select, Term, render_group_key
from twinframe.query.sql import kinds as k
from twinframe_storage_postgres.compiler.dialect import DIALECT
from twinframe_storage_postgres.compiler.members import find_members, is_of_members

_LOOKUP: Final = re.compile(r"SELECT id FROM (\w+) WHERE (\w+) = \{\}")
"""A query that finds a row id: the value in the group is what it was found by."""
_COUNTS: Final = (AggregateKind.COUNT, AggregateKind.COUNT_ROWS)


def open_groups(select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]) -> Groups:
    """Group in the SELECT itself, where PostgreSQL knows the keys again."""
    if not select.order_by and any(call.kind is AggregateKind.COLLECT for call in calls):
        # NOTE: a list is the same in each run, however the server reads the rows.
        select.order_by = list(select.scanned.values())
    has_values = any(call.kind not in _COUNTS for call in calls)
    # NOTE: PostgreSQL does not know an expression again that has a subquery.
    if has_values or any(
        term.tag is not None or ("SELECT" in term.value and term.lookup is None) for term in keys
    ):
        return _CarriedGroups(select)
    return _KeyedGroups(select)


class _KeyedGroups:
    """Groups in which nothing is read but the keys."""

    def __init__(self, select: Select) -> None:
        self._select = select

    def carry(self, sql: str) -> str:
        """Return the expression itself."""
        return sql

    def build_groups(self, keys: Mapping[str, Term], aggregates: Mapping[str, Term]) -> Select:
        """Group the SELECT, and wrap it."""
        select = self._select
        by = {name: render_group_key(term, DIALECT) for name, term in keys.items()}
        select.group_by = list(by.values())
        select.order_by = []
        read = {name: _read_key(term, by[name]) for name, term in keys.items()}
        select.scope = {**read, **aggregates}
        return select.build_wrapped()


class _CarriedGroups:
    """Groups over a derived table of the expressions that they need."""

    def __init__(self, select: Select) -> None:
        self._select = select
        self._columns: list[str] = []
        self._alias = select.statement.alias("g")

    def carry(self, sql: str) -> str:
        """Return the column of the expression, or what is computed of columns of its members."""
        if not is_of_members(sql):
            return self._carry_whole(sql)
        for each in find_members(sql):
            sql = sql.replace(each, self._carry_whole(each))
        return sql

    def _carry_whole(self, sql: str) -> str:
        if sql not in self._columns:
            self._columns.append(sql)
        return f"{self._alias}.a{self._columns.index(sql)}"

    def build_groups(self, keys: Mapping[str, Term], aggregates: Mapping[str, Term]) -> Select:
        """Build the groups as a new open SELECT."""
        outer = Select(self._select.statement)
        by = {
            name: self._carry_whole(render_group_key(term, DIALECT)) for name, term in keys.items()
        }
        outer.group_by = list(by.values())
        outer.scope = {name: _read_key(term, by[name]) for name, term in keys.items()}
        outer.scope |= aggregates
        outer.ctes, self._select.ctes = self._select.ctes, []
        self._select.order_by = []
        columns = [f"{_compute_once(sql)} AS a{i}" for i, sql in enumerate(self._columns)] or ["1"]
        outer.join(f"({self._select.render(columns)}) AS {self._alias}")
        return outer.build_wrapped()


def _compute_once(sql: str) -> str:
    """Keep PostgreSQL from computing a member anew wherever an aggregate names it.

    PERF: the minimum, maximum and average of a property take a fifth of the time.
    """
    return f"twinframe_once({sql})" if ".members" in sql else sql


def _read_key(term: Term, key: str) -> Term:
    """The value of a group; a trap where equivalent ones differ, such as 1 and 1.0."""
    if term.kinds == k.NULL:
        return NULL_TERM
    if term.lookup is not None:
        value = _LOOKUP.sub(rf"(SELECT t.\2 FROM \1 AS t WHERE t.id = {key})", term.lookup.query)
        return replace(term, value=value, lookup=replace(term.lookup, column=key))
    nested = term.kinds & (k.LIST | k.MAP)
    mixed = term.kinds & k.NUMBER == k.NUMBER or (
        nested and (nested & k.MAP or term.elements & (k.NUMBER | k.LIST | k.MAP))
    )
    if mixed and not (nested and term.elements & k.ENTITIES):
        trap = DIALECT.render_trap("a group of integers and floats")
        forms = f"bit_or(twinframe_form({key}))"
        test = f"{forms} = 3 OR {forms} >= 4 AND count(*) > 1"
        key = f"(CASE WHEN {test} THEN {trap} ELSE {key} END)"
    if term.tag is None or term.json is None:
        return replace(term, value=key, items=None, entries=None, assumed=True)
    return replace(DIALECT.build_json_term(key, term.kinds), finite=term.finite, assumed=True)
