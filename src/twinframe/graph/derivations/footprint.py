"""Finds what the values of a derivation depend on, and the way back from there to their twins.

A value of a twin `this` comes from matches of the pattern at `this`. A change of an element of the
pattern concerns the twins that are reached from it against the pattern. The way may be walked in
the state after all changes of a time. If an element of a match before that time has changed, take
the first one on the way from `this`: everything before it is as it was, so the way back from it is
still there. Elements that are new lie on ways that are there now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from twinframe.errors import DerivationInvalid
from twinframe.graph.derivations.texts import THIS, find_matches
from twinframe.query.algebra import (
    Aggregate,
    AggregateKind,
    Direction,
    HasLabels,
    LabelExpression,
    Length,
    Literal,
    Operator,
    Project,
    Property,
    Query,
    RelationshipPattern,
    Subscript,
    Variable,
)
from twinframe.query.evaluate.patterns.batches import orient
from twinframe.query.reader import GraphReader
from twinframe.query.traversal import Term, children, find_expressions, walk_inputs

Keys: TypeAlias = frozenset[str] | None
"""Members of twins that are read, or that changed; None is all."""

_ONE: Final = Length(1, 1)


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a way back: relationships of these types are followed in this direction."""

    direction: Direction
    types: tuple[str, ...]
    length: Length = _ONE


Way: TypeAlias = tuple[Step, ...]
"""The steps from an element of the pattern to `this`."""


@dataclass(frozen=True, slots=True)
class ReadNode:
    """A node of the pattern: the members that are read of it, and its way back."""

    variable: str
    keys: Keys
    labels: tuple[LabelExpression, ...]
    way: Way


@dataclass(frozen=True, slots=True)
class ReadRelationship:
    """A relationship of the pattern; the way back begins at its end that is nearer to `this`.

    `near` says which end of it that is: OUTGOING its source, INCOMING its target, BOTH either.
    `reads` says whether its properties are read.
    """

    types: tuple[str, ...]
    near: Direction
    reads: bool
    way: Way


@dataclass(frozen=True, slots=True)
class Footprint:
    """What the values of a derivation depend on: `this` itself, other nodes, relationships."""

    own: ReadNode
    nodes: tuple[ReadNode, ...]
    relationships: tuple[ReadRelationship, ...]

    @property
    def all_nodes(self) -> tuple[ReadNode, ...]:
        """All nodes that are read."""
        return (self.own, *self.nodes)


def find_footprint(query: Query) -> Footprint:
    """Find the footprint of the query of a derivation.

    Raises `DerivationInvalid` where a part of the pattern is not connected to `this`.
    """
    pattern = _Pattern(query.root)
    ways = pattern.find_ways()
    keys = _find_keys(query.root)
    read: dict[str, ReadNode] = {}
    for variable, way in ways.items():
        labels = tuple(one for one in pattern.labels[variable] if one is not None)
        read[variable] = ReadNode(variable, keys.find(variable), labels, way)
    own = read.pop(THIS)
    return Footprint(own, tuple(read.values()), tuple(pattern.find_relationships(ways, keys)))


def walk_back(reader: GraphReader, ids: set[str], way: Way) -> set[str]:
    """Return the ids of the nodes that are reached from these on a way."""
    for step in way:
        if not ids:
            break
        reached = set(ids) if step.length.minimum == 0 else set[str]()
        seen: set[str] = set()
        frontier, depth = ids, 0
        while frontier and (step.length.maximum is None or depth < step.length.maximum):
            found: set[str] = set()
            origins = iter(frontier)
            while some := [*islice(origins, reader.most_at_once)]:
                found.update(h.reached for h in reader.read_hops(some, step.direction, step.types))
                reader.check_deadline()
            frontier = found - seen
            seen |= found
            depth += 1
        ids = reached | seen
    return ids


class _Pattern:
    """The nodes and relationships of the pattern, those of `this` included."""

    def __init__(self, root: Operator) -> None:
        self.labels: dict[str, list[LabelExpression | None]] = {}
        self._relationships: list[RelationshipPattern] = []
        for match in find_matches(root):
            for node in match.pattern.nodes:
                self.labels.setdefault(node.variable, []).append(node.labels)
            self._relationships += match.pattern.relationships

    def find_ways(self) -> dict[str, Way]:
        """Return the ways back of all nodes, of each a shortest."""
        ways: dict[str, Way] = {THIS: ()}
        waiting = [THIS]
        for near in waiting:
            for one, far, direction in self._list_crossings(near):
                if far not in ways:
                    back = orient(direction, backwards=True)
                    ways[far] = (Step(back, one.types, one.length or _ONE), *ways[near])
                    waiting.append(far)
        if lost := [name for name in self.labels if name not in ways]:
            shown = ", ".join(
                sorted(name for name in lost if name.isprintable() and name[0] != " ")
            )
            raise DerivationInvalid(
                f"A part of match{f' ({shown})' if shown else ''} is not connected to (this): each "
                "must be, such as (this)-[:contains]->(r:Room)."
            )
        return ways

    def _list_crossings(self, near: str) -> Iterator[tuple[RelationshipPattern, str, Direction]]:
        """Yield the relationships at a node, each with its other node and direction from here."""
        for one in self._relationships:
            if one.left == near:
                yield one, one.right, one.direction
            if one.right == near:
                yield one, one.left, orient(one.direction, backwards=True)

    def find_relationships(
        self, ways: Mapping[str, Way], keys: _Keys
    ) -> Iterator[ReadRelationship]:
        """Yield the relationships with their ways back."""
        for one in self._relationships:
            is_left = len(ways[one.left]) <= len(ways[one.right])
            near = one.left if is_left else one.right
            direction = one.direction if is_left else orient(one.direction, backwards=True)
            way = ways[near]
            if one.length is not None:
                # It may be any of those that are followed: further ones lie before it.
                most = one.length.maximum
                before = Length(0, None if most is None else max(most - 1, 0))
                way = (Step(orient(direction, backwards=True), one.types, before), *way)
            reads = bool(one.properties) or keys.find(one.variable) != frozenset()
            yield ReadRelationship(one.types, direction, reads, way)


@dataclass(slots=True)
class _Keys:
    """The members that are read, by variable."""

    found: dict[str, set[str]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)

    def find(self, variable: str) -> Keys:
        """Return the members that are read of a variable."""
        if variable in self.whole:
            return None
        return frozenset(self.found.get(variable, ()))

    def add(self, term: Term) -> None:
        """Add the members that an expression reads."""
        match term:
            case Property(subject=Variable(name=name), key=key):
                self.found.setdefault(name, set()).add(key)
            case Subscript(subject=Variable(name=name), index=Literal(value=str(key))):
                self.found.setdefault(name, set()).add(key)
            case HasLabels(subject=Variable()):
                pass  # a change of the model concerns all who read the node
            case Variable(name=name):
                self.whole.add(name)
            case _:
                for part in children(term):
                    self.add(part)


def _find_keys(root: Operator) -> _Keys:
    keys = _Keys()
    for operator in walk_inputs(root):
        for expression in _list_expressions(operator):
            keys.add(expression)
    for match in find_matches(root):
        for node in match.pattern.nodes:
            keys.found.setdefault(node.variable, set()).update(key for key, _ in node.properties)
    return keys


def _list_expressions(operator: Operator) -> Sequence[Term]:
    """Return the expressions of an operator, without those that only hand a variable on, or count
    it.
    """
    match operator:
        case Project(items=items):
            return [one for name, one in items if one != Variable(name)]
        case Aggregate(keys=keys, aggregates=aggregates):
            found: list[Term] = [one for name, one in keys if one != Variable(name)]
            for _, call in aggregates:
                if call.kind is not AggregateKind.COUNT or not isinstance(
                    call.arguments[0], Variable
                ):
                    found += call.arguments
            return found
        case _:
            return find_expressions(operator)
