"""Compiles lists: rows of their elements, literals, parts, and lists of rows."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    Let,
    Select,
    Term,
    build_let,
    find_element_kinds,
    may_fail,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_postgres.compiler.dialect import DIALECT

_MOST_ARGUMENTS = 50


def name_texts(*texts: str) -> Let:
    """Name `texts` by a derived table, which PostgreSQL computes once."""
    return build_let(texts, _render_scope)


def _render_scope(table: str, texts: tuple[str, ...], body: str) -> str:
    columns = ", ".join(f"{text} AS a{i}" for i, text in enumerate(texts))
    # NOTE: OFFSET keeps PostgreSQL from writing the columns' expressions into the body.
    return f"(SELECT {body} FROM (SELECT {columns} OFFSET 0) AS {table})"


# --- in -----------------------------------------------------------------------------------------


def read_list(term: Term, reason: str) -> str:
    """Render a term that must be a list or null; a trap otherwise."""
    if term.kinds & k.LIST and not term.kinds & ~(k.LIST | k.NULL):
        return term.value if term.tag is None else f"nullif({term.json}, 'null')"
    if not term.kinds & k.LIST or term.tag is None:
        raise CannotRun(f"{reason.capitalize()} over a {k.render_kinds(term.kinds)}.")
    trap = DIALECT.render_trap(f"{reason} over another type")
    return (
        f"(CASE WHEN {DIALECT.render_check(term, k.LIST)} THEN {term.json}"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )


def read_integer(term: Term, reason: str) -> str:
    """Render a term that must be an integer or null as `bigint`; a trap otherwise."""
    if not term.kinds & k.INTEGER:
        raise CannotRun(f"{reason.capitalize()} by a {k.render_kinds(term.kinds)}.")
    if term.tag is None:
        if term.kinds & ~(k.INTEGER | k.NULL):
            raise CannotRun(f"{reason.capitalize()} by a {k.render_kinds(term.kinds)}.")
        return term.value
    trap = DIALECT.render_trap(f"{reason} by another type", k.INTEGER)
    return (
        f"(CASE WHEN {term.tag} = 'integer' THEN {term.json}::bigint"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )


def join_elements(text: str, kinds: int, select: Select) -> tuple[Term, str]:
    """Join the list `text` to `select`; return the element of each row and its position."""
    alias = select.statement.alias("e")
    select.join(f"jsonb_array_elements({text}) WITH ORDINALITY AS {alias}(value, n)")
    select.is_driven = True
    term = _build_element(f"{alias}.value", kinds, select)
    return term, f"{alias}.n - 1"


def _build_element(json: str, kinds: int, select: Select) -> Term:
    known = kinds & ~k.NULL
    if known in (k.NODE, k.RELATIONSHIP):
        row = f"({json} #>> '{{}}')::bigint"
        if kinds & k.NULL:
            select.mark_optional(row)
        return Term(kinds, row, owner=select)
    if known == k.PATH:
        return Term(kinds, f"nullif({json}, 'null')", elements=k.NODE | k.RELATIONSHIP)
    term = replace(DIALECT.build_json_term(json, kinds), finite=True)
    if not DIALECT.is_plain(kinds):
        return term
    if known in (k.LIST, k.MAP):
        return Term(kinds, f"nullif({json}, 'null')", finite=True)
    return Term(kinds, f"({DIALECT.read_plain(term)})", finite=True)


def join_list(term: Term, select: Select) -> Term:
    """Join the elements of a list; return the element of each row. Another value is one row."""
    if not term.kinds & ~(k.LIST | k.NULL):
        return join_elements(read_list(term, "UNWIND"), term.elements, select)[0]
    if term.kinds & k.ENTITIES or term.holds_entities:
        raise CannotRun("The operator Unwind over a node or relationship.")
    single = f"jsonb_build_array({DIALECT.render_item(term)})"
    text = f"CASE WHEN {term.value} IS NOT NULL THEN {single} END"
    if term.tag is not None:
        is_list = f"jsonb_typeof({term.json}) = 'array'"
        text = f"CASE WHEN {is_list} THEN {term.json} ELSE {text} END"
    return join_elements(text, k.JSON, select)[0]


# --- out ----------------------------------------------------------------------------------------


def render_member(term: Term) -> str:
    """Render an element of a list: a row id, or `jsonb`."""
    return term.value if term.kinds & k.ENTITIES else DIALECT.render_item(term)


def render_group(term: Term, position: str) -> str:
    """Render the aggregate that makes a list of the term's values."""
    return f"coalesce(jsonb_agg({render_member(term)} ORDER BY {position}), '[]')"


def compile_collected(term: Term, select: Select) -> Term:
    """The list of the values of `term` in the rows of `select`."""
    elements = find_element_kinds([term], "A pattern comprehension")
    select.order_by = []
    rows = select.render([f"{render_member(term)} AS v"])
    text = f"(SELECT coalesce(jsonb_agg(p.v), '[]') FROM ({rows}) AS p)"
    return Term(k.LIST, text, elements=elements, assumed=term.assumed)


def build_list(items: tuple[Term, ...]) -> Term:
    """Build a list literal: its items stay known for `IN` and subscripts."""
    elements = find_element_kinds(items, "A list")
    text = _render_array([render_member(item) for item in items])
    if elements & k.ENTITIES:
        return Term(k.LIST, text, elements=elements)
    assumed = any(map(may_fail, items))
    return Term(k.LIST, text, items=items, elements=elements, assumed=assumed)


def _render_array(items: Sequence[str]) -> str:
    parts = [
        f"jsonb_build_array({', '.join(items[at : at + _MOST_ARGUMENTS])})"
        for at in range(0, max(len(items), 1), _MOST_ARGUMENTS)
    ]
    return f"({' || '.join(parts)})"


# --- parts --------------------------------------------------------------------------------------


def compile_element(subject: Term, position: Term, select: Select) -> Term:
    """Compile `subject[position]`: negative positions count from the end, outside is null."""
    items, index = read_list(subject, "a subscript"), read_integer(position, "a subscript")
    json = f"twinframe_element({items}, {index})"
    return replace(_build_element(json, subject.elements | k.NULL, select), assumed=True)


def compile_slice(subject: Term, start: Term | None, end: Term | None) -> Term:
    """`subject[start..end]`; null when any of the three is."""
    items = read_list(subject, "a slice")
    first = "0" if start is None else read_integer(start, "a slice")
    last = "9223372036854775807" if end is None else read_integer(end, "a slice")
    return build_part(subject, f"twinframe_slice({items}, {first}, {last})", k.NULL)


def build_part(term: Term, value: str, nullable: int = 0) -> Term:
    """The term of some elements of a list."""
    nullable |= 0 if term.kinds == k.LIST else k.NULL
    return Term(k.LIST | nullable, value, elements=term.elements, assumed=True)


def compile_concatenation(left: Term, right: Term) -> Term:
    """Compile `left + right` where at least one side is certainly a list, unless it is null."""
    for term in (left, right):
        if not _is_list(term) and term.kinds & k.LIST:
            raise CannotRun("The operator + of a list with a value that may be one.")
    elements = 0
    for term in (left, right):
        elements |= term.elements if _is_list(term) else find_element_kinds([term], "A list")
    if elements & k.ENTITIES and elements & ~k.NULL not in k.ONE_ENTITY:
        raise CannotRun("The operator + of lists of different types.")
    sides = [_render_side(each) for each in (left, right)]
    kinds = k.LIST | (left.kinds | right.kinds) & k.NULL
    return Term(kinds, f"({sides[0]} || {sides[1]})", elements=elements, assumed=True)


def _render_side(term: Term) -> str:
    if _is_list(term):
        return read_list(term, "the operator +")
    single = f"jsonb_build_array({render_member(term)})"
    if not term.kinds & k.NULL:
        return single
    return f"CASE WHEN {term.value} IS NOT NULL THEN {single} END"


def _is_list(term: Term) -> bool:
    return bool(term.kinds & k.LIST) and not term.kinds & ~(k.LIST | k.NULL)
