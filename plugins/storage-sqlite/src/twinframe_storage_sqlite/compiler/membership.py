"""Compiles membership in the JSON text of a list, and the order of values of several types."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    Bindings,
    Dialect,
    Term,
    build_flat_json,
    build_json,
    find_shared,
    render_all,
    render_nested_tag,
    render_whole,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import NATIVE, render_key

_NESTED: Final = k.LIST | k.MAP
_CLASS_TAGS: Final = (
    "WHEN 'integer' THEN 1 WHEN 'real' THEN 1 WHEN 'text' THEN 2 WHEN 'true' THEN 3"
    " WHEN 'false' THEN 3"
)


def render_mixed_test(left: Term, operator: str, right: Term, shared: Sequence[int]) -> str:
    """Render the comparison of two values, 1 only where both are of one class."""
    compared = f"{left.value} {operator} {right.value}"
    if k.LIST in shared:
        # NOTE: only two lists cannot be compared by native values.
        trap = render_trap("an order of lists")
        compared = f"CASE WHEN {render_nested_tag(left)} = 'array' THEN {trap} ELSE {compared} END"
    return f"({_render_class(left)} = {_render_class(right)} AND {compared})"


def _render_class(term: Term) -> str:
    if term.tag is None and term.kinds & ~NATIVE:
        number = 3 if term.kinds & k.BOOLEAN else 4
        return f"CASE WHEN {term.value} IS NOT NULL THEN {number} END"
    if term.tag is None:
        return f"CASE typeof({term.value}) WHEN 'text' THEN 2 WHEN 'null' THEN NULL ELSE 1 END"
    return f"CASE {term.tag} {_CLASS_TAGS} WHEN 'array' THEN 4 END"


def compile_in_list(
    item: Term, members: Term, bindings: Bindings, dialect: Dialect, *, wanted: bool
) -> str:
    """`item IN members`."""
    if members.tag is not None:
        trap = render_trap("the operator IN over no list")
        array = f"CASE WHEN {members.tag} = 'array' THEN {members.value}"
        other = f"WHEN {members.value} IS NOT NULL THEN {trap} END"
        members = Term(k.LIST | k.NULL, f"{array} {other}", assumed=True)
    if members.kinds & ~(k.LIST | k.NULL):
        raise CannotRun("The operator IN over a value that is no list.")
    if members.elements & k.ENTITIES:
        return _compile_in_entities(item, members, dialect, wanted=wanted)
    test = _compile_in_json(item, members, bindings, dialect, wanted=wanted)
    return render_whole(test, item, members, dialect)


def _compile_in_entities(item: Term, members: Term, dialect: Dialect, *, wanted: bool) -> str:
    """Compile membership of a node or relationship in a list of such: both are row ids."""
    if item.kinds & ~k.NULL != members.elements & ~k.NULL or item.kinds & k.PATH:
        raise CannotRun("The operator IN of other values over nodes or relationships.")
    word = "IN" if wanted else "NOT IN"
    test = f"{item.value} {word} (SELECT e.value FROM json_each({members.value}) AS e)"
    if members.kinds & k.NULL:
        test = f"({members.value} IS NOT NULL AND {test})"
    return render_whole(test, item, members, dialect)


def _compile_in_json(
    item: Term, members: Term, bindings: Bindings, dialect: Dialect, *, wanted: bool
) -> str:
    """Compile membership in the JSON text of a list; for a constant or a parameter an index can
    serve.
    """
    shared = find_shared(item, Term(members.elements, members.value))
    each = Term(members.elements, "e.value", tag="e.type")
    if wanted and len(shared) == 1 and not shared[0] & (_NESTED | k.ENTITIES):
        return _compile_in_class(item, members, each, shared[0], dialect)
    # NOTE: a list and a value of another type simply differ; two lists need the evaluator.
    nested = bool(item.kinds & _NESTED)
    keys = f"SELECT {render_key(each, traps=nested)} FROM json_each({members.value}) AS e"
    sought = render_key(item, traps=False)
    if item.kinds & k.ENTITIES:
        # NOTE: a row id is no number of the list; nothing in it has this key.
        sought = f"CASE WHEN {item.value} IS NOT NULL THEN x'04' END"
    test = f"{sought} {'IN' if wanted else 'NOT IN'} ({keys})"
    if wanted and members.source is not None and item.tag is not None:
        # PERF: equal values are equal in SQLite too, so an index on a property serves; a second
        # test distinguishes booleans from numbers.
        flat = bindings.bind(members.source, build_flat_json if nested else build_json)
        return f"({item.value} IN (SELECT e.value FROM json_each({flat}) AS e) AND {test})"
    return test if not members.kinds & k.NULL else f"({members.value} IS NOT NULL AND {test})"


def _compile_in_class(
    item: Term, members: Term, each: Term, kind_class: int, dialect: Dialect
) -> str:
    """Compile membership of a value that can only equal elements of one class."""
    value, column = "e.value", item.value
    if item.lookup is not None:
        value, column = f"({item.lookup.query.format(value)})", item.lookup.column
    found = f"{column} IN (SELECT {value} FROM json_each({members.value}) AS e"
    wrong = members.elements & ~(kind_class | k.NULL)
    found += f" WHERE {dialect.render_check(each, kind_class)})" if wrong else ")"
    return render_all(
        found, None if item.lookup is not None else dialect.render_check(item, kind_class)
    )
