"""Applies the rates of the settings to each caller, by kind of operation."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from time import monotonic
from typing import Final

from twinframe.access.permissions import Caller
from twinframe.access.rate_buckets import SharedBuckets
from twinframe.errors import QueryRateExceeded, RateExceeded
from twinframe.settings.operations import RateLimitSettings

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
        self._buckets = buckets
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
        wait = self._buckets.take(kind, name, self._clock(), interval, tolerance)
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
