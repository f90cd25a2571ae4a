"""Whether an installation has rates: as its settings say, else where callers can be told apart."""

from __future__ import annotations

import pytest

from twinframe.access.permissions import Caller
from twinframe.access.rates import CallerRates, Kind
from twinframe.errors import QueryRateExceeded, RateExceeded
from twinframe.service.access import build_buckets, build_rates
from twinframe.settings import Settings

VENDOR = {Kind.READ: 1000, Kind.WRITE: 1000, Kind.QUERY: 500, Kind.BULK: 100}


def build(*, asks: bool, **limits: object) -> CallerRates | None:
    settings = Settings.model_validate({"rate_limits": limits})
    return build_rates(settings, build_buckets(settings), asks=asks)


@pytest.mark.parametrize(
    ("enabled", "asks", "wanted"),
    [
        (None, True, True),
        (None, False, False),
        (True, False, True),
        (True, True, True),
        (False, True, False),
    ],
)
def test_callers_have_rates_where_they_show_credentials_unless_told_otherwise(
    enabled: bool | None, asks: bool, wanted: bool
) -> None:
    assert (build(asks=asks, enabled=enabled) is not None) == wanted


@pytest.mark.parametrize("kind", Kind)
def test_unless_told_otherwise_a_caller_may_do_what_the_vendor_lets_it(kind: Kind) -> None:
    rates = build(asks=True)
    assert rates is not None
    rates._clock = lambda: 7.0
    burst = 2 * VENDOR[kind]
    for _ in range(burst):
        rates.spend(kind, Caller("alice"), "")
    with pytest.raises((RateExceeded, QueryRateExceeded)):
        rates.spend(kind, Caller("alice"), "")
    rates.spend(kind, Caller("bob"), "")
