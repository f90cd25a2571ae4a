"""Compiles graph patterns to triples of a group; `conditions` adds their predicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from twinframe.model.ids import TWIN_LABEL
from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Direction,
    Expression,
    GraphPattern,
    Length,
    NodePattern,
    PathKind,
    Property,
    RelationshipPattern,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe.query.evaluate.labels import find_label_names
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.abilities import NARROW
from twinframe_storage_rdf.compiler.bindings import Source, render_name, render_resource
from twinframe_storage_rdf.compiler.composites import build_path
from twinframe_storage_rdf.compiler.labels import add_labels
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.compiler.term import Group, Term
from twinframe_storage_rdf.terms import render_iri

AddCondition = Callable[[Select, Expression], None]

LONGEST_CHAIN = 6
"""The most relationships of a chain; the evaluator runs longer walks."""

APART = f"!={NARROW}"

_ID, _SOURCE, _TARGET = (render_iri(each) for each in (v.ID, v.SOURCE, v.TARGET))


class PatternCompiler:
    """Extends a SELECT by one graph pattern.

    `is_test`: only the existence of the pattern matters, not the number of matches.
    """

    def __init__(
        self, select: Select, pattern: GraphPattern, add_condition: AddCondition, *, is_test: bool
    ) -> None:
        self._select = select
        self._is_test = is_test
        self._group: Group = select.root
        self._statement = select.statement
        self._pattern = pattern
        self._add_condition = add_condition
        self._nodes = {node.variable: node for node in pattern.nodes}
        self._bound = frozenset(select.scope)
        self._crossed: list[tuple[str, frozenset[str]]] = []

    def compile(self) -> None:
        """Add everything except the predicate of the match."""
        for path in self._pattern.paths:
            if path.kind is not PathKind.ALL:
                raise CannotRun("A shortest path.")
        walks = [each for each in self._pattern.relationships if each.length is not None]
        if len(walks) > 1:
            raise CannotRun("Several variable-length relationships in one pattern.")
        reached = {name for each in self._pattern.relationships for name in _list_ends(each)}
        for node in self._pattern.nodes:
            self._settle(node, is_reached=node.variable in reached)
        for relationship in self._pattern.relationships:
            if relationship.length is None:
                self._cross(relationship)
        for walk in walks:
            self._walk(walk)
        self._keep_apart()
        for path in self._pattern.paths:
            if path.variable in self._statement.needed:
                self._select.composites[path.variable] = build_path(path, self._select.scope)

    # --- nodes ----------------------------------------------------------------------------------

    def _settle(self, node: NodePattern, *, is_reached: bool) -> None:
        is_bound = node.variable in self._bound
        term = self._select.scope.get(node.variable)
        if term is None:
            term = Term(k.NODE, self._statement.build_variable("n"), self._group)
            self._select.scope[node.variable] = term
            self._group.scanned[node.variable] = term.text
            if not is_reached and find_label_names(node.labels) <= {TWIN_LABEL}:
                self._group.add_triple(term.text, v.RDF_TYPE, render_iri(v.TWIN))
        elif term.kinds & ~k.NULL != k.NODE:
            raise CannotRun(f"A pattern on the variable {node.variable}, which may be no node.")
        if node.labels is not None:
            group = self._group
            if is_bound and not term.kinds & k.NULL and term.owner is None:
                raise CannotRun("Labels of a node that came out of an expression.")
            add_labels(node.labels, self._read_name(node.variable), group)
        elif is_bound and term.kinds & k.NULL and not is_reached:
            self._group.add_triple(self._read_name(node.variable), v.RDF_TYPE, render_iri(v.TWIN))
        self._add_equalities(node.variable, node.properties)

    def _read_name(self, name: str) -> str:
        """Return a variable of the node that is bound even where the node is absent."""
        term = self._select.scope[name]
        if not term.kinds & k.NULL:
            return term.text
        outer = self._select.outer
        if outer is None or outer.is_inner:
            raise CannotRun("A pattern on a node that may be absent.")
        return outer.root.read_strict(term.text)

    def _add_equalities(self, name: str, properties: Sequence[tuple[str, Expression]]) -> None:
        for key, value in properties:
            member = Property(Variable(name), key)
            self._add_condition(self._select, Binary(BinaryOperator.EQUAL, member, value))

    # --- relationships --------------------------------------------------------------------------

    def _cross(self, pattern: RelationshipPattern) -> None:
        term = self._select.scope.get(pattern.variable)
        if term is None:
            term = Term(k.RELATIONSHIP, self._statement.build_variable("r"), self._group)
            self._select.scope[pattern.variable] = term
        elif term.kinds != k.RELATIONSHIP:
            raise CannotRun(f"A pattern on {pattern.variable}, which may be no relationship.")
        left, right = self._read_name(pattern.left), self._read_name(pattern.right)
        self._group.triples.append(
            self._render_crossing(term.text, left, right, pattern.direction, pattern.types)
        )
        self._crossed.append((term.text, frozenset(pattern.types)))
        self._add_equalities(pattern.variable, pattern.properties)

    def _render_crossing(
        self, row: str, left: str, right: str, direction: Direction, types: Sequence[str]
    ) -> str:
        """The triples of one relationship between two nodes."""
        if direction is Direction.INCOMING:
            left, right = right, left
        there = f"{row} {_SOURCE} {left} . {row} {_TARGET} {right} ."
        if direction is Direction.BOTH:
            back = f"{row} {_SOURCE} {right} . {row} {_TARGET} {left} ."
            # NOTE: a loop is matched once.
            known = self._render_anchors(left, right)
            there = f"{{ {known}{there} }} UNION {{ {known}{back} FILTER({left} {APART} {right}) }}"
        return f"{there}{self._render_types(row, types)}"

    def _render_anchors(self, *nodes: str) -> str:
        """Render the triples that identify these nodes once more.

        PERF: engines compute all rows of a union before they join them with the other patterns;
        a walk of 1 to 4 from one of 100,000 twins took 200 ms.
        """
        groups = [self._group, *([self._select.outer.root] if self._select.outer else [])]
        found = {
            triple: None
            for group in groups
            for node in nodes
            for triple in group.triples
            if triple.startswith(f"{node} {_ID} $")
        }
        return "".join(f"{triple} " for triple in found)

    def _render_types(self, row: str, types: Sequence[str]) -> str:
        if not types:
            return ""
        names = [
            self._statement.bindings.bind(Source(None, name), render_name)
            for name in dict.fromkeys(types)
        ]
        if len(names) == 1:
            return f" {row} {render_iri(v.NAME)} {names[0]} ."
        # PERF: as VALUES, engines start from all relationships of these names: 40 times slower.
        variable = self._statement.build_variable("t")
        test = f"FILTER({variable} IN{NARROW} ({', '.join(names)}))"
        return f" {row} {render_iri(v.NAME)} {variable} . {test}"

    def _keep_apart(self) -> None:
        """SPEC: openCypher 9: no relationship is used twice within one match."""
        for (one, types), (other, others) in combinations(self._crossed, 2):
            if one != other and (not types or not others or types & others):
                self._group.filters.append(f"{one} {APART} {other}")
            elif one == other:
                self._group.filters.append("false")

    # --- variable length ------------------------------------------------------------------------

    def _walk(self, pattern: RelationshipPattern) -> None:
        """A walk of bounded length as the union of its chains, else as a property path."""
        length = pattern.length or Length(1, 1)
        if pattern.variable in self._statement.needed or pattern.properties:
            raise CannotRun("The relationships of a variable-length pattern.")
        if pattern.variable in self._select.scope:
            raise CannotRun("A bound variable as a variable-length pattern.")
        left, right = self._read_name(pattern.left), self._read_name(pattern.right)
        if length.maximum is None:
            self._group.triples.append(self._render_path(pattern, left, right))
        elif length.maximum > LONGEST_CHAIN:
            raise CannotRun(f"A walk of more than {LONGEST_CHAIN} relationships.")
        elif length.minimum > length.maximum:
            self._group.filters.append("false")
        else:
            arms = [
                self._render_chain(pattern, left, right, hops)
                for hops in range(length.minimum, length.maximum + 1)
            ]
            known = self._render_anchors(left, right)
            self._group.triples.append(" UNION ".join(f"{{ {known}{arm} }}" for arm in arms))

    def _render_path(self, pattern: RelationshipPattern, left: str, right: str) -> str:
        """Render a property path, which yields each pair of ends once.

        NOTE: it says whether there is a walk. A walk contains one between the same ends that uses
        no relationship twice, unless a least length or another relationship asks for more.
        """
        length = pattern.length
        if not self._is_test or length is None or length.minimum > 1 or self._crossed:
            raise CannotRun("A walk of any length whose ways count.")
        if pattern.direction is Direction.BOTH and length.minimum:
            # NOTE: a walk may go there and back again, but over one relationship twice.
            raise CannotRun("A walk of any length in both directions.")
        if not pattern.types:
            raise CannotRun("A walk of any length over relationships of any name.")
        bind = self._statement.bindings.bind
        steps = []
        for name in pattern.types:
            edge = bind(Source(None, v.build_edge_iri(name)), render_resource)
            if pattern.direction is not Direction.INCOMING:
                steps.append(edge)
            if pattern.direction is not Direction.OUTGOING:
                steps.append(f"^{edge}")
        if length.minimum:
            return f"{left} ({'|'.join(steps)})+ {right} ."
        # NOTE: in a zero-length path every term is both start and end.
        known = right if pattern.right in self._bound else left
        return f"{_render_twin(known)} {left} ({'|'.join(steps)})* {right} ."

    def _render_chain(self, pattern: RelationshipPattern, left: str, right: str, hops: int) -> str:
        if not hops:
            # NOTE: ids alone are not enough, since models and relationships have them too.
            same = self._statement.build_variable("z")
            ends = dict.fromkeys((left, right))
            return " ".join(f"{_render_twin(end)} {end} {_ID} {same} ." for end in ends)
        nodes = [left, *(self._statement.build_variable("n") for _ in range(hops - 1)), right]
        rows = [self._statement.build_variable("r") for _ in range(hops)]
        parts = [
            self._render_crossing(row, nodes[at], nodes[at + 1], pattern.direction, pattern.types)
            for at, row in enumerate(rows)
        ]
        apart = [f"{one} {APART} {other}" for one, other in combinations(rows, 2)]
        types = frozenset(pattern.types)
        for other, others in self._crossed:
            if not types or not others or types & others:
                # NOTE: the row of another chain is unbound in this one.
                self._group.filters += [f"COALESCE({row} {APART} {other}, true)" for row in rows]
        # NOTE: a filter each, since servers that evaluate `&&` wrongly evaluate these correctly.
        parts += [f"FILTER({each})" for each in apart]
        return " ".join(parts)


def _render_twin(node: str) -> str:
    return f"{node} {render_iri(v.RDF_TYPE)} {render_iri(v.TWIN)} ."


def _list_ends(pattern: RelationshipPattern) -> tuple[str, str]:
    return pattern.left, pattern.right
