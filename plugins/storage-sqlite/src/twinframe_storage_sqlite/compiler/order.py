"""Renders Cypher's total order across types as the terms of ORDER BY."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.term import Term, read_table


def render_order(term: Term, *, descending: bool) -> list[str]:
    """Render the ORDER BY terms.

    SPEC: openCypher 9, «Orderability»: string, boolean, number, null.
    """
    known = term.kinds & ~k.NULL
    if not known:
        return []
    if known == k.NODE:
        return [_render_native(f"{read_table(term)}.dt_id", term, descending)]
    if known == k.RELATIONSHIP:
        # NOTE: by the id of the source twin, then by the relationship's own.
        table = read_table(term)
        source = f"(SELECT t.dt_id FROM twin AS t WHERE t.id = {table}.source)"
        return [
            _render_native(source, term, descending),
            _render_native(f"{table}.relationship_id", term, descending),
        ]
    if known in (k.LIST, k.MAP, k.PATH):
        raise CannotRun("An order of lists, maps or paths.")
    if not known & ~k.NUMBER or known in (k.STRING, k.BOOLEAN):
        return [_render_native(term.value, term, descending)]
    word = " DESC" if descending else ""
    return [f"{render_rank(term)}{word}", f"{term.value}{word}"]


def _render_native(value: str, term: Term, descending: bool) -> str:
    # NOTE: nulls are greatest in Cypher and least in SQLite.
    word = " DESC" if descending else ""
    if not term.kinds & k.NULL:
        return f"{value}{word}"
    return f"{value}{word} NULLS {'FIRST' if descending else 'LAST'}"


def render_rank(term: Term) -> str:
    """Render the rank of a JSON value's type in the order."""
    if term.tag is None:
        return f"CASE typeof({term.value}) WHEN 'text' THEN 5 WHEN 'null' THEN 9 ELSE 7 END"
    trap = render_trap("an order of lists or maps")
    return (
        f"CASE {term.tag} WHEN 'text' THEN 5 WHEN 'true' THEN 6 WHEN 'false' THEN 6"
        f" WHEN 'integer' THEN 7 WHEN 'real' THEN 7"
        f" WHEN 'array' THEN {trap} WHEN 'object' THEN {trap} ELSE 9 END"
    )
