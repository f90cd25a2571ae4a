"""Result columns for the evaluator: cells of SQL, and their conversion to values."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from twinframe.model.values import Node, Relationship, Value
from twinframe.query.sql import kinds as k
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.term import Term, check_path, read_table

LabelSets: TypeAlias = dict[int, frozenset[str]]
"""Row id of an interface -> the labels of its twins."""
Decode: TypeAlias = Callable[[Sequence[Any], LabelSets], Value]


@dataclass(frozen=True, slots=True)
class Column:
    """A result column for the evaluator: its SQL columns, and their conversion to a value.

    `decode` gets as many cells as there are SQL columns, and the labels of all interfaces.
    """

    sql: tuple[str, ...]
    decode: Decode


def build_value_column(term: Term, dialect: Dialect) -> Column:
    """Build the column of a node, a relationship, or a value that holds neither."""
    check_path(term)
    known = term.kinds & ~k.NULL
    if known == k.NODE:
        return Column(list_node_cells(read_table(term), dialect), _decode_node)
    if known == k.RELATIONSHIP:
        return Column(list_relationship_cells(read_table(term), dialect), _decode_relationship)
    if known == k.BOOLEAN:
        return Column((dialect.read_plain(term),), _decode_boolean)
    if dialect.is_plain(term.kinds) and not known & ~(k.NUMBER | k.STRING):
        return Column((dialect.read_plain(term),), _decode_native)
    return Column((dialect.render_json(term),), _decode_json)


def list_node_cells(alias: str, dialect: Dialect) -> tuple[str, ...]:
    """The cells of a node: its id, the row id of its interface, and its document."""
    return (f"{alias}.dt_id", f"{alias}.model", dialect.render_as_json(f"{alias}.document"))


def list_relationship_cells(alias: str, dialect: Dialect) -> tuple[str, ...]:
    """The cells of a relationship: the arguments of `Relationship`."""
    twin = dialect.tables[k.NODE]
    return (
        f"(SELECT s.dt_id FROM {twin} AS s WHERE s.id = {alias}.source)",
        f"{alias}.relationship_id",
        f"(SELECT t.dt_id FROM {twin} AS t WHERE t.id = {alias}.target)",
        f"{alias}.name",
        dialect.render_as_json(f"{alias}.document"),
    )


def _decode_native(cells: Sequence[Any], labels: LabelSets) -> Value:
    value: Value = cells[0]
    return value


def _decode_boolean(cells: Sequence[Any], labels: LabelSets) -> Value:
    return None if cells[0] is None else bool(cells[0])


def _decode_json(cells: Sequence[Any], labels: LabelSets) -> Value:
    value: Value = None if cells[0] is None else orjson.loads(cells[0])
    return value


def _decode_node(cells: Sequence[Any], labels: LabelSets) -> Value:
    dt_id, model, document = cells
    return None if dt_id is None else Node(dt_id, orjson.loads(document), labels[model])


def _decode_relationship(cells: Sequence[Any], labels: LabelSets) -> Value:
    source, relationship_id, target, name, document = cells
    if source is None:
        return None
    return Relationship(source, relationship_id, target, name, orjson.loads(document))
