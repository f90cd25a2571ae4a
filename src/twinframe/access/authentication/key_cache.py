"""Caches an issuer's keys and refreshes them rarely, one read at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from twinframe.access.authentication.compact import render_value
from twinframe.access.authentication.keys import KeySet, KeySource, VerificationKey
from twinframe.errors import Unauthenticated
from twinframe.runtime.backoff import Backoff

_LOG: Final = logging.getLogger(__name__)

_AHEAD: Final = 0.8
"""The share of the keys' lifetime after which they are refreshed while the old ones still serve."""

_MAX_RETRY: Final = 30.0
_BURST: Final = 2
_REFILL: Final = 30.0


class KeysUnavailable(Exception):
    """The issuer's keys could not be read; the text says why, for the log."""


@dataclass(frozen=True, slots=True)
class KeyAges:
    """Seconds that keys serve: `lifetime` until refreshed, `max_age` without an answer."""

    lifetime: float = 300.0
    max_age: float = 24 * 3600.0


class KeyCache(KeySource):
    """The keys that `read` last returned.

    - One read at a time, shared by all waiters.
    - Keys are refreshed ahead of their lifetime, while requests use the old ones. After it a
      request waits for the new ones, so that a withdrawn key ends there; unless the issuer was
      found failing: then the old keys serve on, up to `max_age`, without waiting.
    - An unknown key id causes a read, at most twice at once and then every 30 s.
    - After a failure the issuer is retried after 1, 2, 4 … 30 s. An empty set is no failure: it
      replaces the old keys.

    `steady` is a monotonic clock in seconds. `readings` and `failures` count for metrics.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[KeySet]],
        ages: KeyAges,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._ages = ages
        self._steady = steady
        self._keys: KeySet | None = None
        self._flight: asyncio.Task[None] | None = None
        self._due = self._trusted_until = self._oldest_end = float("-inf")
        self._failures_in_row = 0
        self._problem = "they were not asked for yet"
        self._bucket = _Bucket(steady)
        self.readings = 0
        self.failures = 0

    async def start(self) -> None:
        """Request the keys, so that the first request need not wait."""
        self._launch()

    async def stop(self) -> None:
        """Cancel a read that is under way."""
        if self._flight is not None and not self._flight.done():
            self._flight.cancel()
            await asyncio.gather(self._flight, return_exceptions=True)

    def touch(self) -> bool:
        """Start a read when one is due; return whether the cached keys are valid without it."""
        now = self._steady()
        if now >= self._due:
            if self._failures_in_row and now < self._trusted_until:
                self._trusted_until = self._oldest_end  # the issuer may hang: no request may wait
            self._launch()
        return now < self._trusted_until

    async def find(self, kid: str | None, algorithm: str) -> VerificationKey:
        """Return the key for a token's header, see `KeySource.find`."""
        if not self.touch():
            await self._land()
        key = self._known().find(kid, algorithm)
        if key is None and kid is not None and self._may_ask():
            await self._land()
            key = self._known().find(kid, algorithm)
        if key is None:
            raise Unauthenticated(f"the issuer has no key {render_value(kid)}")
        return key

    def _known(self) -> KeySet:
        if self._keys is not None and self._steady() >= self._oldest_end:
            _LOG.error("the issuer's keys are too old to serve on: %s", self._problem)
            self._keys = None
            self.generation += 1
        if self._keys is None:
            raise Unauthenticated(f"the issuer's keys are not known: {self._problem}")
        return self._keys

    def _may_ask(self) -> bool:
        """Start a read, or join one under way, for an unknown key id."""
        if self._flight is not None and not self._flight.done():
            return True
        # SEC: anybody can invent key ids; the issuer must not be asked for each, nor while it is
        # down.
        if self._failures_in_row or not self._bucket.take():
            return False
        self._launch()
        return True

    def _launch(self) -> None:
        if self._flight is None or self._flight.done():
            self._flight = asyncio.get_running_loop().create_task(self._refresh())

    async def _land(self) -> None:
        """Wait for the read under way, if there is one; cancelling a waiter does not end it."""
        if self._flight is not None and not self._flight.done():
            await asyncio.shield(self._flight)

    async def _refresh(self) -> None:
        self.readings += 1
        try:
            keys = await self._read()
        except KeysUnavailable as error:
            self._keep_old(str(error))
        else:
            self._take(keys)

    def _take(self, keys: KeySet) -> None:
        now = self._steady()
        if self._keys is not None and keys != self._keys:
            self.generation += 1
            _LOG.info("the issuer's keys changed: %s now", keys)
        if not keys.keys and self._keys != keys:
            _LOG.warning("the issuer gives no key that is of use: tokens are refused")
        if self._failures_in_row:
            _LOG.info("the issuer's keys can be read again")
        self._keys = keys
        self._failures_in_row = 0
        self._due = now + _AHEAD * self._ages.lifetime
        self._trusted_until = now + self._ages.lifetime
        self._oldest_end = now + max(self._ages.max_age, self._ages.lifetime)

    def _keep_old(self, problem: str) -> None:
        self.failures += 1
        self._failures_in_row += 1
        self._problem = problem
        retries = Backoff(1.0, min(_MAX_RETRY, self._ages.lifetime), spread=0)
        self._due = self._steady() + retries.build_pause(self._failures_in_row)
        self._trusted_until = min(self._due + self._ages.lifetime, self._oldest_end)
        _LOG.warning(
            "the issuer's keys could not be read (%s); %s",
            problem,
            "known ones serve on" if self._keys is not None else "tokens are refused",
        )


class _Bucket:
    """A rate limit: two at once, then one every 30 seconds."""

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        self._level = float(_BURST)
        self._seen = steady()

    def take(self) -> bool:
        now = self._steady()
        self._level = min(float(_BURST), self._level + (now - self._seen) / _REFILL)
        self._seen = now
        if self._level < 1:
            return False
        self._level -= 1
        return True
