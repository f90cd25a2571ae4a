"""Compiles equality of lists and maps in three-valued logic, and keys to group lists by.

Both compare the trees that `json_tree` makes of two JSON texts.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.query.sql import Term
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.lets import build_let

_CLASSES = "CASE {0}.type WHEN 'integer' THEN 'number' WHEN 'real' THEN 'number' ELSE {0}.type END"
_KEYS = "(SELECT json_group_array(o.key ORDER BY o.key) FROM json_each({0}.value) AS o)"
_DIFFERENT = (
    "(x.type <> 'null' AND y.type <> 'null' AND CASE"
    f" WHEN {_CLASSES.format('x')} <> {_CLASSES.format('y')} THEN 1"
    " WHEN x.type = 'array' THEN json_array_length(x.value) <> json_array_length(y.value)"
    f" WHEN x.type = 'object' THEN {_KEYS.format('x')} <> {_KEYS.format('y')}"
    " ELSE x.atom <> y.atom END)"
)
_HIDDEN = "(x.type = 'null' OR y.type = 'null')"


def render_equal_nested(left: Term, right: Term, *, wanted: bool) -> str:
    """Render whether two lists or maps are equal: 1 when that is `wanted`, else 0 or NULL.

    SPEC: they differ as soon as one pair of members does, whatever nulls are elsewhere. A pair is
    two members at the same path. Below a null there is no pair; below a list of another length, or
    a map of other keys, pairs do not matter any more.
    """
    pairs = "FROM json_tree({0}) AS x JOIN json_tree({1}) AS y ON x.fullkey = y.fullkey"
    if not wanted:
        return f"EXISTS (SELECT 1 {pairs.format(left.value, right.value)} WHERE {_DIFFERENT})"
    let = build_let(left.value, right.value)
    a, b = let.names
    found = f"EXISTS (SELECT 1 {pairs.format(a, b)} WHERE {_DIFFERENT} OR {_HIDDEN})"
    return let.wrap(f"({a} IS NOT NULL AND {b} IS NOT NULL AND NOT {found})")


def render_list_key(term: Term) -> str:
    """A key of the list or map in `term.value`: a blob, equal for equivalent lists.

    Where one list can be written in two ways (floats, maps, escapes) it is a trap.
    """
    value = term.value
    trap = render_trap("grouping or comparing maps, or lists of floats or maps")
    if term.kinds & k.LIST and not term.elements & ~(k.INTEGER | k.BOOLEAN | k.NULL | k.ENTITIES):
        return f"CAST({value} AS BLOB)"
    let = build_let(value)
    value = let.names[0]
    odd = f"SELECT 1 FROM json_tree({value}) AS o WHERE o.type IN ('real','object')"
    return let.wrap(
        f"CASE WHEN instr({value}, '\\') OR EXISTS ({odd}) THEN {trap}"
        f" ELSE CAST({value} AS BLOB) END"
    )
