"""Compiles reads of members of nodes and relationships to triples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twinframe.query.algebra import Expression, Literal, Property, Subscript, Variable
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.term import NULL_TERM, Group, Term, render_is
from twinframe_storage_rdf.mapping import RELATIONSHIP_MEMBERS, TWIN_MEMBERS, build_predicate
from twinframe_storage_rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class MemberPath:
    """A member of the entity in the variable `name`: the names from the document's root."""

    name: str
    names: tuple[str, ...]


def find_member_path(expression: Expression) -> MemberPath | None:
    """`t.a.b` and `t['a'].b` as a path; None for other expressions."""
    names: list[str] = []
    while True:
        match expression:
            case (
                Property(subject=subject, key=key)
                | Subscript(subject=subject, index=Literal(value=str(key)))
            ):
                names.append(key)
                expression = subject
            case Variable(name=name):
                return MemberPath(name, tuple(reversed(names))) if names else None
            case _:
                return None


def read_system(term: Term, predicate: Iri) -> str:
    """Return the variable of a value that every twin, or every relationship, has."""
    return _read_owner(term).read(
        term.text, predicate, certain=True, nullable=bool(term.kinds & k.NULL)
    )


def compile_member(
    term: Term, names: tuple[str, ...], guard: Callable[[str], None], *, certain: bool = False
) -> Term:
    """Compile the member at the path `names` of an entity.

    With `certain`, rows without the member may be dropped.
    """
    known = term.kinds & ~k.NULL
    if not known:
        return NULL_TERM
    nullable = term.kinds & k.NULL
    if names == ("$metadata", "$model") and known == k.NODE:
        return _compile_model(term)
    members = TWIN_MEMBERS if known == k.NODE else RELATIONSHIP_MEMBERS
    predicate = build_predicate(names, members)
    if predicate is None:
        raise CannotRun(f"The member {'.'.join(names)}, which stands in the document alone.")
    if len(names) == 1 and names[0] in members:
        return Term(k.STRING | nullable, read_system(term, predicate))
    if names[0] in members:
        raise CannotRun("A member of a string.")
    for length in range(1, len(names)):
        outer = compile_member(term, names[:length], guard)
        guard(f"BOUND({outer.text}) && !{render_is(outer, k.MAP)}")
    text = _read_owner(term).read(term.text, predicate, certain=certain, nullable=bool(nullable))
    return Term(k.JSON, text)


def _compile_model(term: Term) -> Term:
    owner = _read_owner(term)
    nullable = bool(term.kinds & k.NULL)
    model = owner.read(term.text, v.MODEL, certain=True, nullable=nullable)
    text = owner.read(model, v.ID, certain=True, nullable=nullable)
    return Term(k.STRING | (term.kinds & k.NULL), text)


def _read_owner(term: Term) -> Group:
    if term.owner is None:
        raise CannotRun("A member of a node or relationship that came out of an expression.")
    return term.owner
