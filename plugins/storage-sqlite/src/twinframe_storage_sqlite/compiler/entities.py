"""Compiles reads of members of nodes and relationships: from a column if there is one, else from
the document.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.maps import find_entry
from twinframe_storage_sqlite.compiler.term import (
    NULL_TERM,
    Lookup,
    Member,
    Term,
    build_member,
    build_nested,
    read_table,
)

_TWIN_BY_ID = "SELECT id FROM twin WHERE dt_id = {}"
_INTERFACE_BY_ID = "SELECT id FROM interface WHERE dtmi = {}"
_COLUMNS = {
    (k.NODE, "$dtId"): "dt_id",
    (k.NODE, "$etag"): "etag",
    (k.RELATIONSHIP, "$relationshipId"): "relationship_id",
    (k.RELATIONSHIP, "$relationshipName"): "name",
    (k.RELATIONSHIP, "$etag"): "etag",
}
_ENDS = {"$sourceId": "source", "$targetId": "target"}


def compile_member(subject: Term, key: str) -> Term:
    """`subject.key`."""
    known = subject.kinds & ~k.NULL
    if not known:
        return NULL_TERM
    if known in (k.NODE, k.RELATIONSHIP):
        return _compile_entity_member(subject, known, key)
    if not known & k.MAP:
        raise CannotRun(f"A member of a {k.render_kinds(known)}.")
    entry = find_entry(subject, key)
    if entry is not None:
        return entry
    if subject.member is not None and subject.member.names == ("$metadata",) and key == "$model":
        return _compile_model(subject, subject.member.document)
    return build_nested(subject, key)


def compile_named_member(subject: Term, path: str) -> Term:
    """`subject[name]`, where the placeholder `path` is the JSON path of the name."""
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


def _compile_entity_member(subject: Term, known: int, key: str) -> Term:
    alias = read_table(subject)
    nullable = subject.kinds & k.NULL
    column = _COLUMNS.get((known, key))
    if column is not None:
        return Term(k.STRING | nullable, f"{alias}.{column}")
    document = Member(f"{alias}.document", (key,))
    if known == k.RELATIONSHIP and key in _ENDS:
        lookup = Lookup(f"{alias}.{_ENDS[key]}", _TWIN_BY_ID)
        return Term(k.STRING | nullable, build_member(document).value, lookup=lookup)
    return build_member(document)


def _compile_model(subject: Term, document: str) -> Term:
    alias, _, column = document.partition(".")
    # NOTE: only a twin's own document has its model in a column; a similar map has not.
    if column != "document" or not alias.startswith("n"):
        return build_nested(subject, "$model")
    value = f"(SELECT i.dtmi FROM interface AS i WHERE i.id = {alias}.model)"
    return Term(k.STRING | k.NULL, value, lookup=Lookup(f"{alias}.model", _INTERFACE_BY_ID))
