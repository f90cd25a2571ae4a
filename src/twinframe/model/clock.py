"""The wall clock and the wire forms of its times. Deadlines and leases use the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""Gives nanoseconds since 1970-01-01T00:00:00Z. `read_clock` is the real one; tests pass theirs."""


def read_clock() -> int:
    """Nanoseconds since 1970-01-01T00:00:00Z now."""
    return time.time_ns()


def build_steady_clock(clock: Clock) -> Clock:
    """The same clock, which stands still where that one jumps back: what it stamps keeps its order.

    NOTE: it remembers as long as its process lives; the clock of a machine that starts anew with
    an earlier time is a matter of the machine (`twinframe check` looks at it).
    """
    latest = 0

    def read_steadily() -> int:
        nonlocal latest
        latest = max(latest, clock())
        return latest

    return read_steadily


def render_update_time(moment: int) -> str:
    """`2024-01-31T12:00:00.1234567Z`: always seven digits, as `lastUpdateTime` has them."""
    return f"{_render_seconds(moment)}.{_ticks(moment):07}Z"


def render_upload_time(moment: int) -> str:
    """`2024-01-31T12:00:00.12+00:00`: as a model's `uploadTime`, without trailing zeros."""
    fraction = f".{_ticks(moment):07}".rstrip("0").rstrip(".")
    return f"{_render_seconds(moment)}{fraction}+00:00"


def _render_seconds(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment // 1_000_000_000))


def _ticks(moment: int) -> int:
    return moment % 1_000_000_000 // 100
