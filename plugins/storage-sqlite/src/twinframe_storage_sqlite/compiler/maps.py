"""Compiles map literals, their members, and the functions that read nodes and relationships as
maps.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from twinframe.model.ids import OPEN_LABEL, OPEN_MODELS
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    NULL_TERM,
    Bindings,
    SqlValue,
    Term,
    check_droppable,
    may_fail,
    read_table,
    render_text,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.elements import render_element
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import render_item, render_json
from twinframe_storage_sqlite.compiler.lets import build_let
from twinframe_storage_sqlite.json_paths import render_path

_MOST_ENTRIES = 100
_OWN = "substr(e.key, 1, 1) <> '$'"
_KEYED = (k.NODE, k.RELATIONSHIP, k.MAP)
_SYSTEM = {
    k.NODE: ("$dtId", "$etag", "$metadata"),
    k.RELATIONSHIP: ("$relationshipId", "$sourceId", "$targetId", "$relationshipName", "$etag"),
}
"""The members of a document that are no properties."""


def build_map(entries: tuple[tuple[str, Term], ...]) -> Term:
    """A map literal: its entries stay known for members and results."""
    if len(entries) > _MOST_ENTRIES or len({key for key, _ in entries}) < len(entries):
        raise CannotRun("A map of so many entries, or of two of one name.")
    if any("\0" in key for key, _ in entries):
        raise CannotRun("A map with a NUL character in a key.")
    known = Term(k.MAP, "NULL", entries=entries)
    if known.holds_entities:
        # NOTE: results show them as documents; as values they are still nodes.
        json = _render_object((key, _render_document(term)) for key, term in entries)
        return replace(known, value=render_trap("a map of nodes or relationships"), json=json)
    value = _render_object((key, render_item(term)) for key, term in entries)
    assumed = any(may_fail(term) for _, term in entries)
    return replace(known, value=value, assumed=assumed)


def _render_object(entries: object) -> str:
    parts = [f"{render_text(key)},json({text})" for key, text in entries]  # type: ignore[attr-defined]
    return f"json_object({','.join(parts)})"


def compile_projection(subject: Term, entries: Term, own: Term | None) -> Term:
    """`subject {entries}`, with `own` for `.*`."""
    known = subject.kinds & ~k.NULL
    if not known:
        check_droppable(entries)
        return NULL_TERM
    if known & ~(k.NODE | k.RELATIONSHIP | k.MAP) and not (known & k.MAP and subject.tag):
        raise CannotRun(f"A map projection of a {k.render_kinds(known)}.")
    if known in _KEYED and not subject.kinds & k.NULL and own is None:
        return entries
    if subject.holds_entities or (entries.holds_entities and known not in _KEYED):
        raise CannotRun("A map projection of nodes or relationships.")
    if entries.holds_entities:
        return _build_replaced(subject, entries, own)
    value = entries.value if own is None else _render_replaced(own.value, entries, render_item)
    assumed = may_fail(entries) or may_fail(subject)
    if known & ~(k.NODE | k.RELATIONSHIP | k.MAP):
        trap = render_trap("a map projection of a scalar or list")
        value = (
            f"(CASE WHEN {subject.tag} = 'object' THEN {value}"
            f" WHEN {subject.value} IS NOT NULL THEN {trap} END)"
        )
        assumed = True
    elif subject.kinds & k.NULL:
        value = f"(CASE WHEN {subject.value} IS NOT NULL THEN {value} END)"
    return Term(k.MAP | subject.kinds & k.NULL, value, assumed=assumed)


def _build_replaced(subject: Term, entries: Term, own: Term | None) -> Term:
    """Build a projection that holds nodes or relationships: results show them as documents."""
    base = own
    if base is None:
        base = Term(k.MAP | k.NULL, f"(CASE WHEN {subject.value} IS NOT NULL THEN '{{}}' END)")
    json = _render_replaced(base.value, entries, _render_document)
    return replace(entries, kinds=k.MAP | subject.kinds & k.NULL, base=base, json=json)


def _render_replaced(base: str, entries: Term, render: Callable[[Term], str]) -> str:
    """Render the map `base` with the `entries` in place of its own of the same names."""
    parts = [
        part
        for key, term in entries.entries or ()
        for part in (render_path((key,)), f"json({render(term)})")
    ]
    return f"json_set({', '.join([base, *parts])})" if parts else base


def _render_document(term: Term) -> str:
    return f"coalesce({render_json(term)}, 'null')"


def compile_keys(arguments: Sequence[Term]) -> Term:
    """`keys(...)` of a map, node or relationship."""
    return _compile_members(
        arguments[0], "keys()", "json_group_array(e.key ORDER BY e.id)", k.LIST, k.STRING
    )


def compile_properties(arguments: Sequence[Term]) -> Term:
    """`properties(...)` of a map, node or relationship."""
    term = arguments[0]
    if not term.kinds & ~(k.MAP | k.NULL):
        return term
    if term.kinds & k.MAP and term.tag is not None:
        value = _read_map(term, "properties()")
        return Term(k.MAP | term.kinds & k.NULL, value, assumed=True)
    group = f"json_group_object(e.key, json({render_element('e')}) ORDER BY e.id)"
    found = _compile_members(term, "properties()", group, k.MAP, k.JSON)
    known = term.kinds & ~k.NULL
    if known not in _SYSTEM:
        return found
    # PERF: 3 us a twin instead of 13. A member within that begins with a dollar sign, such as a
    # component's `$metadata`, or a text that does, takes the long way.
    paths = ", ".join(render_path((name,)) for name in _SYSTEM[known])
    let = build_let(f"json_remove({read_table(term)}.document, {paths})")
    rest = let.names[0]
    value = f"CASE WHEN instr({rest}, '\"$') THEN {found.value} ELSE {rest} END"
    return replace(found, value=let.wrap(value))


def _compile_members(term: Term, name: str, group: str, kind: int, elements: int) -> Term:
    known = term.kinds & ~k.NULL
    if not known:
        return NULL_TERM
    if known & k.MAP:
        let = build_let(_read_map(term, name))
        text, where = let.names[0], ""
    elif known in (k.NODE, k.RELATIONSHIP):
        let = build_let(f"{read_table(term)}.document")
        text, where = let.names[0], f" WHERE {_OWN}"
    else:
        raise CannotRun(f"{name} of a {k.render_kinds(known)}.")
    value = f"(SELECT {group} FROM json_each({text}) AS e{where})"
    if term.kinds & k.NULL:
        value = f"CASE WHEN {text} IS NOT NULL THEN {value} END"
    nullable = term.kinds & k.NULL
    assumed = term.assumed or bool(known & ~(k.MAP | k.NODE | k.RELATIONSHIP))
    return Term(kind | nullable, let.wrap(value), elements=elements, assumed=assumed)


def _read_map(term: Term, reason: str) -> str:
    """Render the JSON text of a term that must be a map or null; a trap otherwise."""
    if not term.kinds & ~(k.MAP | k.NULL):
        return term.value
    if term.tag is None:
        raise CannotRun(f"{reason.capitalize()} of a {k.render_kinds(term.kinds)}.")
    trap = render_trap(f"{reason} of another type")
    return (
        f"(CASE WHEN {term.tag} = 'object' THEN {term.value}"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )


def compile_labels_of(arguments: Sequence[Term]) -> Term:
    """`labels(node)` in alphabetical order: `Twin`, and the id and name of every ancestor."""
    term = arguments[0]
    if term.kinds & ~k.NULL != k.NODE:
        raise CannotRun("labels() of a value that may be no node.")
    model = f"{read_table(term)}.model"
    above = (
        "FROM interface_closure AS c JOIN interface AS i ON i.id = c.ancestor"
        f" WHERE c.descendant = {model}"
    )
    # A node of an open graph has none but its own labels.
    is_open = f"substr(i.dtmi, 1, {len(OPEN_MODELS)}) = '{OPEN_MODELS}'"
    is_label = f"substr(i.dtmi, 1, {len(OPEN_LABEL)}) = '{OPEN_LABEL}'"
    value = (
        "(SELECT json_group_array(o.l ORDER BY o.l) FROM (SELECT 'Twin' AS l"
        f" WHERE NOT EXISTS (SELECT 1 {above} AND {is_open})"
        f" UNION SELECT i.dtmi {above} AND NOT {is_open}"
        f" UNION SELECT i.name {above} AND (NOT {is_open} OR {is_label})) AS o)"
    )
    if term.kinds & k.NULL:
        value = f"CASE WHEN {model} IS NOT NULL THEN {value} END"
    return Term(k.LIST | term.kinds & k.NULL, value, elements=k.STRING)


def compile_named_member(subject: Term, name: Term, bindings: Bindings) -> Term:
    """`subject[name]` for a bound name."""
    assert name.source is not None  # noqa: S101  # by the caller
    path = bindings.bind(name.source, build_path)
    known = subject.kinds & ~k.NULL
    if known in (k.NODE, k.RELATIONSHIP):
        document = f"{read_table(subject)}.document"
    elif known == k.MAP and not subject.holds_entities:
        document = subject.value
    else:
        raise CannotRun(f"A member, by a computed name, of a {k.render_kinds(known)}.")
    return Term(
        k.JSON,
        f"({document} ->> {path})",
        tag=f"json_type({document}, {path})",
        json=f"({document} -> {path})",
        finite=True,
        assumed=subject.assumed,
    )


def build_path(value: Value) -> SqlValue:
    """The JSON path of the member that the string `value` names."""
    if not isinstance(value, str):
        raise CannotRun("The name of a member that is no string.")
    return "$." + json.dumps(value, ensure_ascii=False)
