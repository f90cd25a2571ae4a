"""A circuit breaker that stops calls to a permission service that is down.

NOTE: own code, because no library fits. Of those that support asyncio, circuitbreaker 2.1.3 and
purgatory 3.0.1 let every waiting call through as soon as the pause is over (a service that has just
come up meets all of them at once), purgatory and aiobreaker 1.2.0 measure the pause by wall clock,
and none of them lets the caller log once per pause.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_LOG = logging.getLogger(__name__)


class CircuitBreaker:
    """Opens after `threshold` failures in a row and then admits no call for `period` seconds.

    Then one call goes through as a probe. Its success closes the breaker, its failure starts
    another period; a probe without an outcome is forgotten after a period. Not thread-safe.
    """

    def __init__(
        self, threshold: int, period: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._threshold = threshold
        self._period = period
        self._clock = clock
        self._failures = 0
        self._probe_at: float | None = None
        self._log_at = clock()

    def admit(self) -> bool:
        """Whether the service may be asked now; its outcome must be recorded."""
        if self._probe_at is None:
            return True
        now = self._clock()
        if now < self._probe_at:
            return False
        self._probe_at = now + self._period  # this call is the probe
        return True

    def record_success(self) -> None:
        """The service answered."""
        if self._probe_at is not None:
            _LOG.warning("The permission service answers again.")
        self._failures, self._probe_at = 0, None

    def record_failure(self, reason: str) -> None:
        """The service did not answer, or not usably."""
        self._failures += 1
        if self._failures < self._threshold:
            return
        now = self._clock()
        if self._probe_at is None or now >= self._log_at:
            _LOG.error(
                "The permission service failed %d times in a row. It is not asked for %g seconds; "
                "until it answers nobody has permissions.",
                self._failures,
                self._period,
                extra={"reason": reason},
            )
            self._log_at = now + self._period
        self._probe_at = now + self._period
