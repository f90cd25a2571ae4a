"""Converts lists to rows and rows to lists; `lists` uses it."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.query.engine import CannotRun
from twinframe.query.sql import Select, Term, find_element_kinds
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import NATIVE, render_item

# --- in -----------------------------------------------------------------------------------------


def read_list(term: Term, reason: str) -> str:
    """The JSON text of a term that must be a list or null; a trap otherwise."""
    if not term.kinds & ~(k.LIST | k.NULL):
        return term.value
    if not term.kinds & k.LIST or term.tag is None:
        raise CannotRun(f"{reason.capitalize()} over a {k.render_kinds(term.kinds)}.")
    trap = render_trap(f"{reason} over another type")
    tag = term.tag
    return f"(CASE WHEN {tag} = 'array' THEN {term.value} WHEN {tag} <> 'null' THEN {trap} END)"


def read_integer(term: Term, reason: str) -> str:
    """The native value of a term that must be an integer or null; a trap otherwise."""
    if not term.kinds & ~(k.INTEGER | k.NULL):
        return term.value
    if not term.kinds & k.INTEGER:
        raise CannotRun(f"{reason.capitalize()} by a {k.render_kinds(term.kinds)}.")
    tag = f"typeof({term.value})" if term.tag is None else term.tag
    trap = render_trap(f"{reason} by another type")
    value = term.value
    return f"(CASE WHEN {tag} = 'integer' THEN {value} WHEN {value} IS NOT NULL THEN {trap} END)"


def join_elements(text: str, kinds: int, select: Select) -> tuple[Term, str]:
    """Join the list `text` to `select`; return the element of each row and its position as SQL.

    `kinds` are the kinds that the elements can have.
    """
    alias = select.statement.alias("e")
    select.join(f"json_each({text}) AS {alias}")
    select.is_driven = True
    value, position = f"{alias}.value", f"{alias}.key"
    if kinds & k.ENTITIES:
        if kinds & k.NULL:
            select.mark_optional(value)
        return Term(kinds, value, owner=select), position
    if k.is_plain(kinds, NATIVE):
        return Term(kinds, value, finite=True), position
    return Term(kinds, value, tag=f"{alias}.type", json=render_element(alias), finite=True), (
        position
    )


def render_element(alias: str) -> str:
    """The JSON text of the element (or entry) in the row `alias` of `json_each`."""
    value = f"{alias}.value"
    return (
        f"CASE {alias}.type WHEN 'array' THEN {value} WHEN 'object' THEN {value}"
        f" WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE json_quote({value}) END"
    )


# --- out ----------------------------------------------------------------------------------------


def render_member(term: Term) -> str:
    """Render the argument of `json_group_array` or `json_insert` for the term: a row id, or
    JSON.
    """
    if term.kinds & k.PATH:
        return f"json({term.value})"
    if term.kinds & k.ENTITIES:
        return term.value
    if not term.kinds & ~(k.INTEGER | k.STRING | k.NULL):
        return term.value
    return f"json({render_item(term)})"


def render_group(term: Term, position: str) -> str:
    """Render the aggregate that makes a list of the term's values, in the order of `position`.

    NOTE: the order names a column of the rows aggregated; without one SQLite would attribute an
    aggregate over values of an outer row alone to the outer statement.
    """
    return f"json_group_array({render_member(term)} ORDER BY {position})"


def join_list(term: Term, select: Select) -> Term:
    """Join the elements of a list; return the element of each row. Another value is one row."""
    text, kinds = term.value, term.elements
    if term.kinds & ~(k.LIST | k.NULL):
        text, kinds = _render_as_list(term), k.JSON
    return join_elements(text, kinds, select)[0]


def _render_as_list(term: Term) -> str:
    """Render a value as a list. SPEC: openCypher 9 unwinds lists only; another value is one row."""
    if term.kinds & k.ENTITIES or term.holds_entities:
        raise CannotRun("The operator Unwind over a node or relationship.")
    single = f"json_array(json({render_item(term)}))"
    if term.tag is None:
        return f"CASE WHEN {term.value} IS NOT NULL THEN {single} END"
    return (
        f"CASE WHEN {term.tag} = 'array' THEN {term.value}"
        f" WHEN {term.value} IS NOT NULL THEN {single} END"
    )


def compile_collected(term: Term, select: Select) -> Term:
    """The list of the values of `term` in the rows of `select`."""
    elements = find_element_kinds([term], "A pattern comprehension")
    select.order_by = []
    # NOTE: a derived table: an aggregate over values of the outer row alone would belong to the
    # outer statement.
    native = bool(elements & k.ENTITIES) or (not elements & ~NATIVE and term.finite)
    cell = term.value if native else render_item(term)
    rows = select.render([f"{cell} AS v"])
    item = "p.v" if native and not elements & k.PATH else "json(p.v)"
    text = f"(SELECT json_group_array({item}) FROM ({rows}) AS p)"
    return Term(k.LIST, text, elements=elements, assumed=term.assumed)
