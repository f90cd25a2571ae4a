"""The rates of callers in an installation. It counts nothing."""

from __future__ import annotations

from collections.abc import Callable

from twinframe.admission.buckets import SharedBuckets
from twinframe.admission.rates import CallerRates, Kind
from twinframe.settings import Settings


def build_buckets(settings: Settings) -> SharedBuckets | None:
    """What the workers to be forked shall share; None where callers have no rates."""
    limits = settings.rate_limits
    return SharedBuckets(limits.callers * len(Kind)) if limits.enabled else None


def build_rates(
    settings: Settings,
    buckets: SharedBuckets | None,
    on_refusal: Callable[[str], None] | None = None,
) -> CallerRates | None:
    """The rates of callers; None where they have none. Without `buckets`, of this process alone."""
    shared = buckets or build_buckets(settings)
    if not settings.rate_limits.enabled or shared is None:
        return None
    return CallerRates(settings.rate_limits, shared, on_refusal=on_refusal)
