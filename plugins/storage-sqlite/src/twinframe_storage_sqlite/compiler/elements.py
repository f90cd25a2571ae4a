"""Converts lists to rows and rows to lists; `lists` and `comprehensions` use it."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.select import Select
from twinframe_storage_sqlite.compiler.term import Term, render_json

_SHORT = 40


@dataclass(frozen=True, slots=True)
class Let:
    """Names for SQL expressions that a text uses several times. `wrap` puts a text into their
    scope.

    PERF: each is computed once, and the text stays linear in the depth of the expression.
    """

    names: tuple[str, ...]
    wrap: Callable[[str], str]


def build_let(*texts: str) -> Let:
    """Name `texts`; short ones, mostly columns and placeholders, stand for themselves."""
    if all(len(text) <= _SHORT and "SELECT" not in text for text in texts):
        return Let(texts, lambda body: body)
    # NOTE: the name derives from the content, so two different contents cannot hide each other.
    digest = blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()
    table = f"v{digest}"
    heads = ",".join(f"a{i}" for i in range(len(texts)))
    values = ", ".join(texts)

    def wrap(body: str) -> str:
        scope = f"{table}({heads}) AS MATERIALIZED (SELECT {values})"
        return f"(WITH {scope} SELECT {body} FROM {table})"

    return Let(tuple(f"{table}.a{i}" for i in range(len(texts))), wrap)


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
    if k.is_plain(kinds):
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


def render_item(term: Term) -> str:
    """Render the JSON text of a member of a list or map, never NULL.

    An infinity is a trap: JSON has none.
    """
    if term.kinds & ~k.NULL and not term.kinds & ~(k.NUMBER | k.NULL) and _may_be_infinite(term):
        trap = render_trap("an infinity in a list or map")
        let = build_let(term.value)
        value = let.names[0]
        text = f"CASE abs({value}) WHEN 9e999 THEN {trap} ELSE json_quote({value}) END"
        return f"coalesce({let.wrap(text)}, 'null')"
    if _may_be_infinite(term):
        raise CannotRun("A list or map of computed floats.")
    text = render_json(term)
    return f"coalesce({text}, 'null')" if term.kinds & k.NULL else text


def _may_be_infinite(term: Term) -> bool:
    is_native = term.tag is None and bool(term.kinds & k.FLOAT)
    return is_native and not term.finite and term.source is None


def render_member(term: Term) -> str:
    """Render the argument of `json_group_array` or `json_insert` for the term: a row id, or
    JSON.
    """
    if term.kinds & k.ENTITIES:
        return term.value
    if not term.kinds & ~(k.INTEGER | k.STRING | k.NULL):
        return term.value
    return f"json({render_item(term)})"


def find_element_kinds(terms: Sequence[Term], reason: str) -> int:
    """Return the kinds of the elements of a list of `terms`.

    Raises `CannotRun` for mixed or nested entities.
    """
    kinds = 0
    for term in terms:
        kinds |= term.kinds
        if (term.kinds & k.LIST and term.elements & k.ENTITIES) or term.holds_entities:
            raise CannotRun(f"{reason} of lists or maps of nodes or relationships.")
    if kinds & k.ENTITIES and kinds & ~k.NULL not in (k.NODE, k.RELATIONSHIP):
        raise CannotRun(f"{reason} of nodes or relationships and other values.")
    return kinds or k.NULL


def render_group(term: Term, position: str) -> str:
    """Render the aggregate that makes a list of the term's values, in the order of `position`.

    NOTE: the order names a column of the rows aggregated; without one SQLite would attribute an
    aggregate over values of an outer row alone to the outer statement.
    """
    return f"json_group_array({render_member(term)} ORDER BY {position})"
