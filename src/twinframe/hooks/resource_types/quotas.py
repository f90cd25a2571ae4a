"""The quotas of skus: limits of a resource, and the checks that enforce them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from twinframe.errors import QuotaExceeded
from twinframe.hooks.resource_types.prices import Sku
from twinframe.model.clock import Clock, read_clock


class Quota(enum.StrEnum):
    """The quantities with limits.

    `RESOURCES` counts those of the same type and sku in a project.
    """

    RESOURCES = "resources"
    TWINS = "twins"
    STORAGE_BYTES = "storage_bytes"
    OPERATIONS_PER_MINUTE = "operations_per_minute"
    OPERATIONS_PER_DAY = "operations_per_day"


WINDOWS: Final = {Quota.OPERATIONS_PER_MINUTE: 60, Quota.OPERATIONS_PER_DAY: 86_400}
"""The quotas that are rates, and their seconds. Windows begin with the minute and the day (UTC)."""


@dataclass(frozen=True, slots=True)
class QuotaLimit:
    """At most `limit` of `quota` in the offer `sku`. Without one there is no limit."""

    sku: Sku
    quota: Quota
    limit: int

    def __post_init__(self) -> None:
        """Raise `ValueError` for a limit below zero."""
        if self.limit < 0:
            raise ValueError(f"No limit: {self.limit} of {self.quota}.")


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """How much of a quota is used, for authorized readers. `used` None: it was not measured."""

    quota: Quota
    limit: int
    used: int | None


def find_limit(limits: Sequence[QuotaLimit], sku: Sku, quota: Quota) -> int | None:
    """Return the limit of a sku, the lowest of several; None is none."""
    return min(
        (each.limit for each in limits if (each.sku, each.quota) == (sku, quota)), default=None
    )


def check_quota(
    limits: Sequence[QuotaLimit], sku: Sku, quota: Quota, *, used: int, adding: int = 1
) -> None:
    """Check that `adding` may be added to `used`. Raises `QuotaExceeded` beyond the sku's limit.

    Adding nothing (`adding` 0) passes even when more is used than the sku allows, so that a graph
    that is too large for a lower sku can be read and reduced.
    """
    limit = find_limit(limits, sku, quota)
    if limit is None or adding <= 0 or used + adding <= limit:
        return
    raise QuotaExceeded(
        f"The sku {sku} allows {limit} {_render_quota(quota)}; {used} are used and {adding} more "
        "were asked for. Remove some or choose another sku.",
        quota=quota,
        limit=limit,
        used=used,
    )


class OperationCounter(Protocol):
    """Counts operations in windows of time, for all processes that serve a resource."""

    def take(self, seconds: int, start: int, limit: int) -> int:
        """Return the operations counted in the window of this length and epoch second.

        If they were below `limit`, count one more.
        """

    def read(self, seconds: int, start: int) -> int:
        """Operations counted in this window."""


class LocalCounter:
    """Counts in this process alone, which must then be the only one that serves the resource."""

    def __init__(self) -> None:
        self._windows: dict[int, tuple[int, int]] = {}

    def take(self, seconds: int, start: int, limit: int) -> int:
        """Count one more below the limit. A window that ended is dropped with the next."""
        used = self.read(seconds, start)
        if used < limit:
            self._windows[seconds] = (start, used + 1)
        return used

    def read(self, seconds: int, start: int) -> int:
        """Return the count of this process."""
        begun, used = self._windows.get(seconds, (start, 0))
        return used if begun == start else 0


class OperationBudget:
    """The operations that a resource may still run in this minute and on this day."""

    def __init__(
        self,
        limits: Sequence[QuotaLimit],
        sku: Sku,
        *,
        counter: OperationCounter | None = None,
        clock: Clock = read_clock,
    ) -> None:
        self._sku = sku
        self._counter = LocalCounter() if counter is None else counter
        self._clock = clock
        found = ((each, find_limit(limits, sku, each)) for each in WINDOWS)
        self._limits = [(quota, limit) for quota, limit in found if limit is not None]

    def spend(self) -> None:
        """Count one operation. Raises `QuotaExceeded` with the seconds until the window ends.

        NOTE: an operation that the day refuses has been counted in its minute.
        """
        if not self._limits:
            return
        now = self._clock() // 1_000_000_000
        for quota, limit in self._limits:
            seconds = WINDOWS[quota]
            used = self._counter.take(seconds, now - now % seconds, limit)
            if used >= limit:
                raise self._build_refusal(quota, limit, used, seconds - now % seconds)

    def list_uses(self) -> list[QuotaUse]:
        """List the limits and their use at this moment."""
        now = self._clock() // 1_000_000_000
        return [
            QuotaUse(quota, limit, self._counter.read(WINDOWS[quota], now - now % WINDOWS[quota]))
            for quota, limit in self._limits
        ]

    def _build_refusal(self, quota: Quota, limit: int, used: int, wait: int) -> QuotaExceeded:
        return QuotaExceeded(
            f"The sku {self._sku} allows {limit} {_render_quota(quota)}, which are used up. "
            f"Try again in {wait} s or choose another sku.",
            quota=quota,
            limit=limit,
            used=used,
            retry_after=wait,
        )


def _render_quota(quota: Quota) -> str:
    return quota.replace("_", " ")
