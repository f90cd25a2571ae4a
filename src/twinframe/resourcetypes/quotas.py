"""What a sku allows: limits of a resource, and the checks that hold them. It measures nothing."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from twinframe.errors import QuotaExceeded
from twinframe.model.clock import Clock, read_clock
from twinframe.resourcetypes.prices import Sku


class Quota(enum.StrEnum):
    """What may be limited. `RESOURCES` counts those of the same type and sku in a project."""

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
        """`ValueError` for a limit below zero."""
        if self.limit < 0:
            raise ValueError(f"No limit: {self.limit} of {self.quota}.")


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """How much of a quota is used, for those who may see it. `used` None: it was not measured."""

    quota: Quota
    limit: int
    used: int | None


def find_limit(limits: Sequence[QuotaLimit], sku: Sku, quota: Quota) -> int | None:
    """The limit of a sku, the lowest where several are told; None is none."""
    return min(
        (each.limit for each in limits if (each.sku, each.quota) == (sku, quota)), default=None
    )


def check_quota(
    limits: Sequence[QuotaLimit], sku: Sku, quota: Quota, *, used: int, adding: int = 1
) -> None:
    """Let `adding` be added to what is `used`. Raises `QuotaExceeded` beyond the sku's limit.

    What takes nothing (`adding` 0) passes even when more is used than the sku allows, so that
    what is too large for a lower sku can be read and made smaller.
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
        """Operations counted before in the window of this length and start (epoch seconds).

        One more is counted then, but only if they were below `limit`.
        """

    def read(self, seconds: int, start: int) -> int:
        """Operations counted in this window."""


class LocalCounter:
    """Counts in this process alone, which must then be the only one that serves the resource."""

    def __init__(self) -> None:
        self._windows: dict[int, tuple[int, int]] = {}

    def take(self, seconds: int, start: int, limit: int) -> int:
        """Count one more below the limit. A window that ended is forgotten with the next."""
        used = self.read(seconds, start)
        if used < limit:
            self._windows[seconds] = (start, used + 1)
        return used

    def read(self, seconds: int, start: int) -> int:
        """What this process counted."""
        begun, used = self._windows.get(seconds, (start, 0))
        return used if begun == start else 0


class OperationBudget:
    """The operations that a resource may still do in this minute and on this day."""

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
        """Take one operation. Raises `QuotaExceeded` with the seconds until the window ends.

        NOTE: an operation that the day refuses has been taken from its minute.
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
        """The limits and what is used of them at this moment."""
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
