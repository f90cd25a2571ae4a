"""Builds the columns of results: as values for the evaluator, and as JSON of their own."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import orjson

from twinframe.model.rendering import render_json
from twinframe.model.values import Node, Path, Relationship, Value
from twinframe.query.sql import (
    Column,
    LabelSets,
    Term,
    build_value_column,
    check_path,
    list_node_cells,
    list_relationship_cells,
    read_table,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_postgres.compiler.dialect import DIALECT
from twinframe_storage_postgres.compiler.maps import render_stored
from twinframe_storage_postgres.spelling import NEGATIVE_ZERO, read_json, read_text

Decode: TypeAlias = Callable[[Sequence[Any], LabelSets], Value]


def build_column(term: Term) -> Column:
    """The column of any term."""
    known = term.kinds & ~k.NULL
    if term.entries is not None:
        return _build_map(term)
    if known == k.PATH or (known == k.LIST and term.elements & k.PATH):
        return _build_paths(term)
    if known == k.LIST and term.elements & k.ENTITIES:
        return _build_entity_list(term)
    if known in (k.NODE, k.RELATIONSHIP) or known == k.BOOLEAN or not known:
        return build_value_column(term, DIALECT)
    if DIALECT.is_plain(term.kinds) and not known & ~(k.NUMBER | k.STRING):
        decode = _decode_text if known == k.STRING else _decode_native
        return Column((DIALECT.read_plain(term),), decode)
    return Column((_render_json(term),), _decode_json)


def _render_json(term: Term) -> str:
    """Render JSON as text; stored lists and maps as they are in the document."""
    json = DIALECT.render_json(term)
    stored = render_stored(term) if term.member and term.member.names else None
    if stored is None:
        return f"({json})::text"
    # NOTE: PostgreSQL parses no JSON with U+0000.
    document = stored[1:].partition("::")[0]
    return (
        f"CASE WHEN jsonb_typeof({json}) IN ('array', 'object')"
        f" AND strpos({document}, '\\u0000') = 0 THEN {stored}::text ELSE {json}::text END"
    )


def _decode_native(cells: Sequence[Any], labels: LabelSets) -> Value:
    value: Value = cells[0]
    return value


def _decode_text(cells: Sequence[Any], labels: LabelSets) -> Value:
    return None if cells[0] is None else read_text(cells[0])


def _decode_json(cells: Sequence[Any], labels: LabelSets) -> Value:
    cell: str | None = cells[0]
    if cell == NEGATIVE_ZERO:
        return -0.0
    value: Value = None if cell is None else orjson.loads(read_json(cell))
    return value


def _build_map(term: Term) -> Column:
    """A map whose entries are known: its base if any, and the columns of its entries."""
    base = () if term.base is None else (f"({term.base.value})::text",)
    entries = [(key, build_column(each)) for key, each in term.entries or ()]

    def decode(cells: Sequence[Any], labels: LabelSets) -> Value:
        rest = iter(cells)
        below = [next(rest) for _ in base]
        if below == [None]:
            return None
        own: dict[str, Value] = orjson.loads(read_json(below[0])) if below else {}
        return own | {
            key: column.decode(tuple(islice(rest, len(column.sql))), labels)
            for key, column in entries
        }

    return Column((*base, *(cell for _, column in entries for cell in column.sql)), decode)


# --- paths, and lists of nodes, relationships and paths -----------------------------------------


def _render_array(cells: Sequence[str]) -> str:
    return f"json_build_array({', '.join(cells)})"


def _list_cells(kind: int) -> str:
    if kind == k.NODE:
        dt_id, model, document = list_node_cells("d", DIALECT)
        return _render_array((dt_id, model, f"{document}::json"))
    *head, document = list_relationship_cells("d", DIALECT)
    return _render_array((*head, f"{document}::json"))


def _render_entity(kind: int, row: str) -> str:
    table = DIALECT.tables[kind]
    return f"(SELECT {_list_cells(kind)} FROM {table} AS d WHERE d.id = ({row})::bigint)"


def _render_path(value: str) -> str:
    row = "e.value #>> '{}'"
    part = (
        f"CASE e.n % 2 WHEN 1 THEN {_render_entity(k.NODE, row)}"
        f" ELSE {_render_entity(k.RELATIONSHIP, row)} END"
    )
    return (
        f"(SELECT json_agg({part} ORDER BY e.n) FROM"
        f" jsonb_array_elements(nullif({value}, 'null')) WITH ORDINALITY AS e(value, n))"
    )


def _build_paths(term: Term) -> Column:
    check_path(term)
    if not term.kinds & k.LIST:
        return Column((f"{_render_path(term.value)}::text",), _decode_path)
    paths = _render_list(term, _render_path("l.value"))
    return Column((paths,), _decode_paths)


def _render_list(term: Term, item: str) -> str:
    items = (
        f"(SELECT coalesce(json_agg({item} ORDER BY l.n), '[]') FROM"
        f" jsonb_array_elements({term.value}) WITH ORDINALITY AS l(value, n))::text"
    )
    return f"CASE WHEN {term.value} IS NOT NULL THEN {items} END"


def _build_entity_list(term: Term) -> Column:
    kind = k.NODE if term.elements & k.NODE else k.RELATIONSHIP
    decode = _decode_nodes if kind == k.NODE else _decode_relationships
    return Column((_render_list(term, _render_entity(kind, "l.value #>> '{}'")),), decode)


def _decode_paths(cells: Sequence[Any], labels: LabelSets) -> Value:
    if cells[0] is None:
        return None
    return [parts and _build_path_of(parts, labels) for parts in orjson.loads(cells[0])]


def _decode_path(cells: Sequence[Any], labels: LabelSets) -> Value:
    return None if cells[0] is None else _build_path_of(orjson.loads(cells[0]), labels)


def _build_path_of(parts: list[Any], labels: LabelSets) -> Path:
    nodes = (Node(dt_id, document, labels[model]) for dt_id, model, document in parts[::2])
    return Path(tuple(nodes), tuple(Relationship(*found) for found in parts[1::2]))


def _decode_nodes(cells: Sequence[Any], labels: LabelSets) -> Value:
    if cells[0] is None:
        return None
    found = orjson.loads(cells[0])
    return [each and Node(each[0], each[2], labels[each[1]]) for each in found]


def _decode_relationships(cells: Sequence[Any], labels: LabelSets) -> Value:
    if cells[0] is None:
        return None
    return [each and Relationship(*each) for each in orjson.loads(cells[0])]


# --- JSON ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JsonColumn:
    """A column of JSON rows: its SQL columns, and their conversion to JSON; None for null.

    Only lists, maps and paths of nodes are rendered from values that have labels.
    """

    sql: tuple[str, ...]
    render: Callable[[Sequence[Any], LabelSets], bytes | None]
    reads_labels: bool = False


def build_json_column(term: Term) -> JsonColumn:
    """The column of any term, as JSON: of a node or relationship the bytes of its document."""
    known = term.kinds & ~k.NULL
    if known in (k.NODE, k.RELATIONSHIP):
        return JsonColumn((f"{read_table(term)}.document",), _render_document)
    column = build_column(term)

    def render(cells: Sequence[Any], labels: LabelSets) -> bytes | None:
        if column.decode is _decode_json and (text := cells[0]) is not None:
            # PERF: most values are texts without escapes, and small integers.
            if text[0] == '"' and "\\" not in text:
                return text.encode()  # type: ignore[no-any-return]  # it is a text
            if text.isdecimal():
                return text.encode()  # type: ignore[no-any-return]  # it is a text
        value = column.decode(cells, labels)
        return None if value is None else render_json(value)

    has_nodes = term.entries is not None or known & ~(k.NUMBER | k.STRING | k.BOOLEAN)
    return JsonColumn(column.sql, render, reads_labels=bool(has_nodes))


def _render_document(cells: Sequence[Any], labels: LabelSets) -> bytes | None:
    document: str | None = cells[0]
    return None if document is None else document.encode()
