"""Finds walks of variable length from one node, and shortest ones between two, by ids.

A walk never uses a relationship twice, nor one of `avoided`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from twinframe.errors import LimitExceeded
from twinframe.model.values import Relationship
from twinframe.query.algebra import Length
from twinframe.query.evaluate.patterns.batches import Adjacency
from twinframe.query.evaluate.run import Run
from twinframe.query.reader import Hop

Walk: TypeAlias = tuple[tuple[Relationship, ...], str]
"""The relationships of the walk, and the id of the node reached."""

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Walker:
    """Finds walks: `accepts` tests a relationship, `avoided` are those the match uses already."""

    run: Run
    adjacency: Adjacency
    length: Length
    accepts: Callable[[Relationship], bool]
    avoided: Collection[Relationship]

    def walk(self, origin: str) -> Iterator[Walk]:
        """Yield every walk from `origin` whose length is within bounds, in no particular order.

        NOTE: batches of open walks are on a stack, which bounds the memory by depth times degree,
        where breadth-first search would hold a whole level.
        """
        budget = self.run.budget
        if self.length.minimum == 0:
            yield (), origin
        stack: list[list[Walk]] = []
        if self.length.maximum != 0:
            stack.append([((), origin)])
            budget.hold()
        while stack:
            batch = stack.pop()
            opened: list[Walk] = []
            for walk in self._extend(batch):
                if len(walk[0]) >= self.length.minimum:
                    yield walk
                if self._may_grow(walk):
                    budget.hold()
                    opened.append(walk)
            budget.release(len(batch))
            stack += (opened[at : at + _BATCH] for at in range(0, len(opened), _BATCH))

    def find_shortest(self, origin: str, target: str) -> Iterator[Walk]:
        """Yield every shortest walk between two nodes whose length is within bounds."""
        if self.length.minimum == 0 and origin == target:
            yield (), target
        elif self.length.minimum > 1 or origin == target:
            yield from self._find_shortest_trails(origin, target)
        else:
            yield from self._find_shortest_paths(origin, target)

    # --- steps --------------------------------------------------------------------------------

    def _extend(self, walks: Sequence[Walk]) -> Iterator[Walk]:
        """Extend each walk by each relationship it may follow next."""
        self.adjacency.load([reached for _, reached in walks])
        for crossed, reached in walks:
            for hop in self.adjacency.find(reached):
                self.run.budget.tick()
                if hop.relationship not in crossed and self._may_cross(hop):
                    self._check_hops(len(crossed) + 1)
                    yield (*crossed, hop.relationship), hop.reached

    def _may_cross(self, hop: Hop) -> bool:
        return hop.relationship not in self.avoided and self.accepts(hop.relationship)

    def _may_grow(self, walk: Walk) -> bool:
        return self.length.maximum is None or len(walk[0]) < self.length.maximum

    def _check_hops(self, hops: int) -> None:
        most = self.run.budget.max_hops
        if most is not None and hops > most:
            raise LimitExceeded(
                f"A variable-length pattern goes on beyond {most} relationships, the most that are "
                f"followed (Query__MaxHops). Give it an upper bound, as in [*1..{most}]."
            )

    # --- shortest -----------------------------------------------------------------------------

    def _find_shortest_paths(self, origin: str, target: str) -> Iterator[Walk]:
        """Search breadth first over nodes: a shortest walk between two nodes never visits one
        twice.
        """
        arrivals: dict[str, list[Hop]] = {origin: []}
        frontier, hops = [origin], 0
        while frontier and target not in arrivals:
            if self.length.maximum is not None and hops == self.length.maximum:
                return
            hops += 1
            reached = self._arrive(frontier, arrivals)
            if reached:
                self._check_hops(hops)
            arrivals.update(reached)
            self.run.budget.hold(len(reached))
            frontier = list(reached)
        if target in arrivals:
            yield from self._trace(target, arrivals)
        self.run.budget.release(len(arrivals) - 1)

    def _arrive(self, frontier: Sequence[str], seen: Collection[str]) -> dict[str, list[Hop]]:
        """Return the new nodes next to the frontier, each with the hops that lead to it."""
        reached: dict[str, list[Hop]] = {}
        for at in range(0, len(frontier), _BATCH):
            batch = frontier[at : at + _BATCH]
            self.adjacency.load(batch)
            for origin in batch:
                for hop in self.adjacency.find(origin):
                    self.run.budget.tick()
                    if hop.reached not in seen and self._may_cross(hop):
                        reached.setdefault(hop.reached, []).append(hop)
        return reached

    def _trace(self, target: str, arrivals: dict[str, list[Hop]]) -> Iterator[Walk]:
        """Yield every way back from the target to the start of the search."""
        waiting: list[tuple[str, tuple[Relationship, ...]]] = [(target, ())]
        while waiting:
            self.run.budget.tick()
            at, crossed = waiting.pop()
            if not arrivals[at]:
                yield crossed, target
            waiting += (
                (hop.origin, (hop.relationship, *crossed)) for hop in reversed(arrivals[at])
            )

    def _find_shortest_trails(self, origin: str, target: str) -> Iterator[Walk]:
        """Search level by level over walks, for a minimum above 1 or a way back to the origin."""
        level: list[Walk] = [((), origin)]
        while level:
            level = [walk for walk in level if self._may_grow(walk)]
            following: list[Walk] = []
            for at in range(0, len(level), _BATCH):
                for walk in self._extend(level[at : at + _BATCH]):
                    self.run.budget.hold()
                    following.append(walk)
            found = [
                walk
                for walk in following
                if walk[1] == target and len(walk[0]) >= self.length.minimum
            ]
            self.run.budget.release(len(following))
            if found:
                yield from found
                return
            level = following
