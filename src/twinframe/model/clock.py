"""The wall clock and the wire forms of its times.

Deadlines and leases use the monotonic clock instead.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

_UPDATE_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z", re.ASCII)

_log = logging.getLogger(__name__)

Clock: TypeAlias = Callable[[], int]
"""Returns nanoseconds since 1970-01-01T00:00:00Z.

`read_clock` is the real one; tests pass their own.
"""


def read_clock() -> int:
    """Return nanoseconds since 1970-01-01T00:00:00Z now."""
    return time.time_ns()


def build_steady_clock(clock: Clock) -> Clock:
    """Build a clock that stands still where the given one jumps back.

    NOTE: it remembers as long as its process lives. A graph's writes keep their order beyond that
    (`graph.context.write_clock`); `twinframe check` reports a clock that is before the data.
    """
    latest = 0

    def read_steadily() -> int:
        nonlocal latest
        latest = max(latest, clock())
        return latest

    return read_steadily


def render_update_time(moment: int) -> str:
    """Render `2024-01-31T12:00:00.1234567Z`: always seven digits, as `lastUpdateTime` has them."""
    return f"{_render_seconds(moment)}.{_ticks(moment):07}Z"


def stamp_after(moment: int, before: object) -> str:
    """Return the time of a write at `moment` over a document written at the time `before`, if any.

    A document never gets an earlier time than it has: when the clock was set back, also while the
    service was down, it keeps its time until the clock has passed it.
    """
    now = render_update_time(moment)
    if not isinstance(before, str) or before <= now or not _UPDATE_TIME.fullmatch(before):
        return now
    _warn_of_days(now[:10], before[:10])
    return before


def warn_of_clock(moment: int, latest: int) -> None:
    """Log, once a day, that the clock shows `moment`, days before the write at `latest`."""
    _warn_of_days(render_update_time(moment)[:10], render_update_time(latest)[:10])


def _warn_of_days(now: str, latest: str) -> None:
    if now != latest:
        _warn_of_clock(now)


@cache  # once for each day that the clock shows
def _warn_of_clock(day: str) -> None:
    _log.warning(
        "The clock says %s, and what is written now has a later time already: set the clock. Data "
        "keeps its times until the clock has passed them.",
        day,
    )


def render_upload_time(moment: int) -> str:
    """Render `2024-01-31T12:00:00.12+00:00`: a model's `uploadTime`, without trailing zeros."""
    fraction = f".{_ticks(moment):07}".rstrip("0").rstrip(".")
    return f"{_render_seconds(moment)}{fraction}+00:00"


def _render_seconds(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment // 1_000_000_000))


def _ticks(moment: int) -> int:
    return moment % 1_000_000_000 // 100
