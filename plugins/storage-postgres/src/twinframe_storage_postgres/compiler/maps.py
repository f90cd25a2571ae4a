"""Compiles maps: literals, projections, and what is read of nodes and relationships as maps."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.model.ids import OPEN_LABEL, OPEN_MODELS
from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    NULL_TERM,
    Bindings,
    Member,
    Term,
    build_scalar,
    check_droppable,
    may_fail,
    read_table,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_postgres.compiler.dialect import DIALECT, render_name

_MOST_ENTRIES = 50
_ENTITIES = (k.NODE, k.RELATIONSHIP)
_KEYED = (*_ENTITIES, k.MAP)


def build_map(entries: tuple[tuple[str, Term], ...]) -> Term:
    """A map literal: its entries stay known for members and results."""
    if len(entries) > _MOST_ENTRIES or len({key for key, _ in entries}) < len(entries):
        raise CannotRun("A map of so many entries, or of two of one name.")
    known = Term(k.MAP, "NULL", entries=entries)
    if known.holds_entities:
        trap = DIALECT.render_trap("a map of nodes or relationships")
        return replace(known, value=trap, json=trap)
    assumed = any(may_fail(term) for _, term in entries)
    return replace(known, value=_render_object(known), assumed=assumed)


def _render_object(known: Term) -> str:
    parts = [
        f"{render_name(key)}, {DIALECT.render_item(term)}" for key, term in known.entries or ()
    ]
    return f"jsonb_build_object({', '.join(parts)})"


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
    value = entries.value if own is None else f"({own.value} || {_render_object(entries)})"
    assumed = may_fail(entries) or may_fail(subject)
    if known & ~(k.NODE | k.RELATIONSHIP | k.MAP):
        trap = DIALECT.render_trap("a map projection of a scalar or list")
        value = (
            f"(CASE WHEN jsonb_typeof({subject.json}) = 'object' THEN {value}"
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
        empty = f"(CASE WHEN {subject.value} IS NOT NULL THEN '{{}}'::jsonb END)"
        base = Term(k.MAP | k.NULL, empty)
    return replace(entries, kinds=k.MAP | subject.kinds & k.NULL, base=base)


def compile_properties(arguments: Sequence[Term]) -> Term:
    """`properties(...)` of a map, node or relationship."""
    term = arguments[0]
    known = term.kinds & ~k.NULL
    if not known:
        return NULL_TERM
    if known in _ENTITIES:
        members = f"{read_table(term)}.members"
        own = f"FROM jsonb_each({members}) AS e WHERE left(e.key, 1) <> '$'"
        value = f"(SELECT coalesce(jsonb_object_agg(e.key, e.value), '{{}}') {own})"
        if term.kinds & k.NULL:
            value = f"CASE WHEN {members} IS NOT NULL THEN {value} END"
        return Term(k.MAP | term.kinds & k.NULL, value)
    if known == k.MAP and term.tag is None:
        return term
    value = read_map(term, "properties()")
    return Term(k.MAP | term.kinds & k.NULL, value, assumed=True)


def read_map(term: Term, reason: str) -> str:
    """Render a term that must be a map or null; a trap otherwise."""
    if term.kinds & k.MAP and term.tag is not None:
        trap = DIALECT.render_trap(f"{reason} of another type")
        return (
            f"(CASE WHEN jsonb_typeof({term.json}) = 'object' THEN {term.json}"
            f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
        )
    if term.kinds & ~(k.MAP | k.NULL) or term.holds_entities:
        raise CannotRun(f"{reason.capitalize()} of a {k.render_kinds(term.kinds)}.")
    return term.value


def compile_keys(arguments: Sequence[Term]) -> Term:
    """`keys(...)` in the order of the stored document."""
    term = arguments[0]
    known = term.kinds & ~k.NULL
    if not known:
        return NULL_TERM
    nullable = term.kinds & k.NULL
    where = ""
    if known in _ENTITIES:
        json = f"{read_table(term)}.document::json"
        where = " WHERE left(e.key, 1) <> '$'"
    elif term.entries is not None and term.base is None:
        names = ", ".join(render_name(key) for key, _ in term.entries)
        value = f"to_jsonb(ARRAY[{names}]::text[])"
        if may_fail(term):
            value = f"CASE WHEN {term.value} IS NOT NULL THEN {value} END"
        return Term(k.LIST, value, elements=k.STRING, assumed=term.assumed)
    else:
        stored = _render_ordered(term)
        if stored is None or not known & k.MAP:
            raise CannotRun("keys() of a computed map.")
        json = f"CASE WHEN {read_map(term, 'keys()')} IS NOT NULL THEN {stored} END"
        nullable |= k.NULL
    value = (
        f"(SELECT coalesce(jsonb_agg(e.key ORDER BY e.n), '[]')"
        f" FROM json_object_keys({json}) WITH ORDINALITY AS e(key, n){where})"
    )
    if nullable:
        value = f"CASE WHEN {term.value} IS NOT NULL THEN {value} END"
    return Term(k.LIST | nullable, value, elements=k.STRING, assumed=True)


def _render_ordered(term: Term) -> str | None:
    """Render the map as `json`: `jsonb` has its members in an order of its own."""
    if term.source is not None and term.source.name is not None:
        return term.value.replace("::jsonb", "::json")
    return render_stored(term)


def render_stored(term: Term) -> str | None:
    """Render the member of a stored document, as `json`, which a term is; None for other terms."""
    match term.member:
        case Member(document=document, names=names) if document.endswith(".document"):
            path = "".join(f" -> {render_name(name)}" for name in names)
            return f"({document}::json{path})"
        case _:
            return None


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
        "(SELECT coalesce(jsonb_agg(o.l ORDER BY o.l), '[]'::jsonb)"
        """ FROM (SELECT 'Twin' COLLATE "C" AS l"""
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
    given = f"{bindings.bind(name.source, build_scalar)}::text"
    known = subject.kinds & ~k.NULL
    if known in _ENTITIES:
        members = f"{read_table(subject)}.members"
    elif known == k.MAP and not subject.holds_entities:
        members = read_map(subject, "a member")
    else:
        raise CannotRun(f"A member, by a computed name, of a {k.render_kinds(known)}.")
    term = DIALECT.build_json_term(f"({members} -> {given})")
    return replace(term, finite=True, assumed=subject.assumed)
