"""Delays clients that keep failing to authenticate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TTLCache

from twinframe.runtime.backoff import Backoff

_FREE = 5
_WAITS = Backoff(1.0, 60.0, spread=0)
_MEMORY_SECONDS = 900.0
_MEMORY = 10_000


@dataclass(frozen=True, slots=True)
class _Failures:
    count: int
    until: float


class BackOff:
    """Failures by key; after the fifth each one doubles the wait, up to a minute.

    Its memory is bounded: 10,000 keys for a quarter of an hour, dropping the oldest first.

    NOTE: secrets cannot be guessed at any speed; this limits noise and reports it. Keys are the
    client's id together with its address, and only failures wait: no one can lock out a client.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: TTLCache[tuple[str, str], _Failures] = TTLCache(
            _MEMORY, _MEMORY_SECONDS, timer=clock
        )

    def read_wait(self, key: tuple[str, str]) -> float:
        """Return the seconds this key has to wait; 0 when it may try."""
        found = self._failures.get(key)
        return max(0.0, found.until - self._clock()) if found is not None else 0.0

    def add_failure(self, key: tuple[str, str]) -> None:
        """Count a failure."""
        found = self._failures.get(key)
        count = found.count + 1 if found is not None else 1
        wait = _WAITS.build_pause(count - _FREE + 1) if count >= _FREE else 0.0
        self._failures[key] = _Failures(count, self._clock() + wait)

    def forget(self, key: tuple[str, str]) -> None:
        """Drop the failures of a key that has succeeded."""
        self._failures.pop(key, None)

    @property
    def size(self) -> int:
        """Return how many keys are remembered."""
        return len(self._failures)
