"""A typed SQL expression, and its SQL for comparing, grouping, sorting and output.

`expressions` turns Cypher expressions into terms.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.bindings import Source
from twinframe_storage_sqlite.compiler.guards import has_trap, render_trap
from twinframe_storage_sqlite.json_paths import render_path


class Owner(Protocol):
    """The statement that binds an entity; it gives the entity's table an alias, joining it when
    needed.
    """

    def read_table(self, kind: int, row: str) -> str:
        """Alias of the `twin` or `relationship` row whose id is the SQL `row`."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a JSON document: `names` from the root of the SQL expression `document`."""

    document: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A term equal to a column that another table's row maps to: `column` = (`query` of a value).

    `query` has one `{}` for the value and yields the id to search in `column`, by index.
    """

    column: str
    query: str


@dataclass(frozen=True, slots=True)
class Term:
    """A value in SQL.

    `value` is native: a boolean is 0 or 1, a list or map JSON text, an entity its row id, a null
    NULL. Where that leaves the kind open (`kinds` not plain), `tag` is its JSON type name and
    `json` its JSON text. `elements` are the kinds of a list's elements: entities are row ids. A
    path is a list of row ids, nodes and relationships in turn; without `elements` it is its length.
    `items` are those of a list literal, `entries` those of a map literal. `finite` says that a
    float is no infinity; `assumed` that `kinds` relies on a trap in `value`, so that a value that
    is never read is of a kind that was never checked.
    """

    kinds: int
    value: str
    tag: str | None = None
    json: str | None = None
    owner: Owner | None = None
    member: Member | None = None
    lookup: Lookup | None = None
    source: Source | None = None
    items: tuple[Term, ...] | None = None
    entries: tuple[tuple[str, Term], ...] | None = None
    elements: int = k.JSON
    finite: bool = False
    assumed: bool = False

    @property
    def holds_entities(self) -> bool:
        """Whether it is a map of nodes or relationships: it has a `json`, its `value` is a trap."""
        return any(
            term.kinds & k.ENTITIES
            or term.holds_entities
            or (term.kinds & k.LIST and term.elements & k.ENTITIES)
            for _, term in self.entries or ()
        )


NULL_TERM = Term(k.NULL, "NULL")

_LARGEST_FORCED = 8_000
"""The number of characters of SQL above which a test that repeats its operands raises
`CannotRun`.
"""


def may_fail(term: Term) -> bool:
    """Return whether computing the term may fail, so that skipping it would hide an error."""
    return term.assumed or has_trap(f"{term.value} {term.tag or ''}")


def render_forced(test: str, *terms: Term) -> str:
    """Render `test` such that every one of the terms that may fail is computed in any case."""
    failing = [f"({term.value} IS NULL)" for term in terms if may_fail(term)]
    if not failing:
        return test
    if sum(map(len, (test, *failing))) > _LARGEST_FORCED:
        raise CannotRun("So large a test of computed values.")
    # NOTE: always true; operands of a sum are always computed, unlike those of AND.
    return f"CASE WHEN {' + '.join(failing)} <= {len(failing)} THEN {test} END"


def check_droppable(*terms: Term) -> None:
    """Raise `CannotRun` where types alone decide, so that an operand that may fail is skipped."""
    if any(may_fail(term) for term in terms):
        raise CannotRun("An operation that the types of computed values decide.")


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


def build_refined(term: Term, kinds: int) -> Term:
    """`term` known to be of `kinds` only."""
    kept = term.kinds & kinds
    if kept == term.kinds:
        return term
    # NOTE: a native boolean is a bare 0 or 1, as is what `->>` makes of a JSON boolean.
    return replace(term, kinds=kept, tag=None if k.is_plain(kept) else term.tag)


def render_check(term: Term, kind_class: int) -> str | None:
    """Render SQL that is 1 when the term is of `kind_class`; None when it always is, or is null."""
    if not term.kinds & ~(kind_class | k.NULL):
        return None
    if term.tag is None:
        if not term.kinds & kind_class:
            return "0"
        if kind_class == k.STRING:
            return f"typeof({term.value}) = 'text'"
        return f"typeof({term.value}) IN ('integer','real')"
    names = _TAGS[kind_class]
    return f"{term.tag} = {names[0]}" if len(names) == 1 else f"{term.tag} IN ({','.join(names)})"


_TAGS = {
    k.NUMBER: ("'integer'", "'real'"),
    k.STRING: ("'text'",),
    k.BOOLEAN: ("'true'", "'false'"),
    k.LIST: ("'array'",),
    k.MAP: ("'object'",),
    k.NODE: ("'node'",),
    k.RELATIONSHIP: ("'relationship'",),
}


def render_key(term: Term, *, traps: bool = True, comparable: bool = True) -> str:
    """Render SQL that is equal for equivalent values and differs for others; NULL for null.

    Booleans become blobs, since SQLite's own are integers. Lists and maps have no such key: each is
    a trap, or unless `traps` a blob that stands for all of its type. Keys of other terms may be
    compared with it if `comparable`.
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
    if term.tag is None:
        key = array if term.kinds & k.LIST else mapping
        return f"CASE WHEN {term.value} IS NOT NULL THEN {key} END"
    return (
        f"CASE {term.tag} WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' "
        f"WHEN 'array' THEN {array} WHEN 'object' THEN {mapping} ELSE {term.value} END"
    )


def check_path(term: Term) -> None:
    """Raise `CannotRun` for a path of which only the length is known."""
    if term.kinds & k.PATH and not term.elements:
        raise CannotRun("More of a shortest path than its length.")


def render_json(term: Term) -> str:
    """SQL of the JSON text of the value; NULL or 'null' for null."""
    check_path(term)
    if term.json is not None:
        return term.json
    known = term.kinds & ~k.NULL
    if known == k.PATH:
        return _render_path_json(term)
    if known == k.BOOLEAN:
        return f"CASE {term.value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    if known in (k.LIST, k.MAP):
        return _render_list_json(term) if known == k.LIST else term.value
    if known == k.NODE:
        return f"json({_read_owner(term).read_table(k.NODE, term.value)}.document)"
    if known == k.RELATIONSHIP:
        return f"json({_read_owner(term).read_table(k.RELATIONSHIP, term.value)}.document)"
    if known & k.FLOAT and not term.finite:
        # SPEC: JSON has no infinity; `twinframe.model.rendering` names it.
        return (
            f"CASE {term.value} WHEN 9e999 THEN '\"Infinity\"' WHEN -9e999 THEN '\"-Infinity\"'"
            f" ELSE json_quote({term.value}) END"
        )
    return f"json_quote({term.value})"


def _render_path_json(term: Term) -> str:
    document = (
        "CASE e.key % 2 WHEN 0 THEN (SELECT json(t.document) FROM twin AS t WHERE t.id = e.value)"
        " ELSE (SELECT json(t.document) FROM relationship AS t WHERE t.id = e.value) END"
    )
    group = f"json_group_array(json({document}) ORDER BY e.key)"
    text = f"(SELECT {group} FROM json_each({term.value}) AS e)"
    return f"CASE WHEN {term.value} IS NOT NULL THEN {text} END" if term.kinds & k.NULL else text


def _render_list_json(term: Term) -> str:
    if not term.elements & (k.NODE | k.RELATIONSHIP):
        return term.value
    table = "twin" if term.elements & k.NODE else "relationship"
    join, document = "CROSS JOIN", "json(t.document)"
    if term.elements & k.NULL:
        join, document = "LEFT JOIN", "json(coalesce(json(t.document), 'null'))"
    documents = (
        f"(SELECT json_group_array({document} ORDER BY e.key)"
        f" FROM json_each({term.value}) AS e {join} {table} AS t ON t.id = e.value)"
    )
    if term.kinds & k.NULL:
        return f"CASE WHEN {term.value} IS NOT NULL THEN {documents} END"
    return documents


def _read_owner(term: Term) -> Owner:
    if term.owner is None:
        raise AssertionError("an entity without its statement")
    return term.owner


def read_table(term: Term) -> str:
    """Return the alias of the row of an entity, joining its table if needed."""
    return _read_owner(term).read_table(term.kinds & ~k.NULL, term.value)
