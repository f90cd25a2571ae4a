"""Terms over JSON in SQLite: members of documents, native values, keys and JSON text."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from dataclasses import replace
from typing import Final

from twinframe.query.engine import CannotRun
from twinframe.query.sql import Member, Term, check_path, read_table
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.lets import build_let
from twinframe_storage_sqlite.json_paths import render_path

NATIVE: Final = k.NUMBER | k.STRING | k.NULL
"""Kinds that SQLite's storage classes distinguish."""


def build_member(member: Member) -> Term:
    """Build the term of a document's member, whose kind depends on the stored row."""
    path = render_path(member.names)
    return Term(
        k.JSON,
        f"({member.document} ->> {path})",
        tag=f"json_type({member.document}, {path})",
        json=f"({member.document} -> {path})",
        member=member,
        finite=True,
    )


def build_nested(parent: Term, key: str) -> Term:
    """Build the member `key` of a term that may be a map; a trap for anything else but null.

    A map stays reachable as one path into its document, under a check of the parent's type.
    """
    root = parent.member or Member(parent.value, ())
    inner = build_member(Member(root.document, (*root.names, key)))
    if parent.tag is None or root.names == ("$metadata",):  # always an object
        return inner
    trap = render_trap("a member of a scalar")
    return replace(
        inner,
        value=_render_within(parent.tag, inner.value, trap),
        tag=_render_within(parent.tag, inner.tag or "NULL", trap),
        json=_render_within(parent.tag, inner.json or "NULL", trap),
    )


def _render_within(tag: str, inner: str, trap: str) -> str:
    return f"(CASE WHEN {tag} = 'object' THEN {inner} WHEN {tag} <> 'null' THEN {trap} END)"


def build_json_term(text: str, kinds: int = k.JSON) -> Term:
    """The term of an SQL expression that yields the JSON text of a value (or NULL)."""
    return Term(
        kinds,
        f"({text} ->> '$')",
        tag=f"json_type({text})",
        json=text,
        member=Member(text, ()),
    )


def refine(term: Term, kinds: int) -> Term:
    """`term` known to be of `kinds` only."""
    kept = term.kinds & kinds
    if kept == term.kinds:
        return term
    # NOTE: a native boolean is a bare 0 or 1, as is what `->>` makes of a JSON boolean.
    return replace(term, kinds=kept, tag=None if k.is_plain(kept, NATIVE) else term.tag)


def render_key(
    term: Term, *, traps: bool = True, comparable: bool = True, nested: str | None = None
) -> str:
    """Render SQL that is equal for equivalent values and differs for others; NULL for null.

    Booleans become blobs, since SQLite's own are integers. Lists and maps have no such key: each is
    a trap, or unless `traps` a blob that stands for all of its type, or `nested` if that is given.
    Keys of other terms may be compared with it if `comparable`.
    """
    check_path(term)
    if term.tag is None and not term.kinds & (k.LIST | k.MAP | k.BOOLEAN):
        # NOTE: the `+` removes a column's affinity, which would make '1' and 1 equal.
        return f"+{term.value}" if comparable else term.value
    if term.tag is None and term.kinds & k.BOOLEAN:
        return f"CASE {term.value} WHEN 1 THEN x'01' WHEN 0 THEN x'00' END"
    array = mapping = render_trap("grouping or comparing lists or maps")
    if not traps:
        array, mapping = "x'02'", "x'03'"
    if nested is not None:
        array = mapping = nested
    if term.tag is None:
        key = array if term.kinds & k.LIST else mapping
        return f"CASE WHEN {term.value} IS NOT NULL THEN {key} END"
    return (
        f"CASE {term.tag} WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' "
        f"WHEN 'array' THEN {array} WHEN 'object' THEN {mapping} ELSE {term.value} END"
    )


def render_json(term: Term) -> str:
    """SQL of the JSON text of the value; NULL or 'null' for null."""
    check_path(term)
    if term.json is not None:
        return term.json
    known = term.kinds & ~k.NULL
    if known == k.PATH:
        return render_path_parts(term, "json(t.document)", "json(t.document)")
    if known == k.BOOLEAN:
        return f"CASE {term.value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    if known == k.LIST and term.elements & k.PATH:
        return render_paths(term, "json(t.document)", "json(t.document)")
    if known == k.LIST and term.elements & (k.NODE | k.RELATIONSHIP):
        absent = "json(coalesce(json(t.document), 'null'))"
        return render_entities(term, absent if term.elements & k.NULL else "json(t.document)")
    if known in (k.LIST, k.MAP):
        return term.value
    if known in (k.NODE, k.RELATIONSHIP):
        return f"json({read_table(term)}.document)"
    if known & k.FLOAT and not term.finite:
        # SPEC: JSON has no infinity; `twinframe.model.rendering` names it.
        return (
            f"CASE {term.value} WHEN 9e999 THEN '\"Infinity\"' WHEN -9e999 THEN '\"-Infinity\"'"
            f" ELSE json_quote({term.value}) END"
        )
    return f"json_quote({term.value})"


def render_path_parts(term: Term, node: str, relationship: str) -> str:
    """Render the JSON array of a path's parts, each as JSON of its row `t`."""
    part = (
        f"CASE e.key % 2 WHEN 0 THEN (SELECT {node} FROM twin AS t WHERE t.id = e.value)"
        f" ELSE (SELECT {relationship} FROM relationship AS t WHERE t.id = e.value) END"
    )
    group = f"json_group_array(json({part}) ORDER BY e.key)"
    return render_unless_null(term, f"(SELECT {group} FROM json_each({term.value}) AS e)")


def render_paths(term: Term, node: str, relationship: str) -> str:
    """Render the JSON array of a list of paths, each as `render_path_parts` has it."""
    path = render_path_parts(Term(k.PATH | k.NULL, "l.value"), node, relationship)
    paths = f"json_group_array(json({path}) ORDER BY l.key)"
    return render_unless_null(term, f"(SELECT {paths} FROM json_each({term.value}) AS l)")


def render_entities(term: Term, entity: str) -> str:
    """Render the JSON array of a list of nodes or relationships, each as JSON of its row `t`."""
    table = "twin" if term.elements & k.NODE else "relationship"
    join = "LEFT JOIN" if term.elements & k.NULL else "CROSS JOIN"
    return render_unless_null(
        term,
        f"(SELECT json_group_array({entity} ORDER BY e.key)"
        f" FROM json_each({term.value}) AS e {join} {table} AS t ON t.id = e.value)",
    )


def render_unless_null(term: Term, text: str) -> str:
    """Render `text`, or NULL where the term is null."""
    return f"CASE WHEN {term.value} IS NOT NULL THEN {text} END" if term.kinds & k.NULL else text


def read_as(term: Term, kind_class: int, reason: str) -> str:
    """Return the native SQL value of a term that must be of `kind_class` or null; a trap
    otherwise.
    """
    if not term.kinds & ~(kind_class | k.NULL):
        return f"({term.value})" if term.value.startswith("CASE") else term.value
    if not term.kinds & kind_class:
        raise CannotRun(f"{reason.capitalize()} over a {k.render_kinds(term.kinds)}.")
    trap = render_trap(f"{reason} over another type")
    if term.tag is None:
        names = "'text'" if kind_class == k.STRING else "'integer','real'"
        tag = f"typeof({term.value})"
    else:
        names = {k.STRING: "'text'", k.NUMBER: "'integer','real'", k.BOOLEAN: "'true','false'"}[
            kind_class
        ]
        tag = term.tag
    return (
        f"(CASE WHEN {tag} IN ({names}) THEN {term.value}"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )


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
