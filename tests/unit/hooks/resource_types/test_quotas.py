"""The checks that hold a sku's limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import QuotaExceeded
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import (
    OperationBudget,
    Quota,
    QuotaLimit,
    QuotaUse,
    check_quota,
    find_limit,
)

LIMITS = (
    QuotaLimit(Sku.FREE, Quota.TWINS, 10),
    QuotaLimit(Sku.FREE, Quota.OPERATIONS_PER_MINUTE, 3),
    QuotaLimit(Sku.FREE, Quota.OPERATIONS_PER_DAY, 5),
)
DAY = 86_400


class Watch:
    """A clock that is set, in seconds."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now * 1_000_000_000


@given(st.integers(0, 20), st.integers(0, 20))
def test_what_fits_passes_and_what_does_not_is_refused(used: int, adding: int) -> None:
    if adding == 0 or used + adding <= 10:
        check_quota(LIMITS, Sku.FREE, Quota.TWINS, used=used, adding=adding)
        return
    with pytest.raises(QuotaExceeded) as refused:
        check_quota(LIMITS, Sku.FREE, Quota.TWINS, used=used, adding=adding)
    error = refused.value
    assert (error.limit, error.used, error.retry_after) == (10, used, None)


def test_a_sku_without_a_limit_is_not_limited() -> None:
    check_quota(LIMITS, Sku.PRO, Quota.TWINS, used=10**12)
    assert find_limit(LIMITS, Sku.PRO, Quota.TWINS) is None
    budget = OperationBudget(LIMITS, Sku.PRO)
    for _ in range(100):
        budget.spend()


def test_a_minute_that_is_used_up_says_when_the_next_begins() -> None:
    watch = Watch(20 * DAY + 45)
    budget = OperationBudget(LIMITS, Sku.FREE, clock=watch)
    for _ in range(3):
        budget.spend()
    with pytest.raises(
        QuotaExceeded, match=r"3 operations per minute.*Try again in 15 s"
    ) as minute:
        budget.spend()
    assert (minute.value.retry_after, minute.value.limit, minute.value.used) == (15, 3, 3)
    watch.now += 15
    budget.spend()


def test_a_day_that_is_used_up_stays_so_until_midnight_utc() -> None:
    watch = Watch(20 * DAY)
    budget = OperationBudget(LIMITS, Sku.FREE, clock=watch)
    for _ in range(5):
        budget.spend()
        watch.now += 60
    with pytest.raises(QuotaExceeded, match="per day") as day:
        budget.spend()
    assert day.value.retry_after == DAY - 300
    assert budget.list_uses()[1] == QuotaUse(Quota.OPERATIONS_PER_DAY, 5, 5)
    watch.now = 21 * DAY
    budget.spend()


def test_a_refused_operation_is_not_counted() -> None:
    budget = OperationBudget(LIMITS, Sku.FREE, clock=Watch(20 * DAY))
    for _ in range(3):
        budget.spend()
    for _ in range(4):
        with pytest.raises(QuotaExceeded):
            budget.spend()
    assert [each.used for each in budget.list_uses()] == [3, 3]


@given(st.lists(st.integers(0, 40), max_size=60))
def test_no_window_has_more_operations_than_its_limit(steps: list[int]) -> None:
    watch = Watch(20 * DAY)
    budget = OperationBudget(LIMITS, Sku.FREE, clock=watch)
    done: list[int] = []
    for step in steps:
        watch.now += step
        try:
            budget.spend()
        except QuotaExceeded:
            in_minute = [at for at in done if at // 60 == watch.now // 60]
            assert len(in_minute) >= 3 or len(done) >= 5
        else:
            done.append(watch.now)
    minutes = [at // 60 for at in done]
    assert all(minutes.count(minute) <= 3 for minute in minutes)
    assert len(done) <= 5


def test_a_limit_below_zero_is_none() -> None:
    with pytest.raises(ValueError, match="No limit: -1"):
        QuotaLimit(Sku.FREE, Quota.TWINS, -1)
