"""Builds the callers' rate limits of an installation."""

from __future__ import annotations

from collections.abc import Callable

from twinframe.access.rate_buckets import SharedBuckets
from twinframe.access.rates import CallerRates, Kind
from twinframe.settings import Settings


def build_buckets(settings: Settings) -> SharedBuckets | None:
    """Build the buckets that the forked workers share; None if callers certainly have no rates.

    PERF: unused memory is never allocated: it costs addresses alone.
    """
    limits = settings.rate_limits
    return None if limits.enabled is False else SharedBuckets(limits.callers * len(Kind))


def build_rates(
    settings: Settings,
    buckets: SharedBuckets | None,
    on_refusal: Callable[[str], None] | None = None,
    *,
    asks: bool,
) -> CallerRates | None:
    """Build the rates of callers; None for no rates. Without `buckets`, of this process alone.

    `asks` says whether callers must authenticate: unless the settings say otherwise they have rates
    then, and only then.
    """
    enabled = settings.rate_limits.enabled
    if not (asks if enabled is None else enabled):
        return None
    shared = buckets or build_buckets(settings)
    return (
        None if shared is None else CallerRates(settings.rate_limits, shared, on_refusal=on_refusal)
    )
