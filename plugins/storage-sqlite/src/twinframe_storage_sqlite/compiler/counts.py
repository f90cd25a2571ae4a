"""Compiles counts of rows: from the stored counts, or without building the rows of joins.

`factors` renders the latter; `aggregates` compiles other aggregates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from twinframe.query.algebra import AggregateCall, AggregateKind, Variable
from twinframe.query.sql import Joins, Select, Term
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.choice import note_count
from twinframe_storage_sqlite.compiler.joins import COLUMN, JoinGraph, has_choice

_SOURCE = re.compile(r"(twin|relationship) AS (\w+)")
_KEPT = {
    "twin": ("twin_count", "model", "twins"),
    "relationship": ("relationship_count", "name", "relationships"),
}


def compile_count(
    select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]
) -> Term | None:
    """Return the number of rows in a group where it can be had without its rows; else None.

    Changes `select`.
    """
    keys = tuple(keys)
    kept = compile_kept_count(select, keys, calls)
    return compile_factored_count(select, keys, calls) if kept is None else kept


def compile_kept_count(
    select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]
) -> Term | None:
    """Return the number of rows in a group from the stored counts; None where they do not answer
    it.

    PERF: they answer for all twins, or all relationships, under conditions and keys that read
    nothing but the interface or the name: 0.01 ms instead of 1.6 ms over 80,000 twins. Changes
    `select`.
    """
    match = _SOURCE.fullmatch(select.sources[0]) if len(select.sources) == 1 else None
    if match is None or select.ctes or not select.is_open:
        return None
    table, alias = match[1], match[2]
    kept, column, number = _KEPT[table]
    if not calls or not all(_counts_rows(call, select, f"{alias}.id") for call in calls):
        return None
    texts = [*select.conditions, *(text for key in keys for text in _list_texts(key))]
    read = re.compile(rf"\b{alias}\.(\w+)")
    if any(name != column for text in texts for name in read.findall(text)):
        return None
    select.sources = [f"{kept} AS {alias}"]
    return Term(k.INTEGER, f"coalesce(sum({alias}.{number}), 0)")


def compile_factored_count(
    select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]
) -> Term | None:
    """Return the number of rows in a group as a sum of numbers of rows; None where more than that
    is asked for.

    Changes `select`: it joins the tables that the keys read to a table of numbers.
    """
    if not select.is_open or select.ctes or select.is_correlated or not select.sources:
        return None
    if not calls or not all(_counts_any_rows(call, select) for call in calls):
        return None
    if not has_choice(select.sources, select.conditions):
        return None
    graph = JoinGraph(select.sources, select.conditions)
    if graph.before or graph.after:
        return None
    texts = [text for key in keys for text in _list_texts(key)]
    read = {alias for text in texts for alias, _ in COLUMN.findall(text)}
    kept = tuple(alias for alias in graph.tables if alias in read)
    statement = select.statement
    alias = statement.alias("f")
    noted = Joins(tuple(select.sources), tuple(select.conditions), kept, alias)
    select.sources = [note_count(statement.joins, noted)]
    for number, each in enumerate(kept):
        table = graph.tables[each]
        select.sources.append(f"CROSS JOIN {table} AS {each} ON {each}.id = {alias}.c{number}")
    select.conditions = []
    return Term(k.INTEGER, f"coalesce(sum({alias}.n), 0)")


def _counts_any_rows(call: AggregateCall, select: Select) -> bool:
    """Return whether an aggregate is the number of rows."""
    match call:
        case AggregateCall(kind=AggregateKind.COUNT_ROWS):
            return True
        case AggregateCall(kind=AggregateKind.COUNT, arguments=(Variable(name=name),)):
            term = select.scope.get(name)
            is_entity = term is not None and term.kinds in (k.NODE, k.RELATIONSHIP)
            return is_entity and not call.distinct
        case _:
            return False


def _counts_rows(call: AggregateCall, select: Select, row: str) -> bool:
    """Return whether an aggregate is the number of rows, each of which is the table's row `row`."""
    if call.kind is AggregateKind.COUNT_ROWS:
        return True
    match call:
        case AggregateCall(kind=AggregateKind.COUNT, arguments=(Variable(name=name),)):
            term = select.scope.get(name)
            return term is not None and term.value == row and not term.kinds & k.NULL
        case _:
            return False


def _list_texts(key: Term) -> tuple[str, ...]:
    lookup = () if key.lookup is None else (key.lookup.column,)
    return (key.value, key.tag or "", key.json or "", *lookup)
