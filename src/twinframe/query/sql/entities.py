"""Compiles reads of members of nodes and relationships: from a column if there is one, else from
the document.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.term import (
    NULL_TERM,
    Lookup,
    Member,
    Term,
    find_entry,
    read_table,
)

_INTERFACE_BY_ID = "SELECT id FROM interface WHERE dtmi = {}"
_COLUMNS = {
    (k.NODE, "$dtId"): "dt_id",
    (k.NODE, "$etag"): "etag",
    (k.RELATIONSHIP, "$relationshipId"): "relationship_id",
    (k.RELATIONSHIP, "$relationshipName"): "name",
    (k.RELATIONSHIP, "$etag"): "etag",
}
_ENDS = {"$sourceId": "source", "$targetId": "target"}


def compile_member(subject: Term, key: str, dialect: Dialect) -> Term:
    """`subject.key`."""
    known = subject.kinds & ~k.NULL
    if not known:
        return NULL_TERM
    if known in (k.NODE, k.RELATIONSHIP):
        return _compile_entity_member(subject, known, key, dialect)
    if not known & k.MAP:
        raise CannotRun(f"A member of a {k.render_kinds(known)}.")
    entry = find_entry(subject, key)
    if entry is not None:
        return entry
    if subject.member is not None and subject.member.names == ("$metadata",) and key == "$model":
        return _compile_model(subject, subject.member.document, dialect)
    return dialect.build_nested(subject, key)


def _compile_entity_member(subject: Term, known: int, key: str, dialect: Dialect) -> Term:
    alias = read_table(subject)
    nullable = subject.kinds & k.NULL
    column = _COLUMNS.get((known, key))
    if column is not None:
        return Term(k.STRING | nullable, f"{alias}.{column}")
    member = dialect.build_member(Member(f"{alias}.document", (key,)))
    if known == k.RELATIONSHIP and key in _ENDS:
        twin = f"SELECT id FROM {dialect.tables[k.NODE]} WHERE dt_id = {{}}"
        lookup = Lookup(f"{alias}.{_ENDS[key]}", twin)
        return Term(k.STRING | nullable, dialect.read(member, k.STRING), lookup=lookup)
    return member


def _compile_model(subject: Term, document: str, dialect: Dialect) -> Term:
    alias, _, column = document.partition(".")
    # NOTE: only a twin's own document has its model in a column; a similar map has not.
    if column != "document" or not alias.startswith("n"):
        return dialect.build_nested(subject, "$model")
    value = f"(SELECT i.dtmi FROM interface AS i WHERE i.id = {alias}.model)"
    return Term(k.STRING | k.NULL, value, lookup=Lookup(f"{alias}.model", _INTERFACE_BY_ID))
