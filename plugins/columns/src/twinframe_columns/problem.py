"""What is to be matched: nodes with their candidates, relationships, conditions on several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from twinframe.query.algebra import Direction, RelationshipPattern
from twinframe_columns.candidates import Candidates
from twinframe_columns.expressions import Condition, Evaluate
from twinframe_columns.frame import Frame, Run
from twinframe_columns.vectors import Truths

_FEW: Final = 4
"""So many times fewer twins than candidates are worth to start from."""

Pair = frozenset[str]
"""Two relationships that could be one, which a match uses only once."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an equality between parts of a pattern."""

    names: frozenset[str]
    evaluate: Evaluate


@dataclass(frozen=True, slots=True)
class JointCondition:
    """A condition on several variables, or on none.

    `apart` are the two nodes that it asks to differ, if that is all; `sides` those of an equality.
    """

    names: frozenset[str]
    test: Condition
    apart: tuple[str, str] | None = None
    sides: tuple[Side, Side] | None = None

    def rename(self, names: Mapping[str, str]) -> JointCondition:
        """Return the condition on other variables."""
        if not self.names & names.keys():
            return self
        apart = None
        if self.apart is not None:
            one, other = self.apart
            apart = names.get(one, one), names.get(other, other)
        return JointCondition(
            frozenset(names.get(name, name) for name in self.names),
            _rename_test(self.test, names),
            apart,
        )


def _rename_test(test: Condition, names: Mapping[str, str]) -> Condition:
    def renamed(run: Run, frame: Frame) -> Truths:
        known = frame.variables
        added = {old: known[new] for old, new in names.items() if new in known}
        return test(run, replace(frame, variables={**known, **added}))

    return renamed


@dataclass(frozen=True, slots=True)
class Problem:
    """A pattern with its conditions. `nodes` are in the order of the text."""

    candidates: Mapping[str, Candidates]
    relationships: tuple[RelationshipPattern, ...]
    conditions: tuple[JointCondition, ...]
    pairs: tuple[Pair, ...]

    @property
    def nodes(self) -> frozenset[str]:
        """The variables of the nodes."""
        return frozenset(self.candidates)

    def merge_nodes(self, names: Mapping[str, str]) -> Problem:
        """Return the problem in which some nodes are one with others."""
        candidates: dict[str, Candidates] = {}
        for name, own in self.candidates.items():
            new = names.get(name, name)
            candidates[new] = own if new not in candidates else candidates[new].intersect(own)
        relationships = tuple(
            replace(
                each,
                left=names.get(each.left, each.left),
                right=names.get(each.right, each.right),
            )
            for each in self.relationships
        )
        conditions = tuple(each.rename(names) for each in self.conditions)
        return replace(
            self, candidates=candidates, relationships=relationships, conditions=conditions
        )

    def find_united(self, one: str, other: str) -> Mapping[str, str] | None:
        """Return which nodes are one when two relationships are; None where there are two ways."""
        by_name = {each.variable: each for each in self.relationships}
        return _unite(by_name[one], by_name[other])

    def merge_relationships(self, kept: str, dropped: str) -> Problem | None:
        """Return the problem in which two relationships are one; None where that is not one
        problem.
        """
        by_name = {each.variable: each for each in self.relationships}
        one, other = by_name[kept], by_name[dropped]
        names = _unite(one, other)
        if names is None:
            return None
        types = one.types and other.types and tuple(set(one.types) & set(other.types))
        both = replace(one, types=types or one.types or other.types)
        if other.direction is not Direction.BOTH and one.direction is Direction.BOTH:
            both = replace(both, left=other.left, right=other.right, direction=other.direction)
        rest = tuple(
            both if each.variable == kept else each
            for each in self.relationships
            if each.variable != dropped
        )
        renamed = {dropped: kept}
        pairs = {frozenset(renamed.get(name, name) for name in pair) for pair in self.pairs}
        found = replace(
            self,
            relationships=rest,
            conditions=tuple(each.rename(renamed) for each in self.conditions),
            pairs=tuple(pair for pair in pairs if len(pair) == 2),
        )
        return found.merge_nodes(names)


def _unite(one: RelationshipPattern, other: RelationshipPattern) -> Mapping[str, str] | None:
    """Return which nodes are one when two relationships are; None where there are two ways."""
    if Direction.BOTH not in (one.direction, other.direction):
        sources, targets = zip(orient(one), orient(other), strict=True)
        return _close({sources, targets})
    shared = {one.left, one.right} & {other.left, other.right}
    if len(shared) != 1 or one.left == one.right or other.left == other.right:
        return None
    (middle,) = shared
    ends = tuple(each.right if each.left == middle else each.left for each in (one, other))
    return _close({ends})


def _close(equal: Collection[tuple[str, ...]]) -> Mapping[str, str]:
    """Return for each name that is one with another the one that stands for it."""
    names: dict[str, str] = {}
    for one, other in equal:
        first, second = _follow(names, one), _follow(names, other)
        if first != second:
            names[second] = first
    return {name: _follow(names, name) for name in names}


def _follow(names: Mapping[str, str], name: str) -> str:
    while name in names:
        name = names[name]
    return name


def orient(relationship: RelationshipPattern) -> tuple[str, str]:
    """Return the variables of source and target."""
    if relationship.direction is Direction.INCOMING:
        return relationship.right, relationship.left
    return relationship.left, relationship.right


def find_types(run: Run, relationship: RelationshipPattern) -> list[str]:
    """Return the names that relationships of the pattern may have."""
    known = run.projection.edges
    if not relationship.types:
        return list(known)
    return [name for name in dict.fromkeys(relationship.types) if name in known]


def find_nodes(relationships: Collection[RelationshipPattern]) -> frozenset[str]:
    """Return the nodes of relationships."""
    return frozenset(name for each in relationships for name in (each.left, each.right))


# --- relationships that could be one --------------------------------------------------------------


def find_pairs(
    run: Run,
    relationships: Sequence[RelationshipPattern],
    may_be_one: Callable[[str, str], bool],
) -> tuple[Pair, ...]:
    """Return the pairs that could be one; `may_be_one` says so of two nodes."""
    return tuple(
        frozenset((one.variable, other.variable))
        for one, other in combinations(relationships, 2)
        if _may_coincide(run, one, other, may_be_one)
    )


def _may_coincide(
    run: Run,
    one: RelationshipPattern,
    other: RelationshipPattern,
    may_be_one: Callable[[str, str], bool],
) -> bool:
    types = set(find_types(run, one)) & set(find_types(run, other))
    if not types:
        return False
    if Direction.BOTH in (one.direction, other.direction) or one.length or other.length:
        return True
    (a, b), (c, d) = orient(one), orient(other)
    if not (may_be_one(a, c) and may_be_one(b, d)):
        return False
    if b == c or a == d:  # a chain: only a loop is both
        return any(run.projection.edges[name].has_loops for name in types)
    return True


# --- there and back -------------------------------------------------------------------------------


def narrow_mutual(run: Run, problem: Problem) -> Problem:
    """Return the problem without candidates that lack a relationship to a twin and one back, where
    it asks for both.

    PERF: of most names few twins have both, where it takes long to look for them from all.
    """
    candidates = dict(problem.candidates)
    for one, other in combinations(problem.relationships, 2):
        if Direction.BOTH in (one.direction, other.direction) or one.length or other.length:
            continue
        if orient(one) != orient(other)[::-1]:
            continue
        types = find_types(run, one)
        if len(types) != 1 or types != find_types(run, other):
            continue
        mutual = run.projection.edges[types[0]].find_mutual()
        if mutual is None:
            continue
        for name in orient(one):
            if len(mutual) * _FEW < candidates[name].labelled:
                candidates[name] = candidates[name].keep(mutual)
    return replace(problem, candidates=candidates)
