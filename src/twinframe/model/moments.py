"""Moments of points, and steps of time: microseconds, and their texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from twinframe.errors import InvalidArgument

SECOND: Final = 1_000_000
"""Microseconds of a second."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_STEP: Final = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)")
_UNITS: Final = {"ms": 1000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86400 * SECOND}
_LONGEST: Final = 100


def parse_moment(text: str) -> int:
    """Return the microseconds since 1970-01-01T00:00Z of an ISO 8601 date and time with an offset.

    Digits beyond microseconds are cut. Raises `InvalidArgument`.
    """
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            # NOTE: converted first: an offset can lead out of the years 1 to 9999.
            return (moment.astimezone(UTC) - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        pass
    raise InvalidArgument(
        f"{text[:_LONGEST]!a} is not a date and time with an offset, such as "
        "2026-03-01T14:05:00Z or 2026-03-01T15:05:00.250+01:00."
    )


def render_moment(moment: int) -> str:
    """Render microseconds since 1970 as `2026-03-01T14:05:00Z`, with a fraction where needed."""
    text = (_EPOCH + timedelta(microseconds=moment)).isoformat()
    return f"{text.removesuffix('+00:00')}Z"


def parse_step(text: str) -> int:
    """Return the microseconds of a step of time such as `5m`. Raises `InvalidArgument`."""
    found = _STEP.fullmatch(text)
    step = int(found[1]) * _UNITS[found[2]] if found else 0
    if step > 0:
        return step
    raise InvalidArgument(
        f"{text[:_LONGEST]!a} is not a step of time: a number and one of ms, s, m, h and d, such "
        "as 30s, 5m or 1h."
    )
