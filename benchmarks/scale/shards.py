"""Simulates walks over a graph that lies on many shards; each step asks all that it concerns.

A walk begins at one twin. The node asks for the relationships of all twins of the frontier: one
request to each shard that holds some of them, all at once. The targets that were not seen yet are
the next frontier. A shard has some cores and serves requests in the order in which they come. The
node's own time, and other load of the shards, are not simulated.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Steps: TypeAlias = Sequence[Sequence[int]]
"""Of a walk: the twins of each frontier, the first of which is its start."""

Placement: TypeAlias = Callable[[int, int], int]
"""The shard of a twin, of so many shards."""


@dataclass(frozen=True, slots=True)
class Campus:
    """Sites of equally many twins; `apart` of the relationships lead to other sites."""

    sites: int
    twins: int
    degree: int
    apart: float
    seed: int

    def build(self) -> list[list[int]]:
        """The targets of each twin."""
        dice = random.Random(self.seed)
        count = self.sites * self.twins
        graph = []
        for twin in range(count):
            first = twin - twin % self.twins
            graph.append(
                [
                    dice.randrange(count)
                    if dice.random() < self.apart
                    else first + dice.randrange(self.twins)
                    for _ in range(self.degree)
                ]
            )
        return graph

    def place_by_site(self, twin: int, shards: int) -> int:
        """All twins of a site are on one shard."""
        return twin // self.twins % shards

    def place_by_id(self, twin: int, shards: int) -> int:
        """Twins are spread over all shards by a hash of their ids."""
        return (twin * 2_654_435_761 >> 7) % shards


def walk(graph: Sequence[Sequence[int]], start: int, hops: int) -> Steps:
    """The frontiers of a walk of so many hops; no twin is in two."""
    seen = {start}
    frontier = [start]
    steps = []
    for _ in range(hops):
        steps.append(frontier)
        reached = dict.fromkeys(target for twin in frontier for target in graph[twin])
        frontier = [twin for twin in reached if twin not in seen]
        seen.update(frontier)
    return steps


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds: of a request to a shard, of each twin in it, and of the way there and back."""

    request: float
    twin: float
    trip: float


@dataclass(slots=True)
class Outcome:
    """What the walks of one run took: seconds of each in order, requests, and each shard's work."""

    taken: list[float] = field(default_factory=list)
    requests: int = 0
    busy: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))

    def find(self, share: float) -> float:
        """Seconds that this share of the walks took at most."""
        return self.taken[min(len(self.taken) - 1, int(len(self.taken) * share))]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Shards of `cores` each."""

    shards: int
    cores: int
    costs: Costs

    def split(self, walks: Sequence[Steps], placement: Placement) -> list[list[Counter[int]]]:
        """Of each step of each walk, how many twins each shard is asked for."""
        return [
            [Counter(placement(twin, self.shards) for twin in step) for step in steps if step]
            for steps in walks
        ]

    def find_capacity(self, asked: Sequence[Sequence[Counter[int]]]) -> float:
        """Walks a second at which the busiest shard has no time left."""
        busy: defaultdict[int, float] = defaultdict(float)
        for steps in asked:
            for step in steps:
                for shard, twins in step.items():
                    busy[shard] += self._serve(twins)
        return len(asked) * self.cores / max(busy.values())

    def run(self, asked: Sequence[Sequence[Counter[int]]], rate: float, seed: int) -> Outcome:
        """Let the walks begin at random, `rate` a second, and follow each to its end."""
        dice = random.Random(seed)
        free = [[0.0] * self.cores for _ in range(self.shards)]
        began = []
        events: list[tuple[float, int, int, int]] = []  # when, walk, step, shard
        outcome = Outcome()
        missing: list[int] = []
        replied: list[float] = []

        def ask(now: float, number: int, step: int) -> None:
            missing[number] = len(asked[number][step])
            for shard in asked[number][step]:
                heapq.heappush(events, (now + self.costs.trip / 2, number, step, shard))

        now = 0.0
        for number in range(len(asked)):
            now += dice.expovariate(rate)
            began.append(now)
            missing.append(0)
            replied.append(now)
            ask(now, number, 0)
        while events:
            now, number, step, shard = heapq.heappop(events)
            service = self._serve(asked[number][step][shard])
            end = max(now, heapq.heappop(free[shard])) + service
            heapq.heappush(free[shard], end)
            outcome.requests += 1
            outcome.busy[shard] += service
            replied[number] = max(replied[number], end + self.costs.trip / 2)
            missing[number] -= 1
            if not missing[number]:
                if step + 1 < len(asked[number]):
                    ask(replied[number], number, step + 1)
                else:
                    outcome.taken.append(replied[number] - began[number])
        outcome.taken.sort()
        return outcome

    def _serve(self, twins: int) -> float:
        return self.costs.request + self.costs.twin * twins
