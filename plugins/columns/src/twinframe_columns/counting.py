"""Counts matches where only their number matters, without making a row of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from twinframe.query.algebra import Direction, RelationshipPattern
from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.following import Follower, both, find_directions, read_all_ends
from twinframe_columns.frame import Frame, Run
from twinframe_columns.hops import expand
from twinframe_columns.kinds import Floats, Integers
from twinframe_columns.problem import JointCondition, Pair, Problem, find_types
from twinframe_columns.vectors import read_rows
from twinframe_columns.weights import add_up

_FEW: Final = 4
"""From so many times fewer twins than relationships these are followed, not looked at."""

_MOST_SPLITS: Final = 3
"""Inequalities that are counted by subtraction; each doubles the number of problems."""


# --- branches -------------------------------------------------------------------------------------


def find_branch(
    relationship: RelationshipPattern,
    reached: str,
    known: frozenset[str],
    waiting: Sequence[RelationshipPattern],
) -> list[RelationshipPattern] | None:
    """Return the tree of relationships behind `relationship` if none of its variables is `known`,
    which are those that are bound or needed.
    """
    if relationship.variable in known or relationship.length is not None:
        return None
    branch = [relationship]
    inside = {reached}
    grew = True
    while grew:
        grew = False
        for each in waiting:
            if each in branch or not {each.left, each.right} & inside:
                continue
            if {each.left, each.right} <= inside or each.variable in known or each.length:
                return None  # a cycle, or a relationship of which more than the number matters
            inside |= {each.left, each.right}
            branch.append(each)
            grew = True
    return None if inside & known else branch


def weigh_branch(
    follower: Follower,
    relationship: RelationshipPattern,
    reached: str,
    branch: Sequence[RelationshipPattern],
) -> Floats | Integers:
    """Return for each twin the number of ways to go on from it by `relationship`."""
    inner: Floats | Integers | None = None
    rest = [one for one in branch if one is not relationship]
    for each in rest:
        if reached in (each.left, each.right):
            other = each.right if each.left == reached else each.left
            own = weigh_branch(follower, each, other, _find_behind(rest, each, reached))
            inner = own if inner is None else np.multiply(inner, own, dtype=np.float64)
    origin = relationship.left if relationship.right == reached else relationship.right
    total: Floats | Integers | None = None
    for name in find_types(follower.run, relationship):
        for outgoing in find_directions(relationship, origin):
            added = _weigh_edges(follower, relationship, name, reached, inner, outgoing=outgoing)
            total = added if total is None else total + added
    follower.run.reader.check_deadline()
    if total is None:
        return np.zeros(follower.run.projection.count)
    if len(total) and not float(total.max()) < k.LARGEST_INTEGER:
        raise CannotRun("More ways than a float counts.")
    return total


def _weigh_edges(
    follower: Follower,
    relationship: RelationshipPattern,
    name: str,
    reached: str,
    inner: Floats | Integers | None,
    *,
    outgoing: bool,
) -> Floats | Integers:
    edges = follower.run.projection.edges[name]
    candidates = follower.candidates[reached]
    is_again = relationship.direction is Direction.BOTH and not outgoing and edges.has_loops
    tests = follower.tests.get(relationship.variable)
    if not tests and candidates.count * _FEW < edges.count:
        # PERF: from the few twins at the other end.
        rows = read_rows(candidates.rows)
        hops = expand(edges, rows, outgoing=not outgoing, most=follower.run.most_rows)
        origins, ends = hops.ends, rows if hops.picked is None else rows[hops.picked]
        fits = origins != ends if is_again else None
    else:
        origins, ends = read_all_ends(edges, outgoing=outgoing)
        fits = None if edges.is_alive is None else edges.is_alive[: edges.count]
        if is_again:
            fits = both(fits, origins != ends)  # a loop once
        fits = both(fits, candidates.hold(ends))
        if tests:
            fits = both(fits, follower.test_edges(relationship, name, slice(0, edges.count)))
    count = follower.run.projection.count
    if fits is None and inner is None and len(origins) == edges.count:
        return edges.count_degrees(count, outgoing=outgoing)
    if fits is not None:
        origins, ends = origins[fits], ends[fits]
    if inner is None:
        return np.bincount(origins, minlength=count)
    weights = inner[ends]
    if len(weights) and float(weights.sum()) >= k.LARGEST_INTEGER:
        raise CannotRun("More ways than a float counts.")
    return np.bincount(origins, weights=weights, minlength=count)


def _find_behind(
    branch: Sequence[RelationshipPattern], first: RelationshipPattern, origin: str
) -> list[RelationshipPattern]:
    """Return those of a tree that hang behind `first`, seen from its end `origin`."""
    found = [first]
    inside = {first.right if first.left == origin else first.left}
    grew = True
    while grew:
        grew = False
        for each in branch:
            if each not in found and {each.left, each.right} & inside:
                found.append(each)
                inside |= {each.left, each.right} - {origin}
                grew = True
    return found


# --- subtraction ----------------------------------------------------------------------------------

Solve = Callable[[Problem, Frame], Frame]


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts the matches of a problem; `bound` are the nodes that rows bind before, `tested` the
    relationships with conditions of their own.

    PERF: of «a and c differ» all matches are counted, and those in which they are one are
    subtracted: both are found by numbers where the inequality would need a row for each match.
    """

    run: Run
    solve: Solve
    bound: frozenset[str]
    tested: frozenset[str]

    def can_count(self, problem: Problem) -> bool:
        """Whether subtraction is worth it."""
        problem = drop_implied_pairs(problem)
        splits = len(problem.pairs) + len(self._list_apart(problem))
        return 0 < splits <= _MOST_SPLITS

    def count(self, problem: Problem, source: Frame) -> int:
        """Return the number of matches of all rows of `source`."""
        self.run.reader.check_deadline()
        problem = drop_implied_pairs(problem)
        for apart in self._list_apart(problem):
            rest = tuple(one for one in problem.conditions if one is not apart)
            return self._subtract(replace(problem, conditions=rest), apart, source)
        for pair in problem.pairs:
            kept, dropped = sorted(pair)
            equal = problem.merge_relationships(kept, dropped)
            if equal is None or pair & self.tested or self._drops_bound(problem, equal):
                continue
            rest_pairs = tuple(one for one in problem.pairs if one is not pair)
            everything = replace(problem, pairs=rest_pairs)
            equal = replace(equal, pairs=tuple(one for one in equal.pairs if one != pair))
            return self.count(everything, source) - self._count_consistent(equal, source)
        return count_frame(self.solve(problem, source))

    def _subtract(self, problem: Problem, apart: JointCondition, source: Frame) -> int:
        assert apart.apart is not None  # noqa: S101  # as listed
        kept, dropped = apart.apart
        if dropped in self.bound:
            kept, dropped = dropped, kept
        equal = problem.merge_nodes({dropped: kept})
        return self.count(problem, source) - self._count_consistent(equal, source)

    def _count_consistent(self, problem: Problem, source: Frame) -> int:
        if any(one.apart is not None and len(set(one.apart)) == 1 for one in problem.conditions):
            return 0  # a node that were to differ from itself
        return self.count(problem, source)

    def _list_apart(self, problem: Problem) -> list[JointCondition]:
        return [
            one
            for one in problem.conditions
            if one.apart is not None
            and set(one.apart) <= set(problem.nodes)
            and not set(one.apart) <= self.bound
        ]

    def _drops_bound(self, problem: Problem, merged: Problem) -> bool:
        """Whether a node that rows bind became one with another."""
        return bool((set(problem.nodes) - set(merged.nodes)) & self.bound)


def drop_implied_pairs(problem: Problem) -> Problem:
    """Return the problem without pairs that an inequality of nodes keeps apart already."""
    pairs: list[Pair] = []
    for pair in problem.pairs:
        names = problem.find_united(*sorted(pair)) or {}
        aparts = [one.apart for one in problem.conditions if one.apart is not None]
        if not any(names.get(one, one) == names.get(other, other) for one, other in aparts):
            pairs.append(pair)
    return replace(problem, pairs=tuple(pairs))


def count_frame(frame: Frame) -> int:
    """Return the number of rows that a frame stands for."""
    return frame.count if frame.weights is None else add_up(frame.weights)
