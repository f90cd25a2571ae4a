"""Extends frames by one relationship of a pattern: from a bound node, between two, or as a walk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from twinframe.query.algebra import Direction, Length, RelationshipPattern
from twinframe.query.engine import CannotRun
from twinframe_columns.candidates import Candidates
from twinframe_columns.edges import Edges
from twinframe_columns.expressions import Condition
from twinframe_columns.frame import MOST_ROWS, Frame, Run
from twinframe_columns.hops import Hops, count_between, expand, find_between, skip_numbers
from twinframe_columns.kinds import Bools, Integers, Rows
from twinframe_columns.members import number_any
from twinframe_columns.problem import find_types, orient
from twinframe_columns.vectors import ANY, NULL, Entities, Lists, Vector, read_rows
from twinframe_columns.weights import multiply

EdgeTests: TypeAlias = Mapping[str, Sequence[Condition]]
"""The conditions on one relationship alone, by its variable."""


@dataclass(frozen=True, slots=True)
class Follower:
    """Follows relationships in one run."""

    run: Run
    candidates: Mapping[str, Candidates]
    tests: EdgeTests

    def cross(self, frame: Frame, relationship: RelationshipPattern, *, is_kept: bool) -> Frame:
        """Follow one relationship from an end that is bound; `is_kept`: bind it too."""
        if relationship.length is not None:
            return self._walk(frame, relationship, relationship.length, is_kept=is_kept)
        origin, reached = find_ends(relationship, frame)
        if reached in frame.variables:
            return self._close(frame, relationship, is_kept=is_kept)
        rows = read_entity_rows(frame, origin)
        hops, edges = self._follow(rows, relationship, origin, is_kept=is_kept)
        fits = self.candidates[reached].hold(hops.ends)
        if fits is not None:
            hops = hops.take(np.flatnonzero(fits))
        part = frame if hops.picked is None else frame.take(hops.picked.astype(np.int32))
        added = {reached: Entities(hops.ends)}
        if is_kept:
            added[relationship.variable] = Entities(hops.numbers, edges)
        return replace(part, variables={**part.variables, **added})

    def _follow(
        self,
        rows: slice | Rows,
        relationship: RelationshipPattern,
        origin: str,
        *,
        is_kept: bool,
    ) -> tuple[Hops, str]:
        """Follow all types in all directions; the numbers are those of the returned name."""
        types = find_types(self.run, relationship)
        found: list[Hops] = []
        for name in types:
            edges = self.run.projection.edges[name]
            for outgoing in find_directions(relationship, origin):
                follow = (
                    expand if is_kept or self.tests.get(relationship.variable) else skip_numbers
                )
                hops = follow(edges, rows, outgoing=outgoing, most=self.run.most_rows)
                fits = self.test_edges(relationship, name, hops.numbers)
                is_again = relationship.direction is Direction.BOTH and not outgoing
                if is_again and edges.has_loops:
                    fits = both(fits, hops.ends != _pick_rows(rows, hops.picked))  # a loop once
                if fits is not None:
                    hops = hops.take(np.flatnonzero(fits))
                if is_kept and len(types) > 1:
                    hops = replace(hops, numbers=number_any(self.run, name, hops.numbers))
                found.append(hops)
        return _concatenate(found, rows), types[0] if len(types) == 1 else ANY

    def test_edges(
        self, relationship: RelationshipPattern, name: str, numbers: slice | Rows | Integers
    ) -> Bools | None:
        """Return which relationships of a name satisfy the conditions on them alone."""
        fits: Bools | None = None
        for test in self.tests.get(relationship.variable, ()):
            vector = Entities(numbers, name)
            count = numbers.stop if isinstance(numbers, slice) else len(numbers)
            own = test(self.run, Frame(count, {relationship.variable: vector})).true
            fits = both(fits, own)
        return fits

    # --- between two nodes --------------------------------------------------------------------

    def _close(self, frame: Frame, relationship: RelationshipPattern, *, is_kept: bool) -> Frame:
        left = read_rows(read_entity_rows(frame, relationship.left))
        right = read_rows(read_entity_rows(frame, relationship.right))
        if not is_kept and not self.tests.get(relationship.variable):
            return self._count_ways(frame, relationship, left, right)
        types = find_types(self.run, relationship)
        found: list[Hops] = []
        for name in types:
            edges = self.run.projection.edges[name]
            for outgoing in find_directions(relationship, relationship.left):
                ends = (left, right) if outgoing else (right, left)
                hops = find_between(edges, *ends)
                if hops is None:
                    hops = expand(edges, ends[0], outgoing=True, most=self.run.most_rows)
                    hops = hops.take(np.flatnonzero(hops.ends == _pick_rows(ends[1], hops.picked)))
                fits = self.test_edges(relationship, name, hops.numbers)
                if relationship.direction is Direction.BOTH and not outgoing:
                    fits = both(
                        fits, _pick_rows(left, hops.picked) != _pick_rows(right, hops.picked)
                    )
                if fits is not None:
                    hops = hops.take(np.flatnonzero(fits))
                if is_kept and len(types) > 1:
                    hops = replace(hops, numbers=number_any(self.run, name, hops.numbers))
                found.append(hops)
        hops = _concatenate(found, left)
        part = frame if hops.picked is None else frame.take(hops.picked.astype(np.int32))
        if not is_kept:
            return part
        edges_name = types[0] if len(types) == 1 else ANY
        own = Entities(hops.numbers, edges_name)
        return replace(part, variables={**part.variables, relationship.variable: own})

    def _count_ways(
        self, frame: Frame, relationship: RelationshipPattern, left: Rows, right: Rows
    ) -> Frame:
        """PERF: looks each pair of twins up instead of following all relationships of one."""
        counts = np.zeros(frame.count, np.int64)
        for name in find_types(self.run, relationship):
            edges = self.run.projection.edges[name]
            for outgoing in find_directions(relationship, relationship.left):
                ends = (left, right) if outgoing else (right, left)
                own = count_between(edges, *ends)
                if relationship.direction is Direction.BOTH and not outgoing:
                    own[left == right] = 0  # a loop once
                counts += own
        return weigh_rows(frame, counts)

    # --- walks --------------------------------------------------------------------------------

    def _walk(
        self, frame: Frame, relationship: RelationshipPattern, length: Length, *, is_kept: bool
    ) -> Frame:
        """Follow walks step by step; none uses a relationship twice."""
        origin, reached = find_ends(relationship, frame)
        ends = read_rows(read_entity_rows(frame, origin))
        picked: Rows | Integers = np.arange(frame.count)
        trail: list[Integers] = []
        found: list[tuple[Rows | Integers, Rows, list[Integers]]] = []
        total, depth = 0, 0
        while True:
            if depth >= length.minimum and (length.maximum is None or depth <= length.maximum):
                found.append((picked, ends, trail))
                total += len(ends)
            if not len(ends) or (length.maximum is not None and depth >= length.maximum):
                break
            hops, _ = self._follow(ends, relationship, origin, is_kept=True)
            numbers = np.asarray(hops.numbers, np.int64)
            if hops.picked is not None:
                picked = picked[hops.picked]
                trail = [used[hops.picked] for used in trail]
            ends = hops.ends
            fresh: Bools | None = None
            for used in trail:
                fresh = both(fresh, used != numbers)
            if fresh is not None and not fresh.all():
                picked, ends, numbers = picked[fresh], ends[fresh], numbers[fresh]
                trail = [used[fresh] for used in trail]
            trail = [*trail, numbers]
            depth += 1
            if length.limit is not None and depth > length.limit and len(ends):
                raise CannotRun("A walk beyond the limit.")
            if total + len(ends) * depth > self.run.most_rows:
                raise CannotRun("More rows than are held at once.")
            self.run.reader.check_deadline()
        rows = np.concatenate([one for one, _, _ in found]) if found else np.empty(0, np.int64)
        last = np.concatenate([one for _, one, _ in found]) if found else np.empty(0, np.int32)
        added: dict[str, Vector] = {}
        if is_kept:
            trails = [one for _, _, one in found]
            added[relationship.variable] = self._list_steps(relationship, origin, trails, rows)
        if reached in frame.variables:
            fits: Bools | None = last == read_rows(read_entity_rows(frame, reached))[rows]
        else:
            fits = self.candidates[reached].hold(last)
        if reached not in frame.variables:
            added[reached] = Entities(last)
        opened = Frame(len(rows), added)
        if fits is not None:
            rows, opened = rows[fits], opened.take(fits)
        part = frame.take(rows.astype(np.int32))
        return replace(part, variables={**part.variables, **opened.variables})

    def _list_steps(
        self,
        relationship: RelationshipPattern,
        origin: str,
        trails: Sequence[Sequence[Integers]],
        rows: Rows | Integers,
    ) -> Lists:
        """Return the relationships of walks of growing length, from left to right."""
        sizes = [np.zeros(0, np.int64)]
        numbers = [np.zeros(0, np.int64)]
        left = len(rows)
        for trail in reversed(trails):
            count = len(trail[0]) if trail else left
            left -= count
            ordered = trail if origin == relationship.left else trail[::-1]
            sizes.insert(0, np.full(count, len(trail)))
            numbers.insert(0, np.stack(ordered, axis=1).ravel() if trail else numbers[-1])
        types = find_types(self.run, relationship)
        items = np.concatenate(numbers).astype(np.int32)
        lengths = np.concatenate(sizes)
        edges = types[0] if len(types) == 1 else ANY
        return Lists(np.cumsum(lengths) - lengths, lengths, Entities(items, edges))


def _concatenate(found: Sequence[Hops], rows: slice | Rows) -> Hops:
    if len(found) == 1:
        return found[0]
    none = np.empty(0, np.int64)
    if not found:
        return Hops(none, none, np.empty(0, np.int32))
    count = len(read_rows(rows))
    picked = [np.arange(count) if one.picked is None else one.picked for one in found]
    if sum(map(len, picked)) > MOST_ROWS:
        raise CannotRun("More rows than are held at once.")
    has_numbers = all(one.has_numbers for one in found)
    return Hops(
        np.concatenate(picked),
        np.concatenate([one.numbers for one in found]) if has_numbers else none,
        np.concatenate([one.ends for one in found]),
    )


def weigh_rows(frame: Frame, counts: Integers) -> Frame:
    """Return the frame in which each row stands for so many more."""
    is_matched = counts > 0
    if not is_matched.all():
        frame, counts = frame.take(is_matched), counts[is_matched]
    if frame.weights is not None:
        counts = multiply(frame.weights, counts)
    elif not len(counts) or int(counts.max()) == 1:
        return frame
    return replace(frame, weights=counts)


def find_ends(relationship: RelationshipPattern, frame: Frame) -> tuple[str, str]:
    """Return the end that is bound, and the other."""
    if relationship.left in frame.variables:
        return relationship.left, relationship.right
    return relationship.right, relationship.left


def find_directions(relationship: RelationshipPattern, origin: str) -> tuple[bool, ...]:
    """Return for each way to follow it from `origin` whether it goes from source to target."""
    if relationship.direction is Direction.BOTH:
        return True, False
    return (orient(relationship)[0] == origin,)


def read_entity_rows(frame: Frame, name: str) -> slice | Rows:
    """Return the rows of a node that is never null."""
    vector = frame.variables[name]
    if vector == NULL and not frame.count:
        return np.empty(0, np.int32)
    if not isinstance(vector, Entities) or vector.edges is not None:
        raise CannotRun("A pattern from what is no twin.")
    if vector.valid is not None and not vector.valid.all():
        raise CannotRun("A pattern from a twin that may be null.")
    return vector.rows


def _pick_rows(rows: slice | Rows, picked: Integers | None) -> Rows:
    found = read_rows(rows)
    return found if picked is None else found[picked]


def both(left: Bools | None, right: Bools | None) -> Bools | None:
    """Return where both hold; None: everywhere."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def read_all_ends(edges: Edges, *, outgoing: bool) -> tuple[Rows, Rows]:
    """Return the ends of all relationships, deleted ones included: where from, and where to."""
    return (edges.sources, edges.targets) if outgoing else (edges.targets, edges.sources)
