"""Buckets that processes share: how far ahead of its rate each caller is. It knows no setting.

A bucket is one number, the moment at which its caller would be back at its rate (the «generic cell
rate algorithm», as ATM networks have it): a full account of any rate and burst, that costs no timer
and no cleaning, since a moment that has passed says the same as no bucket at all.
"""

from __future__ import annotations

import mmap
import secrets
from contextlib import suppress
from hashlib import blake2b
from multiprocessing import get_context
from typing import Final

_WORDS: Final = 2
_BYTES: Final = 8 * _WORDS
_PROBES: Final = 8
_SPARE: Final = 2
_KEPT: Final = 20_000


class SharedBuckets:
    """A table of buckets in memory that forks of this process share.

    Make it before the fork; it goes with the last process that has it. At most `callers` buckets
    are remembered: beyond, the one nearest to its rate gives way, which lets more through at most.

    NOTE: what is counted stands under a lock that all have: a process that the system halts between
    its look and its mark would else undo what others marked meanwhile, thousands under load. Of one
    that dies there, or is halted for longer than `patience` in seconds, the lock is taken over.
    SEC: places are found by a keyed hash: nobody can choose names that meet another's.
    PERF: 1 us a call; the lock is a word in memory as long as nobody else has it.
    """

    def __init__(self, callers: int, patience: float = 0.05) -> None:
        """`callers` is how many may be remembered at once."""
        self._patience = patience
        self._size = callers * _SPARE + _PROBES
        self._memory = mmap.mmap(-1, self._size * _BYTES)
        words = memoryview(self._memory)
        self._tags = words.cast("Q")
        self._moments = words.cast("d")
        self._key = secrets.token_bytes(16)
        self._lock = get_context("fork").Lock()
        self._known: dict[tuple[str, str], tuple[int, int]] = {}

    def take(self, kind: str, caller: str, now: float, interval: float, tolerance: float) -> float:
        """Count one for the caller; 0, or the seconds until one more would be within its rate.

        `now` is of a clock that all processes have in common and that never goes back; a rate is
        one in `interval` seconds, and `tolerance` how many seconds the caller may be ahead of it.
        What is refused is not counted.
        """
        key = kind, caller
        known = self._known.get(key) or self._learn(key)
        self._lock.acquire(timeout=self._patience)
        try:
            place = known[1]
            if self._tags[place - 1] != known[0]:
                place = self._claim(known[0], now)
                self._known[key] = known[0], place
            moments = self._moments
            due = moments[place]
            if due < now:
                due = now
            ahead = due - now - tolerance
            if ahead > 0:
                return ahead
            moments[place] = due + interval
            return 0.0
        finally:
            with suppress(ValueError):  # taken over from a process that was slow, not dead
                self._lock.release()

    def _learn(self, key: tuple[str, str]) -> tuple[int, int]:
        """The tag of a caller, and the word that its moment stands at if it was not given away."""
        digest = blake2b(
            "\0".join(key).encode("utf-8", "surrogatepass"), digest_size=8, key=self._key
        ).digest()
        tag = int.from_bytes(digest, "big") or 1
        if len(self._known) >= _KEPT:
            self._known.clear()
        known = self._known[key] = tag, tag % (self._size - _PROBES) * _WORDS + 1
        return known

    def _claim(self, tag: int, now: float) -> int:
        """The place that has the tag, else one whose bucket says nothing, else the emptiest."""
        tags, moments = self._tags, self._moments
        start = tag % (self._size - _PROBES)
        best = start * _WORDS + 1
        for place in range(start * _WORDS + 1, (start + _PROBES) * _WORDS, _WORDS):
            if tags[place - 1] == tag:
                return place
            if moments[place] < moments[best]:
                best = place
        if moments[best] > now:
            moments[best] = 0.0
        tags[best - 1] = tag
        return best
