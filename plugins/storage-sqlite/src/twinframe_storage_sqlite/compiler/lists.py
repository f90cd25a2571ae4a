"""Compiles list operations: subscripts, slices, concatenation, and the functions on lists.

`comprehensions` compiles expressions over each element.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    NULL_TERM,
    Select,
    Term,
    check_droppable,
    find_element_kinds,
    may_fail,
    render_balanced,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.elements import (
    read_integer,
    read_list,
    render_element,
    render_member,
)
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import NATIVE, build_json_term, render_item
from twinframe_storage_sqlite.compiler.lets import build_let

_LONGEST_RANGE = 10_000
"""The length of a `range()` above which the evaluator runs it, which need not build the list."""


# --- one element --------------------------------------------------------------------------------


def compile_element(subject: Term, position: Term, select: Select) -> Term:
    """Compile `subject[position]` of a list: negative positions count from the end, outside is
    null.
    """
    index = read_integer(position, "a subscript")
    text = f"({read_list(subject, 'a subscript')} -> {index})"
    kinds = subject.elements | k.NULL
    if kinds & k.ENTITIES:
        value = f"({subject.value} ->> {index})"
        select.mark_optional(value)
        return Term(kinds, value, owner=select)
    if k.is_plain(kinds, NATIVE) and kinds & ~k.NULL not in (k.LIST, k.MAP):
        value = f"({read_list(subject, 'a subscript')} ->> {index})"
        return Term(kinds, value, finite=True, assumed=True)
    return replace(build_json_term(text, kinds), finite=True, assumed=True)


# --- parts --------------------------------------------------------------------------------------


def compile_tail(arguments: Sequence[Term]) -> Term:
    """`tail(list)`."""
    term = arguments[0]
    value = f"json_remove({read_list(term, 'tail()')}, '$[0]')"
    return _build_part(term, value)


def compile_slice(subject: Term, start: Term | None, end: Term | None) -> Term:
    """`subject[start..end]`; null when any of the three is."""
    texts = [read_list(subject, "a slice")]
    texts += [read_integer(each, "a slice") for each in (start, end) if each is not None]
    let = build_let(*texts)
    items, *bounds = let.names
    conditions = []
    if start is not None:
        conditions.append(f"e.key >= {_render_bound(bounds[0], items)}")
    if end is not None:
        conditions.append(f"e.key < {_render_bound(bounds[-1], items)}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    element = _render_copied(subject, "e")
    part = (
        f"(SELECT json_group_array({element} ORDER BY e.key) FROM json_each({items}) AS e{where})"
    )
    present = " AND ".join(f"{name} IS NOT NULL" for name in let.names)
    nullable = k.NULL
    value = let.wrap(f"CASE WHEN {present} THEN {part} END")
    return replace(_build_part(subject, value), kinds=k.LIST | nullable)


def _render_bound(bound: str, items: str) -> str:
    return f"CASE WHEN {bound} < 0 THEN {bound} + json_array_length({items}) ELSE {bound} END"


def compile_reversed(term: Term) -> Term:
    """`reverse(list)`."""
    let = build_let(read_list(term, "reverse()"))
    items = let.names[0]
    element = _render_copied(term, "e")
    order = "ORDER BY e.key DESC"
    text = f"(SELECT json_group_array({element} {order}) FROM json_each({items}) AS e)"
    if term.kinds & ~k.LIST:
        text = f"CASE WHEN {items} IS NOT NULL THEN {text} END"
    return _build_part(term, let.wrap(text))


def _render_copied(term: Term, alias: str) -> str:
    if term.elements & k.PATH:
        return f"json({alias}.value)"
    if term.elements & k.ENTITIES or not term.elements & ~NATIVE:
        return f"{alias}.value"
    return f"json({render_element(alias)})"


def _build_part(term: Term, value: str) -> Term:
    kinds = k.LIST | (0 if term.kinds == k.LIST else k.NULL)
    return Term(kinds, value, elements=term.elements, assumed=True)


# --- more ---------------------------------------------------------------------------------------


def compile_concatenation(left: Term, right: Term) -> Term:
    """Compile `left + right` where at least one side is certainly a list, unless it is null."""
    if left.kinds == k.NULL or right.kinds == k.NULL:
        check_droppable(left, right)
        return NULL_TERM
    for term in (left, right):
        if not _is_list(term) and term.kinds & k.LIST:
            raise CannotRun("The operator + of a list with a value that may be one.")
    elements = 0
    for term in (left, right):
        elements |= term.elements if _is_list(term) else find_element_kinds([term], "A list")
    if elements & k.ENTITIES and elements & ~k.NULL not in k.ONE_ENTITY:
        raise CannotRun("The operator + of lists of different types.")
    if _is_list(left) and not _is_list(right):
        value = _render_append(left, right)
    else:
        value = _render_joined(left, right)
    kinds = k.LIST | (left.kinds | right.kinds) & k.NULL
    return Term(kinds, value, elements=elements, assumed=True)


def _is_list(term: Term) -> bool:
    return not term.kinds & ~(k.LIST | k.NULL)


def _render_append(left: Term, right: Term) -> str:
    if not right.kinds & k.NULL:
        return f"json_insert({left.value}, '$[#]', {render_member(right)})"
    text = f"json_insert({left.value}, '$[#]', {render_member(right)})"
    # NOTE: a sum, because AND would not evaluate the left side where the right one is null.
    nulls = f"({left.value} IS NULL) + " if may_fail(left) else ""
    return f"CASE WHEN {nulls}({right.value} IS NULL) = 0 THEN {text} END"


def _render_joined(left: Term, right: Term) -> str:
    sides = [
        each.value if _is_list(each) else f"json_array({render_member(each)})"
        for each in (left, right)
    ]
    let = build_let(*sides)
    a, b = let.names
    # NOTE: JSON text contains no NUL character, where `substr` would end.
    joined = f"substr({a}, 1, length({a}) - 1) || ',' || substr({b}, 2)"
    text = f"CASE WHEN {a} = '[]' THEN {b} WHEN {b} = '[]' THEN {a} ELSE {joined} END"
    absent = [f"{each.value} IS NULL" for each in (left, right) if each.kinds & k.NULL]
    if absent:
        text = f"CASE WHEN {' OR '.join(absent)} THEN NULL ELSE {text} END"
    return let.wrap(text)


def build_list(items: tuple[Term, ...]) -> Term:
    """Build a list literal: its items stay known for `IN` and subscripts."""
    elements = find_element_kinds(items, "A list")
    if elements & k.ENTITIES:
        text = _render_array([f"coalesce({item.value}, 'null')" for item in items])
        return Term(k.LIST, text, elements=elements)
    text = _render_array([render_item(item) for item in items])
    assumed = any(map(may_fail, items))
    return Term(k.LIST, text, items=items, elements=elements, assumed=assumed)


def _render_array(items: Sequence[str]) -> str:
    """Render the JSON text of an array of JSON texts.

    An SQLite function takes at most 1,000 arguments.
    """
    if len(items) <= 100:
        return f"json_array({','.join(f'json({item})' for item in items)})"
    parts = [
        f"{',' if i else '['}".join(("'", "'")) + f" || {item}" for i, item in enumerate(items)
    ]
    return f"({render_balanced(parts, '||')} || ']')"


def compile_range(arguments: Sequence[Term]) -> Term:
    """`range(start, end [, step])`."""
    step = arguments[2] if len(arguments) > 2 else Term(k.INTEGER, "1")
    terms = (arguments[0], arguments[1], step)
    if any(not term.kinds & k.INTEGER for term in terms):
        raise CannotRun("range() of something that is no integer.")
    let = build_let(*(read_integer(term, "range()") for term in terms))
    a, b, s = let.names
    trap = render_trap("a range() of so many numbers, or of none by its step")
    empty = f"({s} > 0 AND {b} < {a}) OR ({s} < 0 AND {b} > {a})"
    small = f"max(abs({a}), abs({b}), abs({s})) < 4503599627370496 AND {s} <> 0"
    counted = f"({b} - {a}) / {s} + 1"
    numbers = (
        "(WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g"
        f" WHERE i + 1 < {counted}) SELECT json_group_array({a} + i * {s} ORDER BY i) FROM g)"
    )
    text = (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL OR {s} IS NULL THEN NULL"
        f" WHEN NOT ({small}) THEN {trap} WHEN {empty} THEN '[]'"
        f" WHEN {counted} > {_LONGEST_RANGE} THEN {trap} ELSE {numbers} END"
    )
    nullable = (terms[0].kinds | terms[1].kinds | terms[2].kinds) & k.NULL
    return Term(k.LIST | nullable, let.wrap(text), elements=k.INTEGER, assumed=True)
