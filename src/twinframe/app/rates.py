"""The rates of callers in an installation. It counts nothing."""

from __future__ import annotations

from collections.abc import Callable

from twinframe.admission.buckets import SharedBuckets
from twinframe.admission.rates import CallerRates, Kind
from twinframe.settings import Settings


def build_buckets(settings: Settings) -> SharedBuckets | None:
    """What the workers to be forked shall share; None where callers surely have no rates.

    PERF: memory that nobody counts in is never there: it costs addresses alone.
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
    """The rates of callers; None where they have none. Without `buckets`, of this process alone.

    `asks` says whether callers show credentials, by which they can be told apart: unless the
    settings say otherwise they have rates then, and only then.
    """
    enabled = settings.rate_limits.enabled
    if not (asks if enabled is None else enabled):
        return None
    shared = buckets or build_buckets(settings)
    return (
        None if shared is None else CallerRates(settings.rate_limits, shared, on_refusal=on_refusal)
    )
