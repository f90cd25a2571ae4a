"""How long to wait before something that failed is tried again.

NOTE: no library: tenacity, stamina and backoff run the retries themselves, in the caller's
coroutine. Here the pauses become due times in a store, timers of a queue and waits told to clients;
what those libraries would have left to do is the formula below.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses of `first` seconds, `growth` times as long with each attempt, at most `longest`.

    `spread` is the part of each pause, 0 to 1, that is random, so that those that failed together
    do not retry together.
    """

    first: float
    longest: float
    growth: float = 2.0
    spread: float = 0.5

    def build_pause(self, attempts: int, chance: float | None = None) -> float:
        """Return the seconds to wait after this many attempts, from 1.

        `chance` within 0 and 1 replaces the random number.
        """
        whole = min(self.longest, self.first * self.growth ** min(max(attempts - 1, 0), 62))
        share = random.random() if chance is None else chance  # noqa: S311 - no secret
        return whole * (1 - self.spread + self.spread * share)
