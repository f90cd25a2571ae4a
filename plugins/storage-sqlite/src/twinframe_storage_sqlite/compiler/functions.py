"""The functions of lists, maps and paths that SQLite computes exactly, beside those of scalars."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from twinframe.query.engine import CannotRun
from twinframe.query.sql import NULL_TERM, Term, check_path
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import read_as, render_unless_null
from twinframe_storage_sqlite.compiler.lists import (
    compile_range,
    compile_reversed,
    compile_tail,
)
from twinframe_storage_sqlite.compiler.maps import (
    compile_keys,
    compile_labels_of,
    compile_properties,
)
from twinframe_storage_sqlite.compiler.scalars import SCALARS


def _compile_size(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    nullable = term.kinds & k.NULL
    if term.kinds == k.NULL:
        return NULL_TERM
    if not term.kinds & ~(k.LIST | k.NULL):
        value = f"json_array_length({term.value})"
        return Term(k.INTEGER | nullable, value, assumed=term.assumed)
    if not term.kinds & ~(k.MAP | k.NULL):
        count = render_unless_null(term, f"(SELECT count(*) FROM json_each({term.value}))")
        return Term(k.INTEGER | nullable, count, assumed=term.assumed)
    if term.tag is not None and term.kinds & k.LIST:
        array = f"CASE WHEN {term.tag} = 'array' THEN json_array_length({term.value})"
        other = _compile_size([Term(k.JSON & ~k.LIST, term.value, tag=term.tag)])
        return replace(other, value=f"({array} ELSE {other.value} END)")
    value = read_as(term, k.STRING, "size()")
    # NOTE: `length` of a text ends at a NUL character.
    trap = render_trap("size of a string with NUL characters")
    nul = f"instr(CAST({value} AS BLOB), x'00')"
    text = f"(CASE WHEN {nul} THEN {trap} ELSE length({value}) END)"
    return Term(k.INTEGER | nullable, text, assumed=True)


def _build_parts(name: str, first: int, kind: int) -> Callable[[Sequence[Term]], Term]:
    """Build `nodes(path)` and `relationships(path)`: every other part, from the `first`."""

    def compile_parts(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if term.kinds & ~k.NULL != k.PATH:
            raise CannotRun(f"{name}() of a value that may be no path.")
        check_path(term)
        parts = (
            "(SELECT json_group_array(e.value ORDER BY e.key)"
            f" FROM json_each({term.value}) AS e WHERE e.key % 2 = {first})"
        )
        return Term(k.LIST | term.kinds & k.NULL, render_unless_null(term, parts), elements=kind)

    return compile_parts


def _compile_reverse(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds & k.STRING and term.tag is None:
        raise CannotRun("reverse() of a string.")
    return NULL_TERM if term.kinds == k.NULL else compile_reversed(term)


def _compile_is_empty(arguments: Sequence[Term]) -> Term:
    size = _compile_size(arguments)
    return replace(size, kinds=k.BOOLEAN | size.kinds & k.NULL, value=f"({size.value} = 0)")


FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Term]], Term]]] = {
    **SCALARS,
    "isEmpty": _compile_is_empty,
    "keys": compile_keys,
    "labels": compile_labels_of,
    "nodes": _build_parts("nodes", 0, k.NODE),
    "properties": compile_properties,
    "range": compile_range,
    "relationships": _build_parts("relationships", 1, k.RELATIONSHIP),
    "reverse": _compile_reverse,
    "tail": compile_tail,
    "size": _compile_size,
}
