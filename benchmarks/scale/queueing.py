"""How long requests wait: for many servers of one queue, and for the one writer of a graph."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist


def find_waiting_probability(servers: int, load: float) -> float:
    """Erlang's C: the probability that a request waits, at `load` servers busy on average."""
    if load >= servers:
        return 1.0
    blocked = 1.0  # Erlang's B, by its recursion, which does not overflow
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def find_response(servers: int, rate: float, service: float, share: float = 0.99) -> float:
    """Seconds that `share` of the requests of an M/M/c queue take at most, waiting and service.

    Arrivals are Poisson with `rate` a second, service times are exponential with the mean
    `service` seconds. Infinite where the servers do not keep up.
    """
    load = rate * service
    if load >= servers:
        return math.inf
    waiting = find_waiting_probability(servers, load)
    leaving, draining = 1 / service, (servers - load) / service

    def find_late(time: float) -> float:
        """The probability that a request takes longer than `time`."""
        alone = math.exp(-leaving * time)
        if math.isclose(leaving, draining):
            return (1 - waiting) * alone + waiting * (1 + leaving * time) * alone
        both = (leaving * math.exp(-draining * time) - draining * alone) / (leaving - draining)
        return (1 - waiting) * alone + waiting * both

    low, high = 0.0, service
    while find_late(high) > 1 - share:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if find_late(middle) > 1 - share else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class Writer:
    """The one writer of a graph: a batch takes `fixed` seconds and `each` for each of its writes.

    It takes all that wait, at most `largest`, and whoever comes meanwhile waits for the next batch.
    """

    fixed: float
    each: float
    largest: int

    @property
    def capacity(self) -> float:
        """Writes a second when every batch is full."""
        return self.largest / (self.fixed + self.each * self.largest)

    def find_batch(self, rate: float) -> float:
        """Seconds of a batch at so many writes a second: T = fixed + each · rate · T."""
        if rate >= self.capacity:
            return math.inf
        return self.fixed / (1 - rate * self.each)

    def find_response(self, rate: float, share: float = 0.99) -> float:
        """Seconds that `share` of the writes take at most: the rest of a batch, then a whole one.

        A write comes at any moment of a batch that runs: 1.5 batches on average, with the variance
        of that moment. The size of a batch is Poisson around what the one before it left, so it
        has the variance n / (1 - u²) at n writes a batch, of which the writer is `u` = rate · each
        busy. The sum of both is taken for normal.
        """
        batch = self.find_batch(rate)
        if math.isinf(batch):
            return batch
        busy = rate * self.each
        sizes = self.each**2 * rate * batch / (1 - busy**2) * (1.25 + busy)
        return 1.5 * batch + NormalDist().inv_cdf(share) * math.sqrt(batch**2 / 12 + sizes)

    def simulate(self, rate: float, writes: int, seed: int) -> list[float]:
        """Seconds that each of so many writes took, in order, with Poisson arrivals."""
        dice = random.Random(seed)
        arrivals = []
        now = 0.0
        for _ in range(writes):
            now += dice.expovariate(rate)
            arrivals.append(now)
        taken: list[float] = []
        free = 0.0
        at = 0
        while at < writes:
            start = max(free, arrivals[at])
            end = at
            while end < writes and arrivals[end] <= start and end - at < self.largest:
                end += 1
            free = start + self.fixed + self.each * (end - at)
            taken += [free - arrival for arrival in arrivals[at:end]]
            at = end
        return sorted(taken)
