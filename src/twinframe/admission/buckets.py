"""Buckets that processes share: how far ahead of its rate each caller is. It knows no setting.

A bucket is one number, the moment at which its caller would be back at its rate (the «generic cell
rate algorithm», as ATM networks have it): a full account of any rate and burst, that costs no timer
and no cleaning, since a moment that has passed says the same as no bucket at all.
"""

from __future__ import annotations

import mmap
import secrets
from hashlib import blake2b
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

    NOTE: nothing is locked. Two processes that count for one caller within the same microsecond may
    count once; each of its numbers is written whole. SEC: places are found by a keyed hash: nobody
    can choose names that meet another's.
    PERF: 0.6 us a call.
    """

    def __init__(self, callers: int) -> None:
        """`callers` is how many may be remembered at once."""
        self._size = callers * _SPARE + _PROBES
        self._memory = mmap.mmap(-1, self._size * _BYTES)
        words = memoryview(self._memory)
        self._tags = words.cast("Q")
        self._moments = words.cast("d")
        self._key = secrets.token_bytes(16)
        self._known: dict[tuple[str, str], tuple[int, int]] = {}

    def take(self, kind: str, caller: str, now: float, interval: float, tolerance: float) -> float:
        """Count one for the caller; 0, or the seconds until one more would be within its rate.

        `now` is of a clock that all processes have in common and that never goes back; a rate is
        one in `interval` seconds, and `tolerance` how many seconds the caller may be ahead of it.
        What is refused is not counted.
        """
        place = self._find(kind, caller, now)
        moments = self._moments
        due = moments[place]
        if due < now:
            due = now
        ahead = due - now - tolerance
        if ahead > 0:
            return ahead
        moments[place] = due + interval
        return 0.0

    def _find(self, kind: str, caller: str, now: float) -> int:
        """The word of the caller's moment; its tag stands before it."""
        tags, key = self._tags, (kind, caller)
        known = self._known.get(key)
        if known is None:
            text = f"{kind}\0{caller}".encode("utf-8", "surrogatepass")
            digest = blake2b(text, digest_size=8, key=self._key).digest()
            known = (int.from_bytes(digest, "big") or 1, -1)
        tag, place = known
        if place < 0 or tags[place - 1] != tag:
            place = self._claim(tag, now)
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = tag, place
        return place

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
