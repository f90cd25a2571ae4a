"""The parts of a query under construction: typed expressions, group graph patterns, and what all
parts share.

The null of an expression is an unbound variable or an error, which SPARQL treats alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf.compiler.abilities import EVERYTHING, NARROW, Abilities
from twinframe_storage_rdf.compiler.bindings import NOWHERE, Bindings, Source
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.terms import (
    JSON_TEXT,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_STRING,
    Iri,
    render_iri,
)

STRING_TYPE = f"<{XSD_STRING}>"
BOOLEAN_TYPE = f"<{XSD_BOOLEAN}>"
DOUBLE_TYPE = f"<{XSD_DOUBLE}>"
JSON_TYPE = f"<{JSON_TEXT}>"


@dataclass(frozen=True, slots=True)
class Term:
    """A value in SPARQL: an expression of `kinds`, which is unbound or an error for null.

    An entity is a variable bound to its IRI; `owner` is the group whose triples bind it, to which
    triples that read its members are added. `source` is the constant or parameter that the value
    is.
    """

    kinds: int
    text: str
    owner: Group | None = None
    source: Source | None = None

    @property
    def is_variable(self) -> bool:
        """Whether the text is the name of a variable."""
        return self.text.startswith("?") and self.text[1:].isalnum()

    @property
    def is_small(self) -> bool:
        """Whether it is a constant or parameter that is checked to have at most 53 bits."""
        return self.source is not None


NULL_TERM = Term(k.NULL, "?null")
"""NOTE: `?null` stands in no pattern, so that nothing binds it."""


def render_mark(*terms: Term) -> str:
    """Render the mark of an operator whose operands are only IRIs and strings."""
    narrow = all(not term.kinds & ~(k.STRING | k.ENTITIES | k.NULL) for term in terms)
    return NARROW if narrow else ""


def render_bound(term: Term) -> str:
    """Render the test that the value is not null."""
    if not term.kinds & k.NULL:
        return "true"
    if term.is_variable:
        return f"BOUND({term.text})"
    return f"COALESCE(sameTerm({term.text}, {term.text}), false)"


def render_is(term: Term, kind_class: int) -> str:
    """Render the test that the value is of a type, such as NUMBER; an error for null."""
    text = term.text
    match kind_class:
        case k.NUMBER:
            return f"isNumeric({text})"
        case k.STRING:
            return f"(isLiteral({text}) && DATATYPE({text}) = {STRING_TYPE})"
        case k.BOOLEAN:
            return f"(isLiteral({text}) && DATATYPE({text}) = {BOOLEAN_TYPE})"
        case k.LIST:
            return f'({_render_is_json(text)} && STRSTARTS(STR({text}), "["))'
        case k.MAP:
            return f'({_render_is_json(text)} && STRSTARTS(STR({text}), "{{"))'
        case _:
            return f"isIRI({text})"


def render_is_nested(term: Term) -> str:
    """Render the test that the value is a list or a map; an error for null."""
    return _render_is_json(term.text)


def _render_is_json(text: str) -> str:
    return f"(isLiteral({text}) && DATATYPE({text}) = {JSON_TYPE})"


@dataclass(slots=True)
class Statement:
    """State that all parts of one query share."""

    names: GraphNames
    parameter_kinds: dict[str, int] = field(default_factory=dict)
    list_kinds: dict[str, int] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()
    abilities: Abilities = EVERYTHING
    bindings: Bindings = field(default_factory=Bindings)
    _numbers: int = 0

    def build_variable(self, prefix: str) -> str:
        """A fresh variable."""
        self._numbers += 1
        return f"?{prefix}{self._numbers}"


@dataclass(slots=True, eq=False)
class Group:
    """A group: joined parts, triples read of their entities, optional parts in order, filters."""

    statement: Statement
    heads: list[str] = field(default_factory=list)
    triples: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    tail: list[str | Group] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    scanned: dict[str, str] = field(default_factory=dict)
    """The SPARQL variables of the nodes that this group matches, by their names."""
    is_loose: bool = False
    """Whether its entities come from a subquery, so that an absent one is unbound here."""
    _read: dict[tuple[str, str], str] = field(default_factory=dict)
    _strict: dict[str, str] = field(default_factory=dict)

    def add_triple(self, subject: str, predicate: Iri, value: str) -> None:
        """Add a triple that must exist."""
        triple = f"{subject} {render_iri(predicate)} {value} ."
        if triple not in self.triples:
            self.triples.append(triple)

    def read(self, subject: str, predicate: Iri, *, certain: bool, nullable: bool) -> str:
        """Return the variable of a value of the entity in `subject`.

        `certain`: rows without it may be dropped, or there are none. `nullable`: the entity may be
        absent.
        """
        known = self._read.get((subject, predicate))
        if known is not None:
            return known
        variable = self.statement.build_variable("m")
        self._read[subject, predicate] = variable
        if nullable and self.is_loose:
            # NOTE: an unbound subject would match every triple.
            strict = self.read_strict(subject)
            self.tail.append(f"OPTIONAL {{ {strict} {render_iri(predicate)} {variable} }}")
        elif certain:
            self.add_triple(subject, predicate, variable)
        else:
            self.members.append(f"OPTIONAL {{ {subject} {render_iri(predicate)} {variable} }}")
        return variable

    def read_strict(self, subject: str) -> str:
        """A variable that is the entity in `subject`, or an IRI without triples if it is absent."""
        strict = self._strict.get(subject)
        if strict is None:
            strict = self._strict[subject] = self.statement.build_variable("s")
            self.tail.append(f"BIND(COALESCE({subject}, {NOWHERE}) AS {strict})")
        return strict

    def render(self) -> str:
        """The text between the braces."""
        parts = [*self.heads, *self.triples, *self.members]
        parts += [
            each if isinstance(each, str) else f"OPTIONAL {{ {each.render()} }}"
            for each in self.tail
        ]
        parts += [f"FILTER({each})" for each in self.filters]
        return " ".join(parts)
