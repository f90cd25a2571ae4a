"""Applies the rates of the settings to each caller, by kind of operation, in all processes."""

from __future__ import annotations

import ipaddress
import math
import mmap
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from multiprocessing import get_context
from time import monotonic
from typing import Final

from twinframe.access.permissions import Caller
from twinframe.errors import QueryRateExceeded, RateExceeded
from twinframe.settings.operations import RateLimitSettings

_WORDS: Final = 2
_PROBES: Final = 8
_SPARE: Final = 2
_KEPT: Final = 20_000
LEAST_SECONDS: Final = 1 / 16


class SharedBuckets:
    """A table of buckets in memory that forks of this process share.

    A bucket is one number, the moment at which its caller would be back at its rate (the «generic
    cell rate algorithm» of ATM networks). That suffices for any rate and burst and needs no timer
    and no cleaning, since a moment in the past means the same as no bucket.

    Make it before the fork; it is freed with the last process that has it. At most `callers`
    buckets are remembered: beyond, the one nearest to its rate is dropped, which lets more through
    at most.

    NOTE: buckets are counted under one lock for all processes: a process that the system suspends
    between reading and writing would otherwise undo what others counted meanwhile, thousands under
    load. The lock of a process that dies, or is suspended for longer than `patience` in seconds, is
    taken over. SEC: slots are found by a keyed hash: no caller can choose a name that collides with
    another's. PERF: 1 us a call; the lock is a word in memory while it is uncontended.

    Tables of several machines count as one, nearly, when they `share` a key and each now and then
    `add`s what the others `drain`: the seconds of their rate that callers have spent. `name` is
    that of the table among them.
    """

    def __init__(self, callers: int, patience: float = 0.05) -> None:
        """`callers` is how many may be remembered at once."""
        self._patience = patience
        self._size = callers * _SPARE + _PROBES
        # The slots; for each its seconds since the last `drain`; those to drain; their number, and
        # who drains them until when.
        self._spent = self._size * _WORDS
        self._heavy = self._spent + self._size
        self._count = self._heavy + self._size
        self._memory = mmap.mmap(-1, (self._count + 3) * 8)
        words = memoryview(self._memory)
        self._tags = words.cast("Q")
        self._moments = words.cast("d")
        self._key = secrets.token_bytes(16)
        self._is_shared = False
        self.name = secrets.token_hex(8)
        self._lock = get_context("fork").Lock()
        self._known: dict[tuple[str, str], tuple[int, int]] = {}

    def take(self, kind: str, caller: str, now: float, interval: float, tolerance: float) -> float:
        """Count one operation; return 0, or the seconds until one more is within the rate.

        `now` is of a clock that all processes share and that never goes back; a rate is one in
        `interval` seconds, and `tolerance` how many seconds the caller may be ahead of it. A
        refused operation is not counted.
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
            if self._is_shared:
                self._note(place, interval)
            return 0.0
        finally:
            self._release()

    def share(self, key: bytes) -> None:
        """Find slots by this key, of at most 64 bytes, and count what callers spend.

        Call it in each process with the table before its first `take`.
        """
        self._key, self._is_shared = key, True
        self._known.clear()

    def claim_drain(self, holder: int, now: float, seconds: float) -> bool:
        """Return whether this process, `holder`, is the one that drains for the next `seconds`."""
        self._lock.acquire(timeout=self._patience)
        try:
            if self._tags[self._count + 1] != holder and self._moments[self._count + 2] > now:
                return False
            self._tags[self._count + 1] = holder
            self._moments[self._count + 2] = now + seconds
            return True
        finally:
            self._release()

    def drain(self) -> dict[int, float]:
        """Return the seconds of its rate that each caller has spent here since the last time.

        Callers are numbers. Those that have spent less than `LEAST_SECONDS` come another time.
        """
        tags, moments = self._tags, self._moments
        found: dict[int, float] = {}
        self._lock.acquire(timeout=self._patience)
        try:
            for at in range(self._heavy, self._heavy + tags[self._count]):
                place = tags[at]
                spent = self._spent + place // _WORDS
                if moments[spent]:  # otherwise it was drained, or is another caller's by now
                    found[tags[place - 1]] = moments[spent]
                    moments[spent] = 0.0
            tags[self._count] = 0
        finally:
            self._release()
        return found

    def add(self, spent: Mapping[int, float], now: float) -> None:
        """Count what callers have spent elsewhere, by their numbers."""
        for tag, seconds in spent.items():
            self._lock.acquire(timeout=self._patience)
            try:
                place = self._claim(tag, now)
                self._moments[place] = max(self._moments[place], now) + seconds
            finally:
                self._release()

    def _note(self, place: int, interval: float) -> None:
        """Count what a caller spends; list it once that is enough to tell others."""
        moments, at = self._moments, self._spent + place // _WORDS
        before = moments[at]
        moments[at] = before + interval
        if before < LEAST_SECONDS <= before + interval:
            count = self._tags[self._count]
            if count < self._size:
                self._tags[self._heavy + count] = place
                self._tags[self._count] = count + 1

    def _release(self) -> None:
        with suppress(ValueError):  # taken over from a process that was slow, not dead
            self._lock.release()

    def _learn(self, key: tuple[str, str]) -> tuple[int, int]:
        """Return the tag of a caller, and the slot where its moment was last stored."""
        digest = blake2b(
            "\0".join(key).encode("utf-8", "surrogatepass"), digest_size=8, key=self._key
        ).digest()
        tag = int.from_bytes(digest, "big") or 1
        if len(self._known) >= _KEPT:
            self._known.clear()
        known = self._known[key] = tag, tag % (self._size - _PROBES) * _WORDS + 1
        return known

    def _claim(self, tag: int, now: float) -> int:
        """Return the slot of the tag, else an expired one, else the one nearest to its rate."""
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
        moments[self._spent + best // _WORDS] = 0.0
        return best


_NETWORK_BITS: Final = 64
_SLACK: Final = 0.01


class Kind(StrEnum):
    """The kinds of operation, each with a rate of its own."""

    READ = "read"
    WRITE = "write"
    QUERY = "query"
    BULK = "bulk"


class CallerRates:
    """Limits each caller to its rates, over all processes that share the buckets.

    An authenticated caller counts by its subject, whatever its credential; others count by address.
    `on_refusal` is called with the kind of each refused operation.
    """

    def __init__(
        self,
        settings: RateLimitSettings,
        buckets: SharedBuckets,
        *,
        on_refusal: Callable[[str], None] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.buckets = buckets
        self._clock = clock
        self._on_refusal = on_refusal
        self._limits: dict[Kind, tuple[float, float, float]] = {}
        for kind in Kind:
            rate = getattr(settings.per_second, kind.value)
            if rate:
                burst = max(1, math.floor(rate * settings.burst_seconds))
                # NOTE: a hundredth of one more, since sums of fractions are not exact.
                self._limits[kind] = rate, 1 / rate, (burst - 1 + _SLACK) / rate

    def spend(self, kind: Kind, caller: Caller | None, client: str) -> None:
        """Count one operation; `client` is the address it comes from.

        Raises `RateExceeded` when the caller is ahead of its rate; then nothing is counted.
        """
        limit = self._limits.get(kind)
        if limit is None:
            return
        rate, interval, tolerance = limit
        name = build_address_name(client) if caller is None else caller.subject
        wait = self.buckets.take(kind, name, self._clock(), interval, tolerance)
        if wait > 0:
            if self._on_refusal is not None:
                self._on_refusal(kind.value)
            error = QueryRateExceeded if kind is Kind.QUERY else RateExceeded
            raise error(kind.value, rate, math.ceil(wait))


@lru_cache(maxsize=4096)
def build_address_name(client: str) -> str:
    """Return the name by which an unauthenticated address counts.

    SEC: of IPv6 the network, because a client with one address there has 2^64 of them. NOTE: behind
    a proxy all clients have the proxy's address, and share one rate.
    """
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return f"address {client}"
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is not None:
            return f"address {mapped}"
        network = ipaddress.ip_network((address, _NETWORK_BITS), strict=False)
        return f"address {network}"
    return f"address {address}"
