"""One group graph pattern under construction, and the counters that all groups of a query share."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinframe_storage_rdf.compiler.abilities import EVERYTHING, Abilities
from twinframe_storage_rdf.compiler.bindings import NOWHERE, Bindings
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.terms import Iri, render_iri


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
